/* SPDX-License-Identifier: MIT */
/*
 * A known chain of calls that keeps frame pointers: chain N makes N getppid() calls by
 * main -> outer -> middle -> inner.
 */
#include <stdlib.h>
#include <sys/syscall.h>

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

/* The call is in here, not in a library that keeps no frame pointers. */
NOINLINE static long inner(void)
{
	long ret;

	__asm__ volatile("" : : "r"(__builtin_frame_address(0))); /* leaves have none otherwise */
	__asm__ volatile("syscall" : "=a"(ret) : "0"((long)SYS_getppid) : "rcx", "r11", "memory");
	return ret;
}

NOINLINE static long middle(void)
{
	return inner() + 1;
}

NOINLINE static long outer(void)
{
	return middle() + 1;
}

int main(int argc, char **argv)
{
	long sum = 0;

	for (long n = argc > 1 ? strtol(argv[1], NULL, 10) : 1; n > 0; n--)
		sum += outer() + 1;
	return sum == 0;
}
