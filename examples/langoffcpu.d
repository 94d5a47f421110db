#!/usr/sbin/dtrace -qs
/* SPDX-License-Identifier: MIT */
/*
 * For what does a program in Python, Node.js, Java, Ruby, PHP, Perl, Erlang or Lua wait, and which of its code?
 * langoffcpu.d -p PID, or -c COMMAND
 *
 * For each place where a thread left the processor, with the functions of the language, the milliseconds
 * until it came back; the longest last. Needs Linux 6.15 (sched:::on-cpu).
 */
sched:::off-cpu
/pid == $target/
{
	self->since = timestamp;
}

sched:::on-cpu
/self->since/
{
	@[jstack(20)] = sum(timestamp - self->since);
	self->since = 0;
}

END
{
	normalize(@, 1000000);
	trunc(@, 20);
	printa("%k%@d ms\n\n", @);
}
