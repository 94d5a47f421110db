#!/usr/sbin/dtrace -qs
/* SPDX-License-Identifier: MIT */
/*
 * How does the latency of a system call change over time? A heat map for the browser.
 * latencymap.d CALL [SECONDS] >read.svg, for example latencymap.d read 60 >read.svg
 *
 * A column is a second, a row a range of latencies; the darker a cell, the more calls. The map
 * shows outliers and two kinds of calls, which an average hides.
 */
#pragma D option defaultargs
#pragma D option oformat=heatmap

BEGIN
{
	left = $2 ? $2 : 10;
}

syscall::$1:entry
{
	self->start = timestamp;
}

syscall::$1:return
/self->start/
{
	@latency_ns[execname] = llquantize(timestamp - self->start, 10, 2, 9, 10);
	self->start = 0;
}

tick-1s
{
	printa(@latency_ns);
	clear(@latency_ns);
}

tick-1s
/--left == 0/
{
	exit(0);
}
