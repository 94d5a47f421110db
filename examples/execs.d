#!/usr/sbin/dtrace -qs
/* SPDX-License-Identifier: MIT */
/*
 * Which programs are started, and who starts them?
 *
 * A line for each execve(), also for those that fail: a shell that tries one folder after the
 * other is seen doing it. BY is the program that called execve(), PARENT the process that waits for
 * it. The new program is shown with its arguments.
 */
BEGIN
{
	printf("%-20s %6s %6s %-16s %s\n", "TIME", "PARENT", "PID", "BY", "PROGRAM");
}

syscall::execve:entry
{
	self->by = execname;
	self->file = arg0;
}

syscall::execve:return
/self->file/
{
	printf("%Y %6d %6d %-16s %s%s\n", walltimestamp, ppid, pid, self->by,
	    errno ? copyinstr(self->file) : curpsinfo->pr_psargs, errno ? " (failed)" : "");
	self->by = 0;
	self->file = 0;
}
