#!/usr/sbin/dtrace -qs
/* SPDX-License-Identifier: MIT */
/*
 * Which code of a program in Python, Node.js, Java, Ruby, PHP, Perl or Lua asks for the most memory of the C library?
 * langmalloc.d -p PID, or -c COMMAND
 *
 * The stacks with the number of bytes that they asked malloc() for, the largest last. Most runtimes keep
 * small objects in memory of their own, for which they ask in large pieces; what is large, and what
 * libraries in C ask for, is seen here. What is given back is not subtracted.
 */
pid$target:libc:malloc:entry
{
	@[jstack(20)] = sum(arg0);
}

END
{
	trunc(@, 10);
	printa("%k%@d bytes\n\n", @);
}
