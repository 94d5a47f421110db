/* SPDX-License-Identifier: MIT */
/* A library for `early': its constructor asks for the parent's id. */
#include <unistd.h>

__attribute__((visibility("default"))) long early_value(void);

static volatile long value;

__attribute__((constructor, noinline)) static void early_constructor(void)
{
	value = getppid();
}

long early_value(void)
{
	return value;
}
