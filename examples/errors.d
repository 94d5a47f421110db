#!/usr/sbin/dtrace -s
/*
 * What fails? Failing system calls by program, call and error number.
 *
 * The first argument, if given, is the program to look at: errors.d nginx
 */
#pragma D option quiet
#pragma D option defaultargs

syscall:::return
/errno && ($$1 == "" || execname == $$1)/
{
	@[execname, probefunc, errno] = count();
}

END
{
	printf("%-16s %-24s %6s %8s\n", "PROGRAM", "CALL", "ERROR", "COUNT");
	printa("%-16s %-24s %6d %@8d\n", @);
}
