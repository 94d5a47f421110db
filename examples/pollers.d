#!/usr/sbin/dtrace -qs
/* SPDX-License-Identifier: MIT */
/*
 * Which programs wake up too often, and for nothing?
 *
 * Counts the ends of calls that wait (poll, select, epoll_wait, nanosleep, futex, ...) for ten
 * seconds or until ^C, by process: WAKES in all (the first line says in what time), and how many of
 * them were timeouts with nothing to do (EMPTY). A laptop wants few of both; a server at rest, too.
 */
syscall::poll:return, syscall::ppoll:return, syscall::select:return, syscall::pselect6:return,
syscall::epoll_wait:return, syscall::epoll_pwait:return, syscall::epoll_pwait2:return
{
	@wakes[execname, pid, probefunc] = count();
	@empty[execname, pid, probefunc] = sum(arg0 == 0);
}

syscall::nanosleep:return, syscall::clock_nanosleep:return
{
	@wakes[execname, pid, probefunc] = count();
	@empty[execname, pid, probefunc] = sum(1);
}

syscall::futex:return
{
	@wakes[execname, pid, probefunc] = count();
	@empty[execname, pid, probefunc] = sum(errno == ETIMEDOUT);
}

BEGIN
{
	start = timestamp;
}

tick-10s
{
	exit(0);
}

END
{
	printf("%d ms\n%-16s %7s %-16s %8s %8s\n", (timestamp - start) / 1000000,
	    "PROGRAM", "PID", "CALL", "WAKES", "EMPTY");
	printa("%-16s %7d %-16s %@8d %@8d\n", @wakes, @empty);
}
