#!/usr/sbin/dtrace -qs
/* SPDX-License-Identifier: MIT */
/*
 * Which process moves how many bytes through which descriptor?
 *
 * ^C prints bytes written and read by process and descriptor, the busiest writers last, with the
 * file behind the descriptor (<unknown>: a pipe or a socket). The file calls and the socket calls
 * of Linux are all counted.
 */
syscall::read:entry, syscall::pread64:entry, syscall::readv:entry,
syscall::recvfrom:entry, syscall::recvmsg:entry,
syscall::write:entry, syscall::pwrite64:entry, syscall::writev:entry,
syscall::sendto:entry, syscall::sendmsg:entry
{
	self->fd = arg0 + 1;	/* 0 is a descriptor, too, but means "not set" */
}

syscall::read:return, syscall::pread64:return, syscall::readv:return,
syscall::recvfrom:return, syscall::recvmsg:return
/self->fd && arg0 > 0/
{
	@in[execname, pid, self->fd - 1, fds[self->fd - 1].fi_pathname] = sum(arg0);
}

syscall::write:return, syscall::pwrite64:return, syscall::writev:return,
syscall::sendto:return, syscall::sendmsg:return
/self->fd && arg0 > 0/
{
	@out[execname, pid, self->fd - 1, fds[self->fd - 1].fi_pathname] = sum(arg0);
}

syscall:::return
/self->fd/
{
	self->fd = 0;
}

END
{
	printf("%-16s %7s %4s %-32s %12s %12s\n", "PROGRAM", "PID", "FD", "FILE",
	    "WRITTEN", "READ");
	printa("%-16s %7d %4d %-32s %@12d %@12d\n", @out, @in);
}
