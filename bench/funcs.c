/* SPDX-License-Identifier: MIT */
/*
 * Functions that begin as compilers make them, for probes: waits for a line, then prints
 * nanoseconds a call.
 *
 *     funcs FUNCTION N     push endbr mov
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void f_push(void);
void f_endbr(void);
void f_mov(void);

__asm__(".text\n"
	".type f_push, @function\nf_push: push %rbx\n pop %rbx\n ret\n.size f_push, .-f_push\n.globl f_push\n"
	".type f_endbr, @function\nf_endbr: endbr64\n push %rbx\n pop %rbx\n ret\n.size f_endbr, .-f_endbr\n.globl f_endbr\n"
	".type f_mov, @function\nf_mov: mov %rdi, %rax\n ret\n.size f_mov, .-f_mov\n.globl f_mov\n");

static const struct {
	const char *name;
	void (*func)(void);
} rows[] = {{"push", f_push}, {"endbr", f_endbr}, {"mov", f_mov}};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

int main(int argc, char **argv)
{
	long n = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
	void (*volatile func)(void) = NULL;
	char line[16];

	for (size_t i = 0; argc > 1 && i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strcmp(rows[i].name, argv[1]) == 0)
			func = rows[i].func;
	if (!func || n < 1)
		return 2;
	while (fgets(line, sizeof(line), stdin)) {
		uint64_t start = now_ns();

		for (long i = 0; i < n; i++)
			func();
		printf("%.1f\n", (double)(now_ns() - start) / (double)n);
		(void)fflush(stdout);
	}
	return 0;
}
