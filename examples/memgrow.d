#!/usr/sbin/dtrace -qs
/* SPDX-License-Identifier: MIT */
/*
 * Whose memory grows?
 *
 * Every five seconds and at the end: bytes that processes took by mmap() and by brk(), gave back
 * by munmap(), and the difference. A NET that grows with every table is a leak, or a cache that
 * fills; address space counts, touched or not.
 */
uint64_t top[pid_t];	/* of each heap */

syscall::brk:return
/top[pid] && arg1 > top[pid]/
{
	@taken[execname, pid] = sum(arg1 - top[pid]);
	@given[execname, pid] = sum(0);
	@net[execname, pid] = sum(arg1 - top[pid]);
}

syscall::brk:return
{
	top[pid] = arg1;
}

syscall::mmap:entry, syscall::munmap:entry
{
	self->len = arg1;
}

syscall::mmap:return
/self->len && !errno/
{
	@taken[execname, pid] = sum(self->len);
	@net[execname, pid] = sum(self->len);
}

syscall::munmap:return
/self->len && !errno/
{
	@given[execname, pid] = sum(self->len);
	@net[execname, pid] = sum(-self->len);
}

syscall::mmap:return, syscall::munmap:return
{
	self->len = 0;
}

syscall::exit_group:entry
{
	top[pid] = 0;
}

tick-5s, END
{
	normalize(@taken, 1024);
	normalize(@given, 1024);
	normalize(@net, 1024);
	printf("%Y\n%-16s %7s %12s %12s %12s\n", walltimestamp, "PROGRAM", "PID", "NET KiB",
	    "TAKEN KiB", "GIVEN KiB");
	printa("%-16s %7d %@12d %@12d %@12d\n", @net, @taken, @given);
}
