/* SPDX-License-Identifier: MIT */
/*
 * A program with many stacks: N calls of getppid() from below DEPTH calls of one of two functions
 * each; which one is the bits of a number below KINDS.
 *
 *     flame N DEPTH KINDS
 */
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static void walk(unsigned int path, int depth);

__attribute__((noinline)) static void step_left(unsigned int path, int depth)
{
	walk(path >> 1, depth - 1);
	__asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void step_right(unsigned int path, int depth)
{
	walk(path >> 1, depth - 1);
	__asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void walk(unsigned int path, int depth)
{
	if (depth == 0)
		(void)syscall(SYS_getppid);
	else if (path & 1)
		step_left(path, depth);
	else
		step_right(path, depth);
	__asm__ volatile("" ::: "memory");
}

int main(int argc, char **argv)
{
	unsigned int n = (unsigned int)atoi(argv[1]), kinds = (unsigned int)atoi(argv[3]);

	for (unsigned int i = 0; i < n; i++)
		walk(i * 2654435761u % kinds, atoi(argv[2]));
	return argc != 4;
}
