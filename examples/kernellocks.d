#!/usr/sbin/dtrace -qs
/* SPDX-License-Identifier: MIT */
/*
 * For which locks of the kernel do threads wait, and where?
 *
 * The places with the longest waits last, with the microseconds that all waits there took together; until ^C, or for as
 * many seconds as the argument says. adaptive-* are mutexes, rw-* locks for many readers or one writer, spin-spin is time
 * in which a processor did nothing else. Frames are innermost first: the lock's own functions, then who wanted it.
 */
#pragma D option defaultargs

lockstat:::adaptive-block, lockstat:::adaptive-spin, lockstat:::rw-block, lockstat:::rw-spin, lockstat:::spin-spin
{
	@ns[execname, probename, stack(6)] = sum(arg1);
}

tick-1s
/$1 && ++seconds == $1/
{
	exit(0);
}

END
{
	trunc(@ns, 20);
	normalize(@ns, 1000);
	printa("%s %s%-4k%@d us\n\n", @ns);
}
