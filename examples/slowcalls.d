#!/usr/sbin/dtrace -qs
/* SPDX-License-Identifier: MIT */
/*
 * Which system calls took longer than N milliseconds? slowcalls.d 10
 *
 * A line for each slow call as it returns. Calls that wait by design (poll, futex, nanosleep,
 * ...) are left out: what is shown waited for a disk, a lock in the kernel, a peer, or a CPU.
 */
inline int64_t limit = $1 * 1000000;

syscall:::entry
/probefunc != "futex" && probefunc != "nanosleep" && probefunc != "clock_nanosleep" &&
    strstr(probefunc, "poll") == NULL && strstr(probefunc, "select") == NULL &&
    strstr(probefunc, "wait") == NULL/
{
	self->start = timestamp;
}

syscall:::return
/self->start && timestamp - self->start > limit/
{
	printf("%Y %6d %-16s %-20s %8d us\n", walltimestamp, pid, execname, probefunc,
	    (timestamp - self->start) / 1000);
}

syscall:::return
{
	self->start = 0;
}
