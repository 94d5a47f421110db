#!/usr/sbin/dtrace -qs
/* SPDX-License-Identifier: MIT */
/*
 * What is this machine busy with? firstlook.d SECONDS
 *
 * Three tables, the largest of each first: who was on a CPU, in milliseconds and whether in the
 * kernel or in its own code; which system calls took most time on a CPU (those that wait take
 * none meanwhile); which calls failed most often, and with which error. Calls that fail by the
 * thousand are often a search along a path, or a descriptor that is polled.
 */
#pragma D option aggsortrev

profile-997
/pid != 0 && pid != $pid/
{
	@on[execname, arg0 ? "kernel" : "own code"] = count();
}

syscall:::entry
/pid != $pid/
{
	self->begin = vtimestamp;
	self->inside = 1;
}

syscall:::return
/self->inside && errno/
{
	@failed[execname, probefunc, strerrno(errno)] = count();
}

syscall:::return
/self->inside/
{
	@us[execname, probefunc] = sum((vtimestamp - self->begin) / 1000);
	self->begin = 0;
	self->inside = 0;
}

tick-$1s
{
	exit(0);
}

END
{
	trunc(@on, 8);
	trunc(@us, 8);
	trunc(@failed, 8);
	printf("Who was on a CPU, for how many milliseconds?\n\n");
	printa("    %-16s %-24s %@10d\n", @on);
	printf("\nWhich system calls took most CPU time, in microseconds?\n\n");
	printa("    %-16s %-24s %@10d\n", @us);
	printf("\nWhich system calls failed, with which error, how often?\n\n");
	printa("    %-16s %-16s %-12s %@5d\n", @failed);
}
