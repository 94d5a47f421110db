#!/usr/sbin/dtrace -qs
/* SPDX-License-Identifier: MIT */
/*
 * How does the latency of a system call change with time? heatmap.d read
 *
 * A row a second: number, then a bar for each power of two between the shortest and the longest
 * time of the run (in nanoseconds), then how many calls there were. Read down a column: bars
 * that wander to the right are a system that gets slower, a second hill that comes and goes is
 * something that runs now and then.
 */
#pragma D option aggpack
#pragma D option aggsortkey

BEGIN
{
	start = timestamp;
	printf("ns of %s(), a row a second\n", $$1);
}

syscall::$1:entry
{
	self->start = timestamp;
}

syscall::$1:return
/self->start/
{
	@[(timestamp - start) / 1000000000] = quantize(timestamp - self->start);
	self->start = 0;
}
