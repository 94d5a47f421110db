#!/usr/sbin/dtrace -qs
/* SPDX-License-Identifier: MIT */
/*
 * How long do transfers of block devices take?
 *
 * Counts from the moment a device is asked until it has completed, by device and direction, in microseconds, for ten
 * seconds (or as many as the argument says). Two hills are two kinds of transfers: those that a cache answers, and
 * those that wait for the medium.
 */
#pragma D option defaultargs

BEGIN
{
	left = $1 ? $1 : 10;
}

io:::start
{
	began[arg0] = timestamp;
}

io:::done
/began[arg0]/
{
	@[args[1]->dev_statname, args[0]->b_flags & B_READ ? "read, us" : "write, us"] =
	    quantize((timestamp - began[arg0]) / 1000);
	began[arg0] = 0;
}

tick-1s
/--left <= 0/
{
	exit(0);
}
