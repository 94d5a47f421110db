#!/usr/sbin/dtrace -qs
/* SPDX-License-Identifier: MIT */
/*
 * What does the kernel do, and for whom? The kernel stacks that are on CPU most often, for ten
 * seconds or until ^C.
 *
 * Each entry is a program, the kernel stack (innermost function first) and the number of
 * samples; 199 a second are one whole CPU. The functions near the end of a stack say which
 * system call or interrupt led there.
 */
profile-199
/arg0 && pid/
{
	@[execname, stack(12)] = count();
}

tick-10s
{
	exit(0);
}

END
{
	trunc(@, 15);
	printa("%s%-4k%@d samples\n\n", @);
}
