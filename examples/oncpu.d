#!/usr/sbin/dtrace -qs
/* SPDX-License-Identifier: MIT */
/*
 * Who is on the processors, in the kernel or in user code?
 *
 * Samples every CPU 997 times a second for ten seconds (or as many as the argument says). A
 * program that has one CPU for itself collects 997 samples a second; "idle" is what was left.
 */
#pragma D option defaultargs

BEGIN
{
	left = $1 ? $1 : 10;
}

profile-997
{
	@who[pid == 0 ? "idle" : execname, arg1 ? "user" : "kernel"] = count();
}

tick-1s
/--left <= 0/
{
	exit(0);
}

END
{
	printf("%-16s %-8s %s\n", "PROGRAM", "IN", "SAMPLES");
	printa("%-16s %-8s %@d\n", @who);
}
