/* SPDX-License-Identifier: MIT */
/*
 * Functions with known arguments, values and ends: funcs [N [wait]]. With wait it goes on with each
 * line of input.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noipa))
#endif

struct pair {
	int first;
	const char *name;
};

long f_add(long a, long b);
long f_ten(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j);
long f_ends(long n);
long f_pair(const struct pair *p);

/* Functions with several names, which nothing calls. */
__asm__(".text\n"
	".globl f_strong, __f_strong\n.weak f_w\n.type f_strong, @function\n.type __f_strong, @function\n.type f_w, @function\n"
	"f_strong: __f_strong: f_w:\n\tret\n.size f_strong, . - f_strong\n.size __f_strong, . - __f_strong\n.size f_w, . - f_w\n"
	".weak f_weak_of_local\n.type l_local, @function\n.type f_weak_of_local, @function\n"
	"l_local: f_weak_of_local:\n\tret\n.size l_local, . - l_local\n.size f_weak_of_local, . - f_weak_of_local\n");

/* The same bytes from every compiler: an instruction of five, and the return. */
__asm__(".text\n.globl f_fixed\n.type f_fixed, @function\nf_fixed:\n\tmovl $1, %eax\n\tret\n.size f_fixed, . - f_fixed\n");

NOINLINE long f_add(long a, long b)
{
	__asm__ volatile("" ::: "memory");
	return a + b;
}

NOINLINE long f_ten(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j)
{
	__asm__ volatile("" ::: "memory");
	return a + b + c + d + e + f + g + h + i + j;
}

/* several ends; the last is a jump where the compiler makes one of the call */
NOINLINE long f_ends(long n)
{
	__asm__ volatile("" ::: "memory");
	if (n < 0)
		return -1;
	if (n == 0)
		return f_add(3, 4) * 2;
	return f_add(n, n);
}

NOINLINE long f_pair(const struct pair *p)
{
	__asm__ volatile("" ::: "memory");
	return p->first + (long)strlen(p->name);
}

long f_alias(long a, long b) __attribute__((alias("f_add")));

static const char *const name = "seven77";

static long round_of(long i)
{
	struct pair p = {(int)i, name};

	return f_add(i, 2 * i) + f_ends(i - 1) + f_ten(1, 2, 3, 4, 5, 6, 7, 8, 9, i) + f_pair(&p);
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? strtol(argv[1], NULL, 10) : 1, sum = 0;
	char line[64];

	sum += *(const volatile char *)name != 's'; /* in memory before a probe looks at it */
	if (argc > 2)
		puts("ready");
	(void)fflush(stdout);
	if (argc > 2 && !fgets(line, sizeof(line), stdin))
		return 2;
	do
		for (long i = 0; i < n; i++)
			sum += round_of(i);
	while (argc > 2 && fgets(line, sizeof(line), stdin));
	if (argc > 2)
		printf("sum %ld\n", sum);
	return 0;
}
