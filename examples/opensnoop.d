#!/usr/sbin/dtrace -qs
/*
 * Which files are opened, by whom, and did it work?
 *
 * Prints a line for each openat() as it returns: the descriptor or the error number.
 */
BEGIN
{
	printf("%-20s %6s %-16s %4s %4s %s\n", "TIME", "PID", "PROGRAM", "FD", "ERR", "PATH");
}

syscall::openat:entry
{
	self->path = arg1;
}

syscall::openat:return
/self->path/
{
	printf("%Y %6d %-16s %4d %4d %s\n", walltimestamp, pid, execname, (int)arg0, errno,
	    copyinstr(self->path));
	self->path = 0;
}
