#!/usr/sbin/dtrace -s
/*
 * Who is on the processors? Samples every CPU 997 times a second for ten seconds (or as many as the first
 * argument says) and prints percentages.
 */
#pragma D option quiet
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
