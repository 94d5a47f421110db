#!/usr/sbin/dtrace -qs
/* SPDX-License-Identifier: MIT */
/*
 * Which threads of a process are busy, and which do nothing? threads.d -p PID
 *
 * Samples on CPU and system calls by thread, every two seconds and at the end. One busy thread
 * beside many idle ones is a program that can't use more CPUs; 199 samples a second are one CPU.
 */
profile-199
/pid == $target/
{
	@cpu[tid] = count();
}

syscall:::entry
/pid == $target/
{
	@calls[tid] = count();
}

tick-2s, END
{
	printf("%Y\n%8s %8s %8s\n", walltimestamp, "THREAD", "SAMPLES", "CALLS");
	printa("%8d %@8d %@8d\n", @cpu, @calls);
	trunc(@cpu);
	trunc(@calls);
}
