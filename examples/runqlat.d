#!/usr/sbin/dtrace -qs
/* SPDX-License-Identifier: MIT */
/*
 * How long do threads wait for a processor?
 *
 * From the moment a thread could run until it does, in microseconds, for ten seconds (or as many as the argument says),
 * then the programs that waited longest. Waits of milliseconds mean that there are more threads than processors.
 */
#pragma D option defaultargs

BEGIN
{
	left = $1 ? $1 : 10;
}

sched:::enqueue
{
	since[args[0]->pr_lwpid] = timestamp;
}

sched:::dequeue
/since[args[0]->pr_lwpid]/
{
	this->us = (timestamp - since[args[0]->pr_lwpid]) / 1000;
	@all["all threads, us"] = quantize(this->us);
	@max[args[1]->pr_fname] = max(this->us);
	since[args[0]->pr_lwpid] = 0;
}

tick-1s
/--left <= 0/
{
	exit(0);
}

END
{
	printa("%s%@d\n", @all);
	trunc(@max, 10);
	printf("%-16s %s\n", "PROGRAM", "LONGEST, US");
	printa("%-16s %@d\n", @max);
}
