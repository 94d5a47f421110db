#!/usr/sbin/dtrace -qs
/* SPDX-License-Identifier: MIT */
/*
 * Who sleeps, for how long, and how much longer than asked?
 *
 * nanosleep() and clock_nanosleep() by program: how often, the shortest and longest sleep, and
 * the mean of what came on top (LATE), in microseconds. Thousands of short sleeps are a loop
 * that polls; a large LATE is a machine without a free CPU.
 */
struct span { int64_t sec, nsec; };

syscall::nanosleep:entry
{
	self->asked = arg0;
	self->start = timestamp;
}

syscall::clock_nanosleep:entry
/(arg1 & 1) == 0/	/* TIMER_ABSTIME names a time of day, not a span */
{
	self->asked = arg2;
	self->start = timestamp;
}

syscall::nanosleep:return, syscall::clock_nanosleep:return
/self->asked && arg0 == 0/
{
	this->t = (struct span *)copyin(self->asked, sizeof (struct span));
	this->ns = this->t->sec * 1000000000 + this->t->nsec;
	@n[execname] = count();
	@least[execname] = min(this->ns / 1000);
	@most[execname] = max(this->ns / 1000);
	@late[execname] = avg((timestamp - self->start - this->ns) / 1000);
}

syscall::nanosleep:return, syscall::clock_nanosleep:return
{
	self->asked = 0;
	self->start = 0;
}

END
{
	printf("%-16s %8s %12s %12s %10s\n", "PROGRAM", "SLEEPS", "SHORTEST us", "LONGEST us",
	    "LATE us");
	printa("%-16s %@8d %@12d %@12d %@10d\n", @n, @least, @most, @late);
}
