#!/usr/sbin/dtrace -qs
/* SPDX-License-Identifier: MIT */
/*
 * What do a process and all its descendants do? family.d -c 'make -j4', or family.d -p PID
 *
 * System calls, the time in them and the failures, by program, for $target and whatever it has
 * started. Compare with the whole: a build that spends most of its calls in "sh" is a build that
 * mostly starts programs.
 */
syscall:::entry
/progenyof($target)/
{
	self->start = timestamp;
}

syscall:::return
/self->start/
{
	@calls[execname, probefunc] = count();
	@failed[execname, probefunc] = sum(errno != 0);
	@us[execname, probefunc] = sum((timestamp - self->start) / 1000);
	self->start = 0;
}

END
{
	printf("%-16s %-20s %8s %8s %10s\n", "PROGRAM", "CALL", "CALLS", "FAILED", "us");
	printa("%-16s %-20s %@8d %@8d %@10d\n", @calls, @failed, @us);
}
