#!/usr/sbin/dtrace -qs
/* SPDX-License-Identifier: MIT */
/*
 * Who uses the block devices, and for which files?
 *
 * A line for each program, device, direction and file, the most bytes last, until ^C. Writes of the page cache are done
 * later, by threads of the kernel (kworker, jbd2): the file says whose they are. "<none>" are direct transfers and the
 * file system's own blocks.
 */
io:::start
{
	@bytes[execname, args[1]->dev_statname, args[0]->b_flags & B_READ ? "R" : "W", args[2]->fi_pathname] =
	    sum(args[0]->b_bcount);
}

END
{
	printf("%-16s %-10s %s %12s %s\n", "PROGRAM", "DEVICE", "D", "BYTES", "FILE");
	printa("%-16s %-10s %s %@12d %s\n", @bytes);
}
