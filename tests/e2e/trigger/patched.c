/* SPDX-License-Identifier: MIT */
/*
 * A program that changes its own code: prints what p_two() and p_one() return, before and after,
 * for each line of input.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int p_two(void);
int p_one(void);

/* The same bytes from every compiler: the first instruction of p_two() is the one that changes. */
__asm__(".text\n"
	".globl p_two\n.type p_two, @function\np_two:\n\tmovl $2222, %eax\n\tret\n.size p_two, . - p_two\n"
	".globl p_one\n.type p_one, @function\np_one:\n\tmovl $1111, %eax\n\tret\n.size p_one, . - p_one\n");

/* mov $2222,%eax becomes mov $3333,%eax: another first instruction */
static int change(void)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	void *start = (void *)((uintptr_t)&p_two & ~(page - 1));
	const int from = 2222, to = 3333;
	unsigned char *code = (unsigned char *)(uintptr_t)&p_two;

	if (mprotect(start, 2 * page, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
		return -1;
	for (int i = 0; i < 16; i++)
		if (memcmp(code + i, &from, sizeof(from)) == 0) {
			memcpy(code + i, &to, sizeof(to));
			return mprotect(start, 2 * page, PROT_READ | PROT_EXEC);
		}
	return -1;
}

int main(void)
{
	char line[64];

	printf("%d %d\n", p_two(), p_one());
	if (change() != 0)
		return 2;
	do {
		printf("%d %d\n", p_two(), p_one());
		(void)fflush(stdout);
	} while (fgets(line, sizeof(line), stdin));
	return 0;
}
