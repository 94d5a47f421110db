#!/usr/sbin/dtrace -qs
/* SPDX-License-Identifier: MIT */
/*
 * Which functions of a program or library are called most? funccounts.d a.out -c COMMAND
 *
 * The argument is the module: a.out is the program itself, libc the C library, 'lib*' all of
 * them. Prints the thirty functions with the most calls, the largest last.
 */
pid$target:$1::entry
{
	@[probemod, probefunc] = count();
}

END
{
	trunc(@, 30);
	printa("%-24s %-40s %@10d\n", @);
}
