/* SPDX-License-Identifier: MIT */
/* Stacks that a program made itself (makecontext), and what is left of one after longjmp(). */
#include <setjmp.h>
#include <stdlib.h>
#include <ucontext.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

static ucontext_t outside, within;
static jmp_buf back;
static volatile int sink;

NOINLINE static void show(void)
{
	sink += getppid();
}

NOINLINE static void body(void)
{
	show();
	sink++;
	swapcontext(&within, &outside);
	show();
	sink++;
}

NOINLINE static void leave(int n)
{
	if (n)
		leave(n - 1);
	else
		longjmp(back, 1);
	sink++;
}

int main(void)
{
	getcontext(&within);
	within.uc_stack.ss_size = 65536;
	within.uc_stack.ss_sp = malloc(within.uc_stack.ss_size);
	within.uc_link = &outside;
	makecontext(&within, body, 0);
	swapcontext(&outside, &within);
	show();
	swapcontext(&outside, &within);
	if (setjmp(back) == 0)
		leave(5);
	show();
	return 0;
}
