/* SPDX-License-Identifier: MIT */
/*
 * Stacks at the edges of functions: before() ends with a call that does not return, so the address
 * behind it is where idle() begins; a timer interrupts idle() at its first instruction; the handler
 * asks for a stack (getppid) and ends the program.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

void before(void);
void idle(void);
__attribute__((used, noreturn)) void never(void);

__asm__(".text\n"
	".globl before, idle\n"
	".type before, @function\n"
	".type idle, @function\n"
	"before:\n"
	"	.cfi_startproc\n"
	"	sub $8, %rsp\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	call never\n"
	"	.cfi_endproc\n"
	"	.size before, . - before\n"
	"idle:\n"
	"	.cfi_startproc\n"
	"	jmp idle\n"
	"	.cfi_endproc\n"
	"	.size idle, . - idle\n");

static void handler(int sig)
{
	(void)sig;
	_exit(getppid() < 0);
}

void never(void)
{
	struct itimerval soon = {.it_value = {.tv_usec = 10000}};

	setitimer(ITIMER_VIRTUAL, &soon, NULL); /* comes while user code runs: in idle() */
	idle();
	abort();
}

int main(void)
{
	signal(SIGVTALRM, handler);
	before();
	return 1;
}
