/* print() of kernel structures, by value and by pointer, with names of functions (d-language.md 6.5). */
/* @@runtest-opts: -q */
BEGIN
{
	print(curthread->comm);
	print(curthread->fs->pwd);
	print(&curthread->fs->pwd);
	print(curthread->pid == pid ? 1 : 0);
	print(curthread->sched_class->yield_task);
	print(*curthread);
	exit(0);
}
