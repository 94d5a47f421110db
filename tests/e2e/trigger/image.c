/* SPDX-License-Identifier: MIT */
/*
 * IMAGE PROGRAM ARGUMENT... calls getppid() from a function of its own, then executes PROGRAM. It
 * is built twice, without PIE: the functions of the two programs have different names and one
 * address.
 */
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

void PLACE(void);

__attribute__((noinline)) void PLACE(void)
{
	syscall(SYS_getppid);
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	PLACE();
	if (argc < 2)
		return 0;
	(void)execvp(argv[1], argv + 1);
	perror(argv[1]);
	return 1;
}
