#!/usr/sbin/dtrace -qs
/* SPDX-License-Identifier: MIT */
/*
 * Who gets this error, and from where? firsterror.d EACCES, or firsterror.d 13 nginx
 *
 * Waits for the first system call (of the program, if one is named) that fails with the error,
 * prints process, call, arguments and user stack, and ends with status 1. In a script:
 * firsterror.d ENOSPC && echo never || mail root.
 */
#pragma D option defaultargs

syscall:::entry
{
	self->a0 = arg0;
	self->a1 = arg1;
}

syscall:::return
/errno == $1 && ($$2 == "" || execname == $$2) && !found/
{
	found = 1;
	printf("%s[%d] %s(0x%x, 0x%x): errno %d", execname, pid, probefunc, self->a0,
	    self->a1, errno);
	ustack();
	exit(1);
}

syscall:::return
{
	self->a0 = 0;
	self->a1 = 0;
}
