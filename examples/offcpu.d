#!/usr/sbin/dtrace -qs
/* SPDX-License-Identifier: MIT */
/*
 * Where does a program wait, and for how long?
 *
 * The argument is the name of the program. For each place in the kernel and in the program where its threads left the
 * processor, the milliseconds until they came back, the longest last; until ^C. Needs Linux 6.15 (sched:::on-cpu).
 */
sched:::off-cpu
/execname == $$1/
{
	self->since = timestamp;
}

sched:::on-cpu
/self->since/
{
	@[execname, stack(8), ustack(8)] = sum(timestamp - self->since);
	self->since = 0;
}

END
{
	normalize(@, 1000000);
	printa("%s%-4k%-4k%@d ms\n\n", @);
}
