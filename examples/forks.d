#!/usr/sbin/dtrace -qs
/* SPDX-License-Identifier: MIT */
/*
 * Who makes processes and threads, and how fast?
 *
 * A table a second: new processes and threads by parent. A machine with hundreds a second, and a
 * shell or cron or a monitoring agent as the parent, spends its time starting programs.
 */
syscall::fork:return, syscall::vfork:return, syscall::clone:return, syscall::clone3:return
/arg0 > 0 && !errno/
{
	@[execname, pid, probefunc] = count();
}

tick-1s
{
	printf("%Y\n", walltimestamp);
	printa("    %-16s %7d %-8s %@6d\n", @);
	trunc(@);
}
