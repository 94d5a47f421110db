#!/usr/sbin/dtrace -qs
/* SPDX-License-Identifier: MIT */
/*
 * Who waits for the disk on purpose?
 *
 * fsync(), fdatasync(), sync_file_range(), syncfs() and msync() by process: a line for each as
 * it returns, with the time it took, then (^C) the totals in microseconds. Databases and package
 * managers do this; a log file that does it for each line is slow by design.
 */
syscall::fsync:entry, syscall::fdatasync:entry, syscall::sync_file_range:entry,
syscall::syncfs:entry, syscall::sync:entry, syscall::msync:entry
{
	self->start = timestamp;
	self->fd = arg0;
}

syscall::fsync:return, syscall::fdatasync:return, syscall::sync_file_range:return,
syscall::syncfs:return, syscall::sync:return, syscall::msync:return
/self->start/
{
	this->us = (timestamp - self->start) / 1000;
	printf("%Y %6d %-16s %s(%d) %d us\n", walltimestamp, pid, execname, probefunc, self->fd,
	    this->us);
	@total[execname, probefunc] = sum(this->us);
	@n[execname, probefunc] = count();
	self->start = 0;
	self->fd = 0;
}

END
{
	printf("\n%-16s %-16s %12s %8s\n", "PROGRAM", "CALL", "TOTAL us", "CALLS");
	printa("%-16s %-16s %@12d %@8d\n", @total, @n);
}
