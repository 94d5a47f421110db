#!/usr/sbin/dtrace -qs
/* SPDX-License-Identifier: MIT */
/*
 * What did a slow call do? outliers.d CALL MILLISECONDS, for example outliers.d read 20
 *
 * Every such call is recorded with its arguments and the user stack that made it, but only those
 * that took longer than the limit are printed: they are committed, the others discarded. So the
 * stack is that of the very call that was slow.
 */
#pragma D option nspec=64

inline int64_t limit = $2 * 1000000;

syscall::$1:entry
{
	self->spec = speculation();
	self->start = timestamp;
}

syscall::$1:entry
/self->spec/
{
	speculate(self->spec);
	printf("%Y %s[%d] %s(0x%x, 0x%x, 0x%x)", walltimestamp, execname, tid, probefunc,
	    arg0, arg1, arg2);
	ustack(8);
}

syscall::$1:return
/self->spec/
{
	self->ns = timestamp - self->start;
	self->slow = self->ns > limit;
}

syscall::$1:return
/self->spec && self->slow/
{
	speculate(self->spec);
	printf("took %d us, returned %d, errno %d\n\n", self->ns / 1000, arg0, errno);
}

syscall::$1:return
/self->spec && self->slow/
{
	commit(self->spec);
}

syscall::$1:return
/self->spec && !self->slow/
{
	discard(self->spec);
}

syscall::$1:return
{
	self->spec = 0;
	self->start = 0;
	self->ns = 0;
	self->slow = 0;
}
