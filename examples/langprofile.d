#!/usr/sbin/dtrace -qs
/* SPDX-License-Identifier: MIT */
/*
 * Where does a program in Python, Node.js, Java, Ruby, PHP, Perl, Erlang or Lua spend its time on the processor?
 * langprofile.d -p PID, or -c COMMAND
 *
 * 97 times a second on each processor, the stack of what runs: functions of the language, the native
 * functions between them, and the kernel's above. At the end each stack with its number of samples,
 * the largest last: what flame graphs are drawn of.
 */
profile-97
/pid == $target/
{
	@[stack(), jstack(100, 16384)] = count();
}

END
{
	printa("%k%k%@d\n\n", @);
}
