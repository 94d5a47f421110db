#!/usr/sbin/dtrace -qZs
/* SPDX-License-Identifier: MIT */
/*
 * How long do calls of a Node.js add-on take, and which JavaScript makes them?
 * addonlat.d ADDON FUNCTION -p PID, for example addonlat.d bcrypt.node '*Hash*' -p PID; or -c COMMAND
 *
 * For each place in JavaScript, a histogram of the microseconds from the entry of the add-on's function
 * until it returns. The function is the one in C or C++ that the add-on has made known to Node.js; an
 * add-on without symbols has no functions to name. Where FUNCTION is several functions that call each
 * other, or JavaScript that calls the add-on again, each call has its own time.
 */
pid$target:$1:$2:entry
{
	self->start[++self->depth] = timestamp;
}

pid$target:$1:$2:return
/self->depth/
{
	@[probefunc, jstack(20)] = quantize((timestamp - self->start[self->depth]) / 1000);
	self->start[self->depth--] = 0;
}

END
{
	printa("%s, us\n%k%@d\n", @);
}
