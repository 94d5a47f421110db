#!/usr/sbin/dtrace -qs
/* SPDX-License-Identifier: MIT */
/*
 * Where does the time in system calls go?
 *
 * ^C prints every pair of program and call in the order of their total time, the largest last,
 * with their number and mean. Waiting counts: for the time on CPU alone see waits.d.
 */
syscall:::entry
{
	self->start = timestamp;
}

syscall:::return
/self->start/
{
	this->ns = timestamp - self->start;
	@total[execname, probefunc] = sum(this->ns);
	@calls[execname, probefunc] = count();
	@mean[execname, probefunc] = avg(this->ns);
	self->start = 0;
}

END
{
	normalize(@total, 1000);
	printf("%-16s %-24s %12s %10s %10s\n", "PROGRAM", "CALL", "TOTAL us", "COUNT", "MEAN ns");
	printa("%-16s %-24s %@12d %@10d %@10d\n", @total, @calls, @mean);
}
