#!/usr/sbin/dtrace -qs
/* Which programs are started, by which process? */
syscall::execve:entry
{
	self->by = execname;
	self->file = copyinstr(arg0);
}

syscall::execve:return
/self->file != NULL/
{
	printf("%Y %6d %6d %-16s %s%s\n", walltimestamp, ppid, pid, self->by, self->file,
	    errno ? " (failed)" : "");
	self->by = 0;
	self->file = 0;
}
