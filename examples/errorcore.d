#!/usr/sbin/dtrace -qws
/* SPDX-License-Identifier: MIT */
/*
 * Where in the program does it fail, and with what in its variables? errorcore.d write EBADF nginx [FOLDER]
 *
 * Stops the program at the instant this system call fails with this error, saves a core file (gcore, of Debian's
 * package gdb) in the folder, lets the program go on, and ends. Look into it: gdb PROGRAM FOLDER/core.PID. The program
 * stands still while the core file is written.
 */
#pragma D option defaultargs

syscall::$1:return
/errno == $2 && execname == $$3/
{
	stop();
	printf("%s[%d]: %s() has failed, errno %d\n", execname, pid, probefunc, errno);
	system("gcore -o %s/core %d >/dev/null 2>&1; kill -CONT %d; ls -s %s/core.%d", $$4 == "" ? "." : $$4, pid, pid,
	    $$4 == "" ? "." : $$4, pid);
	exit(0);
}
