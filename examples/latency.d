#!/usr/sbin/dtrace -qs
/* SPDX-License-Identifier: MIT */
/*
 * How long does one system call take, by program? latency.d fsync
 *
 * ^C prints a log-linear histogram for each program: ten rows for each power of ten, from a
 * microsecond to ten seconds. Two separate hills are two kinds of answers (a cache and a disk,
 * say); a long tail is what users complain of.
 */
syscall::$1:entry
{
	self->start = timestamp;
}

syscall::$1:return
/self->start/
{
	@[strjoin(execname, ", us")] = llquantize((timestamp - self->start) / 1000, 10, 0, 6, 10);
	self->start = 0;
}
