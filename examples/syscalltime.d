#!/usr/sbin/dtrace -s
/*
 * Where does the time in system calls go? Run it, wait, press ^C.
 *
 * Counts, adds up and averages the time from entry to return, by program and call.
 */
#pragma D option quiet

syscall:::entry
{
	self->start = timestamp;
}

syscall:::return
/self->start/
{
	this->ns = timestamp - self->start;
	@calls[execname, probefunc] = count();
	@total[execname, probefunc] = sum(this->ns);
	@mean[execname, probefunc] = avg(this->ns);
	self->start = 0;
}

END
{
	trunc(@total, 25);
	normalize(@total, 1000);
	printf("%-16s %-24s %10s %12s %10s\n", "PROGRAM", "CALL", "COUNT", "TOTAL us", "MEAN ns");
	printa("%-16s %-24s %@10d %@12d %@10d\n", @calls, @total, @mean);
}
