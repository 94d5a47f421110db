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
	@[copyinstr(arg0), jstack(20)] = count();
}

syscall::openat:entry,
syscall::newfstatat:entry
/strstr(execname, $$1) == execname/
{
	@[copyinstr(arg1), jstack(20)] = count();
}

END
{
	trunc(@, 20);
	printa("%s\n%k%@d times\n\n", @);
}
