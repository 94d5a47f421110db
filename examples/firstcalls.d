#!/usr/sbin/dtrace -qs
/* SPDX-License-Identifier: MIT */
/*
 * What are the first N calls that a program makes from now on? firstcalls.d 20 sshd
 *
 * A line for each system call of the program (any program without the second argument): time
 * since the line before, call, first arguments, result. Ends by itself after N lines (20 without
 * an argument), so it can't flood the terminal.
 */
#pragma D option defaultargs

BEGIN
{
	left = $1 ? $1 : 20;
	last = timestamp;
}

syscall:::entry
/$$2 == "" || execname == $$2/
{
	self->a0 = arg0;
	self->a1 = arg1;
	self->in = 1;
}

syscall:::return
/self->in && left > 0/
{
	printf("%8d us %6d %-16s %s(0x%x, 0x%x) = %d\n", (timestamp - last) / 1000, pid,
	    execname, probefunc, self->a0, self->a1, errno ? -errno : (int64_t)arg0);
	last = timestamp;
	left--;
}

syscall:::return
{
	self->in = 0;
	self->a0 = 0;
	self->a1 = 0;
}

syscall:::return
/left <= 0/
{
	exit(0);
}
