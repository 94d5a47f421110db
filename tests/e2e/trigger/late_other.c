/* What `late' executes: own functions with names of their own, then the same words. */
#define main late_main
#include "late.c"
#undef main

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

static volatile long other_sink;

__attribute__((visibility("default"))) long other_f(long x);

NOINLINE long other_f(long x)
{
	other_sink += x;
	return other_sink;
}

int main(int argc, char **argv)
{
	for (int i = 0; i < 3; i++)
		other_sink += other_f(i);
	return late_main(argc, argv);
}
