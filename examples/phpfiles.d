#!/usr/sbin/dtrace -qs
/* SPDX-License-Identifier: MIT */
/*
 * Which files does the PHP of a web server look for, and which of its code?
 *
 * For all processes whose name begins with the argument, as php-fpm, php or apache2: the names of files
 * that were opened or looked for, with the functions of PHP, and how often; the most frequent last; until
 * ^C. The first stack of each process has native frames only.
 */
syscall::open:entry,
syscall::stat:entry,
syscall::lstat:entry,
syscall::access:entry
/strstr(execname, $$1) == execname/
{
	self->path = arg0;
}

syscall::openat:entry,
syscall::newfstatat:entry
/strstr(execname, $$1) == execname/
{
	self->path = arg1;
}

syscall::open:return,
syscall::stat:return,
syscall::lstat:return,
syscall::access:return,
syscall::openat:return,
syscall::newfstatat:return
/self->path/
{
	@[copyinstr(self->path), jstack(20)] = count();
	self->path = 0;
}

END
{
	trunc(@, 20);
	printa("%s\n%k%@d times\n\n", @);
}
