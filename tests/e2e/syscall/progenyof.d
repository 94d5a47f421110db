/* progenyof(): the process itself, its parent, the first process; not one it started. */
/* @@trigger: calls getppid 3 */
/* @@runtest-opts: -q */
syscall::getppid:entry
/progenyof($target)/
{
	@[progenyof(pid), progenyof(ppid), progenyof(1), progenyof(-1)] = count();
}
END { printf("%d %d\n", progenyof($pid), progenyof($target)); }
