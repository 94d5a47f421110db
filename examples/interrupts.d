#!/usr/sbin/dtrace -qs
/* SPDX-License-Identifier: MIT */
/*
 * How much time do interrupts take?
 *
 * Microseconds in the handlers of devices, by the names that /proc/interrupts shows, and in softirqs, the work that they
 * leave for later, for ten seconds (or as many as the argument says).
 */
#pragma D option defaultargs

BEGIN
{
	left = $1 ? $1 : 10;
}

sdt:::interrupt-start
{
	began[cpu] = timestamp;
}

sdt:::interrupt-complete
/began[cpu]/
{
	@us["device", stringof(args[0]->name)] = sum(timestamp - began[cpu]);
	began[cpu] = 0;
}

rawtp:::softirq_entry
{
	soft[cpu] = timestamp;
}

rawtp:::softirq_exit
/soft[cpu]/
{
	@us["softirq", arg0 == 1 ? "timers" : arg0 == 2 ? "network, sending" : arg0 == 3 ? "network, receiving" :
	    arg0 == 4 ? "block devices" : arg0 == 6 ? "tasklets" : arg0 == 7 ? "scheduler" : arg0 == 9 ? "RCU" : "others"] =
	    sum(timestamp - soft[cpu]);
	soft[cpu] = 0;
}

tick-1s
/--left <= 0/
{
	exit(0);
}

END
{
	normalize(@us, 1000);
	printf("%-8s %-24s %12s\n", "KIND", "OF", "MICROSECONDS");
	printa("%-8s %-24s %@12d\n", @us);
}
