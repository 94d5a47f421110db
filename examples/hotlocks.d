#!/usr/sbin/dtrace -qs
/* SPDX-License-Identifier: MIT */
/*
 * Which locks of a program are hot: how often are they taken, how often does a thread have to wait, and how long?
 *
 *     hotlocks.d -p PID        hotlocks.d -c PROGRAM
 *
 * Mutexes and readers-writer locks of the C library by address, with the name where the lock is a variable; then who
 * waited longest, by stack, the innermost functions first. The probes are in the lock functions: a program that takes
 * many locks is slower while this runs.
 */
plockstat$target:::mutex-acquire, plockstat$target:::rw-acquire
{
	@taken[usym(arg0), arg0] = count();
}

plockstat$target:::mutex-block, plockstat$target:::rw-block
{
	self->began = timestamp;
	@waits[usym(arg0), arg0] = count();
}

plockstat$target:::mutex-blocked, plockstat$target:::rw-blocked
/self->began/
{
	@ns[usym(arg0), arg0] = sum(timestamp - self->began);
	@longest[usym(arg0), arg0] = max(timestamp - self->began);
	@stacks[ustack(5)] = sum(timestamp - self->began);
	self->began = 0;
}

END
{
	normalize(@ns, 1000);
	normalize(@longest, 1000);
	normalize(@stacks, 1000);
	trunc(@taken, 20);
	trunc(@stacks, 5);
	printf("%-28s %-14s %10s %8s %12s %12s\n", "LOCK", "ADDRESS", "TAKEN", "WAITS", "WAITED, us", "LONGEST, us");
	printa("%-28A %-14x %@10d %@8d %@12d %@12d\n", @taken, @waits, @ns, @longest);
	printf("\n");
	printa("%k%@d us waited\n\n", @stacks);
}
