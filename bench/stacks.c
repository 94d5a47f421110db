/* SPDX-License-Identifier: MIT */
/*
 * A chain of 40 functions, main -> f40 -> ... -> f1 -> work; compiled with and without frame
 * pointers by bench/stacks.py.
 *
 *     stacks calls N    for each line on stdin: N calls of probed() from work(), then nanoseconds a
 *                       call
 *     stacks spin MS    work() computes
 *     stacks once       work() calls getppid() once
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

static const char *mode;
static long count;
static volatile long sink;

void probed(void);
__asm__(".text\n"
	".globl probed\n"
	".type probed, @function\n"
	"probed:\n"
	"	.cfi_startproc\n"
	"	push %rbp\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	.cfi_rel_offset rbp, 0\n"
	"	pop %rbp\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	.cfi_restore rbp\n"
	"	ret\n"
	"	.cfi_endproc\n"
	"	.size probed, . - probed\n");

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void calls(void)
{
	char line[16];

	while (fgets(line, sizeof(line), stdin)) {
		uint64_t start = now_ns();

		for (long i = 0; i < count; i++)
			probed();
		printf("%.1f\n", (double)(now_ns() - start) / (double)count);
		(void)fflush(stdout);
	}
}

NOINLINE static long work(long x)
{
	uint64_t end = now_ns() + (uint64_t)count * 1000000u;

	if (strcmp(mode, "calls") == 0)
		calls();
	else if (strcmp(mode, "once") == 0)
		sink += getppid();
	else
		while (now_ns() < end)
			for (long i = 0; i < 100000; i++)
				sink += i * i;
	return x + sink;
}

/* Frames of many sizes. */
/* clang-format off */
#define F(n, callee)                           \
	NOINLINE static long f##n(long x)      \
	{                                      \
		volatile char room[n * 9 + 8]; \
					       \
		room[0] = (char)x;             \
		sink += callee(x + 1);         \
		return sink + room[0];         \
	}
/* clang-format on */
#define F5(a, b, c, d, e, callee) F(a, callee) F(b, f##a) F(c, f##b) F(d, f##c) F(e, f##d)
/* clang-format off */
F5(1, 2, 3, 4, 5, work)
F5(6, 7, 8, 9, 10, f5)
F5(11, 12, 13, 14, 15, f10)
F5(16, 17, 18, 19, 20, f15)
F5(21, 22, 23, 24, 25, f20)
F5(26, 27, 28, 29, 30, f25)
F5(31, 32, 33, 34, 35, f30)
F5(36, 37, 38, 39, 40, f35)
/* clang-format on */

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	mode = argv[1];
	count = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
	sink += f40(0);
	return 0;
}
