/* SPDX-License-Identifier: MIT */
/*
 * Which programs are started, and how often processes end by a signal.
 *
 * For fathom-metrics: copy it to /etc/fathom/metrics.d. With dtrace it prints the same at ^C.
 *
 * @metric started name=programs_started_total labels=program help=Programs that were executed.
 * @metric killed name=processes_killed_total labels=program,code help=Processes that a signal has ended; code 3: with a core file, 2: without.
 */
#pragma D option quiet

proc:::exec-success
{
	@started[execname] = count();
}

proc:::exit
/args[0] != CLD_EXITED/
{
	@killed[execname, args[0]] = count();
}
