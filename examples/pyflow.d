#!/usr/sbin/dtrace -qs
/* SPDX-License-Identifier: MIT */
/*
 * What happens below a Python function: which functions and system calls, when, from which line?
 * pyflow.d FUNCTION FILE -p PID, for example pyflow.d charge shop.py -p PID; or -c COMMAND
 *
 * A line for each Python function (-> and <-), and for each system call, from the moment the
 * function is called until it returns: microseconds since its call, then the line of the caller.
 * Generators are left and entered again at each yield. Needs a Python that was built with probes,
 * as Debian's.
 */
python$target:::function-entry
/!self->depth && copyinstr(arg1) == $$1 && basename(copyinstr(arg0)) == $$2/
{
	self->start = timestamp;
	self->depth = 1;
	self->line[1] = arg2;
}

python$target:::function-entry
/self->depth/
{
	printf("%8d us %5d %*s-> %s (%s)\n", (timestamp - self->start) / 1000, self->line[self->depth],
	    self->depth * 2, "", copyinstr(arg1), basename(copyinstr(arg0)));
	self->depth++;
	self->line[self->depth] = arg2;
}

python$target:::line
/self->depth/
{
	self->line[self->depth] = arg2;
}

syscall:::entry
/self->depth && pid == $target/
{
	printf("%8d us %5d %*s %s()\n", (timestamp - self->start) / 1000, self->line[self->depth],
	    self->depth * 2, "", probefunc);
}

python$target:::function-return
/self->depth/
{
	printf("%8d us %5d %*s<- %s\n", (timestamp - self->start) / 1000, self->line[self->depth],
	    self->depth * 2 - 2, "", copyinstr(arg1));
	self->line[self->depth] = 0;
	self->depth--;
}

python$target:::function-return
/self->depth == 1/
{
	self->depth = 0;
	self->start = 0;
	self->line[1] = 0;
}
