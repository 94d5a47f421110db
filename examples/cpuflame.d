#!/usr/sbin/dtrace -qs
/* SPDX-License-Identifier: MIT */
/*
 * Where do programs and the kernel spend CPU time? A flame graph for the browser.
 * cpuflame.d [SECONDS] >cpu.svg, or dtrace -qs cpuflame.d -o cpu.svg
 *
 * Samples every CPU 997 times a second for ten seconds (or as many as the argument says). A
 * rectangle's width is its share of the samples; above it stands what it called. Click to zoom.
 */
#pragma D option defaultargs
#pragma D option oformat=flame

BEGIN
{
	left = $1 ? $1 : 10;
}

profile-997
/pid/
{
	@cpu[execname, ustack(), stack()] = count();
}

tick-1s
/--left == 0/
{
	exit(0);
}
