/* SPDX-License-Identifier: MIT */
/* A library for `deep plug': plug() -> plug_inner() -> getppid(), without frame pointers. */
#include <unistd.h>

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

static volatile long sink;

__attribute__((visibility("default"))) long plug(long x);

NOINLINE static long plug_inner(long x)
{
	sink += getppid();
	return sink + x;
}

long plug(long x)
{
	sink += plug_inner(x + 1);
	return sink;
}
