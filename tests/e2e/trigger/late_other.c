/* SPDX-License-Identifier: MIT */
/* What `late' executes: own functions with names of their own, then the same words. */
#define main late_main
#include "late.c"
#undef main

static volatile long other_sink;

__attribute__((visibility("default"))) long other_f(long x);
__attribute__((visibility("default"))) const char *text_f(const char *s);

NOINLINE long other_f(long x)
{
	other_sink += x;
	return other_sink;
}

NOINLINE const char *text_f(const char *s)
{
	other_sink += s[0];
	return s;
}

int main(int argc, char **argv)
{
	for (int i = 0; i < 3; i++)
		other_sink += other_f(i);
	text_f(argv[0]);
	return late_main(argc, argv);
}
