#!/usr/sbin/dtrace -qs
/* SPDX-License-Identifier: MIT */
/*
 * How long do calls of a function take, and what does it return?
 * slowfunc.d MODULE FUNCTION -p PID, for example slowfunc.d libc getaddrinfo -p PID
 *
 * A histogram of the nanoseconds from entry to return, then how often each value came back. Calls
 * that are still under way do not count. Functions that call themselves are measured from the
 * outermost call.
 */
pid$target:$1:$2:entry
/self->depth++ == 0/
{
	self->start = timestamp;
}

pid$target:$1:$2:return
/self->start && --self->depth == 0/
{
	@time["ns"] = quantize(timestamp - self->start);
	@value[arg1] = count();
	self->start = 0;
}

END
{
	printa("%s%@d\n", @time);
	trunc(@value, 10);
	printf("%20s %10s\n", "RETURNED", "TIMES");
	printa("%20d %@10d\n", @value);
}
