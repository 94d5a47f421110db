#!/usr/sbin/dtrace -qs
/* SPDX-License-Identifier: MIT */
/*
 * How large are the pieces of memory that a program asks for, and which code asks for the most?
 * mallocs.d -c COMMAND, or mallocs.d -p PID
 *
 * First the user stacks with the number of bytes they asked malloc() for, the largest last, then
 * a histogram of the sizes. What is given back in between is not subtracted: this is the rate at
 * which memory is asked for, not what is held.
 */
pid$target:libc:malloc:entry
{
	@bytes[ustack(6)] = sum(arg0);
	@sizes["bytes"] = quantize(arg0);
}

END
{
	trunc(@bytes, 10);
	printa("%-4k%@d bytes\n\n", @bytes);
	printa("%s%@d\n", @sizes);
}
