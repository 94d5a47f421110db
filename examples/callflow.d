#!/usr/sbin/dtrace -s
/* SPDX-License-Identifier: MIT */
/*
 * What does a command do, call by call? callflow.d -c 'ls /tmp'
 *
 * Each system call of $target as it goes in (=>) and comes out (<=): at the entry the
 * microseconds since the start and the first arguments, at the return the result and the
 * microseconds in the call. Where nothing is printed for a while the program computes.
 */
#pragma D option flowindent

uint64_t start;

syscall:::entry
/pid == $target/
{
	start = start ? start : timestamp;
	self->start = timestamp;
	printf("%8d us (0x%x, 0x%x)", (timestamp - start) / 1000, arg0, arg1);
}

syscall:::return
/self->start/
{
	printf("= %d, %d us", errno ? -errno : (int64_t)arg0, (timestamp - self->start) / 1000);
	self->start = 0;
}
