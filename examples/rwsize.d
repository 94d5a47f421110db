#!/usr/sbin/dtrace -s
/* How large are reads and writes? A histogram for each program and direction; ^C ends it. */
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
