/* What probes take is not the program's: 3000 calls with a costly clause each cost the program little. */
/* @@trigger: calls getppid 3000 */
#pragma D option quiet
#pragma D option strsize=4096
syscall::getppid:entry /pid == $target && !from/ { from = vtimestamp; wall = timestamp; }
syscall::getppid:entry /pid == $target/
{
	this->s = strjoin("0123456789012345678901234567890123456789", stringof(curthread->comm));
	this->s = strjoin(this->s, strjoin(this->s, this->s)); this->s = strjoin(this->s, strjoin(this->s, this->s));
	this->s = strjoin(this->s, strjoin(this->s, this->s)); this->s = strjoin(this->s, this->s);
	@ = max(strlen(strjoin(substr(this->s, 1), "x")));
}
syscall::getppid:return /pid == $target/ { ran = vtimestamp - from; took = timestamp - wall; }
END { printf("%s\n", ran * 2 < took ? "less than half" : "most"); printa("%@d\n", @); }
