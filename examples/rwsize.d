#!/usr/sbin/dtrace -qs
/* SPDX-License-Identifier: MIT */
/*
 * How large are reads and writes?
 *
 * ^C prints a histogram for each program and direction. A row "4096 |@@@ 12" says that 12 calls
 * moved 4096 to 8191 bytes. Many rows below 512 are a program that should buffer.
 */
syscall::read:return,
syscall::pread64:return,
syscall::readv:return
/arg0 > 0/
{
	@[execname, "read (bytes)"] = quantize(arg0);
}

syscall::write:return,
syscall::pwrite64:return,
syscall::writev:return
/arg0 > 0/
{
	@[execname, "write (bytes)"] = quantize(arg0);
}
