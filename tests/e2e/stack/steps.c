/* SPDX-License-Identifier: MIT */
/*
 * Functions with every kind of frame, called once each by call_NAME(): a stack at any of their
 * instructions is NAME, call_NAME, main, ...
 */
#include <alloca.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

volatile long sink;
long (*volatile call_through)(long);

NOINLINE long leaf(long x)
{
	long a[8]; /* below rsp */

	for (int i = 0; i < 8; i++)
		a[i] = x * i + sink;
	return a[x & 7] + a[3];
}

NOINLINE long saves(long a, long b, long c, long d)
{
	long e = call_through(a), f = call_through(b), g = call_through(c), h = call_through(d);

	sink += call_through(a + e) + call_through(b + f);
	return a + b * 2 + c * 3 + d * 4 + e + f + g + h;
}

NOINLINE long variable(long n)
{
	char *p = alloca((size_t)n * 3 + 5);

	memset(p, (int)n, (size_t)n);
	sink += call_through((long)p[2]);
	return p[1];
}

NOINLINE long large(long n)
{
	volatile char room[40000];

	room[n] = 1;
	sink += call_through(n);
	return room[n];
}

NOINLINE long aligned(long n)
{
	volatile char room[64] __attribute__((aligned(64)));

	room[n & 63] = 1;
	sink += call_through(n);
	return room[n & 31] + n;
}

NOINLINE long early(long n)
{
	if (n < 100)
		return n;
	sink += call_through(n);
	sink += call_through(n + 1);
	return sink;
}

NOINLINE long variadic(long n, ...)
{
	va_list ap;
	long sum = 0;

	va_start(ap, n);
	while (n--)
		sum += va_arg(ap, long);
	va_end(ap);
	return sum + call_through(sum);
}

NOINLINE long many(long a, long b, long c, long d, long e, long f, long g, long h, long i)
{
	return a + b + c + d + e + f + g + h * call_through(i);
}

NOINLINE long library(long n)
{
	char text[32];

	snprintf(text, sizeof(text), "%ld", n);
	return (long)strlen(text) + getppid();
}

static jmp_buf back;

NOINLINE long jumps(long n)
{
	sink += n;
	if (setjmp(back) == 0)
		longjmp(back, 1);
	return sink;
}

NOINLINE long call_leaf(void)
{
	return leaf(3) + 1;
}
NOINLINE long call_saves(void)
{
	return saves(1, 2, 3, 4) + 1;
}
NOINLINE long call_variable(void)
{
	return variable(30) + 1;
}
NOINLINE long call_large(void)
{
	return large(99) + 1;
}
NOINLINE long call_aligned(void)
{
	return aligned(77) + 1;
}
NOINLINE long call_early(void)
{
	return early(1) + early(1000);
}
NOINLINE long call_variadic(void)
{
	return variadic(9L, 1L, 2L, 3L, 4L, 5L, 6L, 7L, 8L, 9L) + 1;
}
NOINLINE long call_many(void)
{
	return many(1, 2, 3, 4, 5, 6, 7, 8, 9) + 1;
}
NOINLINE long call_library(void)
{
	return library(12345) + 1;
}
NOINLINE long call_jumps(void)
{
	return jumps(2) + 1;
}

NOINLINE long identity(long x)
{
	__asm__ volatile("" : "+r"(x));
	return x;
}

int main(void)
{
	call_through = identity;
	kill(0, 0); /* for hostwalk: the steps begin */
	sink += call_leaf();
	sink += call_saves();
	sink += call_variable();
	sink += call_large();
	sink += call_aligned();
	sink += call_early();
	sink += call_variadic();
	sink += call_many();
	sink += call_library();
	sink += call_jumps();
	kill(0, 0);
	return 0;
}
