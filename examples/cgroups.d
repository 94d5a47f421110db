#!/usr/sbin/dtrace -qs
/* SPDX-License-Identifier: MIT */
/*
 * Which control groups (containers, services) use the processors, the disks and the network?
 *
 * Samples of 997 a second, bytes asked of block devices and bytes of TCP sent, by the name of the control group of whoever
 * was running then, for ten seconds (or as many as the argument says). What the kernel writes for others later on counts
 * for the root group "/".
 */
#pragma D option defaultargs

inline string group = curthread->cgroups->dfl_cgrp->kn->name[0] == '\0' ? "/" : stringof(curthread->cgroups->dfl_cgrp->kn->name);

BEGIN
{
	left = $1 ? $1 : 10;
}

profile-997
/pid != 0/
{
	@cpu[group] = count();
}

io:::start
{
	@disk[group] = sum(args[0]->b_bcount);
}

tcp:::send
{
	@net[group] = sum(args[2]->ip_plength - args[4]->tcp_offset);
}

tick-1s
/--left <= 0/
{
	exit(0);
}

END
{
	printf("%-40s %8s %12s %12s\n", "GROUP", "SAMPLES", "DISK", "TCP SENT");
	printa("%-40s %@8d %@12d %@12d\n", @cpu, @disk, @net);
}
