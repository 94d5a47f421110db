/* Built-in variables that are the same everywhere. */
/* @@trigger: calls getppid 1 */
#pragma D option quiet

syscall::getppid:entry /pid == $target/
{
	printf("%s %d %d %d %d %d\n", execname, pid == tid, ppid == $pid, uid, gid, cpu < 4096);
	printf("%d %d %d %d\n", id > 0, epid > 0, timestamp > 0, walltimestamp > timestamp);
	this->t = timestamp; printf("%d %d %d\n", this->t == timestamp, errno, curthread != 0);
	printf("%d %d\n", vtimestamp > 0, ipl >= 0);
	exit(0);
}
