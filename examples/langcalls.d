#!/usr/sbin/dtrace -qs
/* SPDX-License-Identifier: MIT */
/*
 * Which code of a program in Python, Node.js, Java, Ruby, PHP, Perl, Erlang or Lua makes a system call?
 * langcalls.d CALL -p PID, for example langcalls.d write -p PID; or -c COMMAND
 *
 * The stacks from which it was made, with the frames of the language between the native ones, and how
 * often; the most frequent last. The first stack of a process has native frames only.
 */
syscall::$1:entry
/pid == $target/
{
	@[jstack(20)] = count();
}

END
{
	trunc(@, 20);
	printa("%k%@d times\n\n", @);
}
