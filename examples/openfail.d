#!/usr/sbin/dtrace -qs
/* SPDX-License-Identifier: MIT */
/*
 * Which files do programs look for in vain, and why can't they be opened?
 *
 * Counts failed openat() calls by program, reason and path; ^C prints the table. A missing file
 * that is asked for again and again is a configuration to mend; "permission" names the file
 * whose mode to look at.
 */
syscall::openat:entry
{
	self->path = arg1;
}

syscall::openat:return
/self->path && errno/
{
	@[execname, errno == ENOENT ? "missing" :
	    errno == EACCES || errno == EPERM ? "permission" :
	    errno == EMFILE || errno == ENFILE ? "too many open" :
	    errno == ENOTDIR || errno == EISDIR ? "wrong kind" : lltostr(errno),
	    copyinstr(self->path)] = count();
}

syscall::openat:return
{
	self->path = 0;
}

END
{
	trunc(@, 40);
	printf("%-16s %-14s %6s %s\n", "PROGRAM", "WHY", "COUNT", "PATH");
	printa("%-16s %-14s %@6d %s\n", @);
}
