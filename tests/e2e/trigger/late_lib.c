/* SPDX-License-Identifier: MIT */
/* A library for `late': a constructor that calls late_init(), late_f() that calls late_g(). */
#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif
#define EXPORT __attribute__((visibility("default"))) NOINLINE

static volatile long sink;

EXPORT long late_init(long x);
EXPORT long late_g(long x);
EXPORT long late_f(long x);

long late_init(long x)
{
	sink += x;
	return sink;
}

long late_g(long x)
{
	sink += x + 1;
	return sink;
}

long late_f(long x)
{
	sink += late_g(x);
	return sink;
}

__attribute__((constructor)) static void late_constructor(void)
{
	sink += late_init(1);
}
