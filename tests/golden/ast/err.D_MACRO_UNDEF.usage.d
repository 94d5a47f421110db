#!/usr/sbin/dtrace -qs
/*
 * Slow system calls of a process; $4 in comments and strings does not count.
 *
 * USAGE:
 *	usage.d PID MILLISECONDS [FUNCTION]
 */
BEGIN { printf("$5"); }
syscall:::return /pid == $1 && probefunc == $$3/ { trace($2); }
tick-$2 { exit(0); }
