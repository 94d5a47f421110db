#!/usr/sbin/dtrace -qs
/* SPDX-License-Identifier: MIT */
/*
 * Which threads wait for locks, how long, and where in the program?
 *
 * Mutexes, condition variables and semaphores of user programs sleep in futex(). ^C prints the
 * time spent there by program and user stack (the innermost functions first), then a histogram
 * of the single waits in nanoseconds. Idle worker threads wait, too: look for stacks of code
 * that should be running, and for many short waits (contention).
 */
inline int FUTEX_COMMAND = 127;	/* the rest of the operation are flags */

syscall::futex:entry
/(arg1 & FUTEX_COMMAND) == 0 || (arg1 & FUTEX_COMMAND) == 9/	/* FUTEX_WAIT, FUTEX_WAIT_BITSET */
{
	self->start = timestamp;
}

syscall::futex:return
/self->start/
{
	@wait[execname, ustack(6)] = sum(timestamp - self->start);
	@size[execname] = quantize(timestamp - self->start);
	self->start = 0;
}

END
{
	trunc(@wait, 10);
	normalize(@wait, 1000);
	printa("%s%-4k%@d us\n\n", @wait);
	printa("%s, ns%@d\n", @size);
}
