#!/usr/sbin/dtrace -qs
/* SPDX-License-Identifier: MIT */
/*
 * Which programs make page faults, and of which kind?
 *
 * Pages that were not there, pages filled with zeros among them, copies of pages that were shared (after a fork), and
 * faults that had to wait for a disk: the last are slow. A line for each program, until ^C.
 */
vminfo:::as_fault
{
	@as[execname] = sum(arg0);
}

vminfo:::zfod
{
	@zero[execname] = sum(arg0);
}

vminfo:::cow_fault
{
	@cow[execname] = sum(arg0);
}

vminfo:::maj_fault
{
	@maj[execname] = sum(arg0);
}

END
{
	printf("%-16s %10s %10s %10s %10s\n", "PROGRAM", "FAULTS", "ZEROED", "COPIED", "DISK");
	printa("%-16s %@10d %@10d %@10d %@10d\n", @as, @zero, @cow, @maj);
}
