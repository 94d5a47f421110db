#!/usr/sbin/dtrace -qs
/* SPDX-License-Identifier: MIT */
/*
 * Which statements of PostgreSQL take longer than so many milliseconds, and what do they wait for?
 * pgslow.d MILLISECONDS, for example pgslow.d 20
 *
 * A line for each slow statement when it is done: milliseconds in all, milliseconds of planning and
 * of waiting for locks that other sessions hold, then its text. At the end, for all statements, how
 * long they took, by their text up to the first number or quote. Statements of all servers that
 * run; needs a PostgreSQL that was built with probes, as Debian's. What is sent as a prepared
 * statement (the extended protocol) passes other probes: query-execute-start and -done.
 */
BEGIN
{
	printf("%6s %10s %10s %10s  %s\n", "PID", "MS", "PLANNING", "WAITING", "STATEMENT");
}

postgresql*:::query-start
{
	self->start = timestamp;
	self->planned = 0;
	self->waited = 0;
}

postgresql*:::query-plan-start, postgresql*:::lock-wait-start
/self->start/
{
	self->since = timestamp;
}

postgresql*:::query-plan-done
/self->since/
{
	self->planned += timestamp - self->since;
	self->since = 0;
}

postgresql*:::lock-wait-done
/self->since/
{
	self->waited += timestamp - self->since;
	self->since = 0;
}

postgresql*:::query-done
/self->start/
{
	this->took = timestamp - self->start;
	@[strtok(copyinstr(arg0), "0123456789'")] = quantize(this->took / 1000);
}

postgresql*:::query-done
/self->start && this->took > $1 * 1000000/
{
	printf("%6d %6d.%03d %6d.%03d %6d.%03d  %s\n", pid,
	    this->took / 1000000, this->took / 1000 % 1000,
	    self->planned / 1000000, self->planned / 1000 % 1000,
	    self->waited / 1000000, self->waited / 1000 % 1000, copyinstr(arg0));
}

postgresql*:::query-done
{
	self->start = 0;
}

END
{
	printa("%s, us%@d\n", @);
}
