#!/usr/sbin/dtrace -qs
/* SPDX-License-Identifier: MIT */
/*
 * What does a process write? writetext.d -p PID, or -c COMMAND; a descriptor as the argument,
 * otherwise all of them
 *
 * The text of each write(), up to 200 bytes, with unprintable characters as \n, \033 and so on:
 * a log that goes to /dev/null, a protocol on a socket, what a daemon says before it dies.
 */
#pragma D option defaultargs
#pragma D option strsize=201

syscall::write:entry
/pid == $target && ($$1 == "" || arg0 == $1)/
{
	self->buf = arg1;
	self->fd = arg0;
}

syscall::write:return
/self->buf && arg0 > 0/
{
	printf("fd %d, %d bytes: %S\n", self->fd, arg0,
	    copyinstr(self->buf, arg0 < 200 ? arg0 + 1 : 201));
}

syscall::write:return
{
	self->buf = 0;
	self->fd = 0;
}
