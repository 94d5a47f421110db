#!/usr/sbin/dtrace -qs
/* SPDX-License-Identifier: MIT */
/*
 * Which files are opened, by whom, and did it work?
 *
 * A line for each openat() as it returns. FD is the new descriptor; -1 means it failed, and ERR
 * is then the error number (2 is ENOENT, 13 is EACCES). The path is read at the return: at the
 * entry it may not be in memory yet.
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
