#!/usr/sbin/dtrace -qs
/* SPDX-License-Identifier: MIT */
/*
 * Do system calls work or wait?
 *
 * For each program and call: the time from entry to return (TOTAL), the part of it on a CPU, and
 * the part spent waiting, in microseconds. vtimestamp is the time that the thread has been
 * running; the difference to timestamp was spent asleep or in the queue for a CPU. Calls that
 * should not wait but do are short of CPU or of a lock in the kernel.
 */
syscall:::entry
{
	self->start = timestamp;
	self->vstart = vtimestamp;
}

syscall:::return
/self->start/
{
	this->all = timestamp - self->start;
	this->on = vtimestamp - self->vstart;
	@all[execname, probefunc] = sum(this->all);
	@on[execname, probefunc] = sum(this->on);
	@off[execname, probefunc] = sum(this->all - this->on);
	self->start = 0;
	self->vstart = 0;
}

END
{
	normalize(@all, 1000);
	normalize(@on, 1000);
	normalize(@off, 1000);
	printf("%-16s %-24s %12s %12s %12s\n", "PROGRAM", "CALL", "TOTAL us", "ON CPU us",
	    "WAITING us");
	printa("%-16s %-24s %@12d %@12d %@12d\n", @all, @on, @off);
}
