/* SPDX-License-Identifier: MIT */
/*
 * A process among many, for bench/images.py: it waits to be woken, makes one system call below
 * functions of several shared libraries, says that it has, and waits until it may end. Compiled
 * as a program, and with -DPART=N as library number N.
 *
 *     images WAKE DONE END     numbers of descriptors: pipes
 */
#include <stdlib.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

#ifdef PART
#define NAME_OF(n) part##n
#define NAME(n)	   NAME_OF(n)

NOINLINE long NAME(PART)(long (*next[])(void *), int n)
{
	long r = n ? ((long (*)(void *, int))next[0])(next + 1, n - 1) : getppid();

	__asm__ volatile("" : "+r"(r)); /* no jump instead of the call */
	return r;
}
#else
long part0(void *, int), part1(void *, int), part2(void *, int), part3(void *, int);

int main(int argc, char **argv)
{
	long (*parts[])(void *, int) = {part1, part2, part3};
	char c = 0;
	long r;

	if (argc != 4 || read(atoi(argv[1]), &c, 1) != 1)
		return 2;
	r = part0(parts, 3);
	if (write(atoi(argv[2]), &c, 1) != 1)
		return 2;
	return read(atoi(argv[3]), &c, 1) != 0 || r < 0;
}
#endif
