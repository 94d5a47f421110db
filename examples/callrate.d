#!/usr/sbin/dtrace -qs
/* SPDX-License-Identifier: MIT */
/*
 * How busy is the machine? System calls, errors and bytes written, every second.
 *
 * A line a second until ^C. ERRORS that rise with CALLS are programs that try in vain.
 */
BEGIN
{
	printf("%-20s %10s %10s %12s\n", "TIME", "CALLS", "ERRORS", "WRITTEN");
}

syscall:::entry { @calls = count(); }
syscall:::return /errno/ { @errors = count(); }
syscall::write:return, syscall::writev:return, syscall::pwrite64:return
/arg0 > 0/
{
	@written = sum(arg0);
}

tick-1s
{
	printf("%Y", walltimestamp);
	printa(" %@10d %@10d %@12d\n", @calls, @errors, @written);
	clear(@calls);
	clear(@errors);
	clear(@written);
}
