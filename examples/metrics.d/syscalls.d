/* SPDX-License-Identifier: MIT */
/*
 * System calls, failed ones by error, and how long the slow kinds take.
 *
 * For fathom-metrics: copy it to /etc/fathom/metrics.d. With dtrace it prints the same at ^C.
 *
 * @metric calls name=system_calls_total labels=call help=System calls.
 * @metric failures name=system_call_failures_total labels=call,errno help=System calls that failed.
 * @metric latency name=system_call_nanoseconds labels=call help=Time in system calls that read, write or sync.
 */
#pragma D option quiet

syscall:::entry
{
	@calls[probefunc] = count();
}

syscall:::return
/errno/
{
	@failures[probefunc, errno] = count();
}

syscall::*read*:entry,
syscall::*write*:entry,
syscall::*sync*:entry
{
	self->start = timestamp;
}

syscall::*read*:return,
syscall::*write*:return,
syscall::*sync*:return
/self->start/
{
	@latency[probefunc] = quantize(timestamp - self->start);
	self->start = 0;
}
