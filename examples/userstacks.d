#!/usr/sbin/dtrace -qs
/* SPDX-License-Identifier: MIT */
/*
 * Which user code is busy? The user stacks that are on CPU most often, for ten seconds or until
 * ^C.
 *
 * The argument, if given, is the program to look at: userstacks.d postgres. Each entry is a
 * program, its stack (innermost function first) and the number of samples; 199 a second are one
 * whole CPU. The hottest come last.
 */
#pragma D option defaultargs

profile-199
/arg1 && ($$1 == "" || execname == $$1)/
{
	@[execname, ustack(12)] = count();
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
