#!/usr/sbin/dtrace -qs
/* SPDX-License-Identifier: MIT */
/*
 * Which code asks the kernel for memory, and how much?
 *
 * The user stacks of mmap() without a file and of brk(), with the number of calls and the KiB,
 * the largest last. The argument, if given, is the program to look at: mmapstacks.d nginx.
 * malloc() is on the stacks; its callers are the answer.
 */
#pragma D option defaultargs

self uint64_t top;	/* of the heap */

syscall::mmap:entry
/(arg3 & MAP_ANONYMOUS) && ($$1 == "" || execname == $$1)/
{
	@kib[execname, ustack(8)] = sum(arg1 / 1024);
	@calls[execname, ustack(8)] = count();
}

syscall::brk:entry
/arg0 && ($$1 == "" || execname == $$1)/
{
	@kib[execname, ustack(8)] = sum(self->top && arg0 > self->top ?
	    (arg0 - self->top) / 1024 : 0);
	@calls[execname, ustack(8)] = count();
}

syscall::brk:return
{
	self->top = arg1;
}

END
{
	printa("%s%-4k%@d KiB in %@d calls\n\n", @kib, @calls);
}
