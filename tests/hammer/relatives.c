/* SPDX-License-Identifier: MIT */
/*
 * A program that makes one process after the other that has its memory (CLONE_VM), and runs beside
 * them. Code that is written while one of them lives is written while it may execute it: each
 * compares the code of a function when it begins and when it ends.
 *
 * Prints "ready" when it runs. At SIGTERM: "ok" with the number of processes, or what was wrong.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CODE_BYTES 16 /* of a function that has no more than one window */
#define LIFE_US	   2000
#define STACK_SIZE 65536

static volatile sig_atomic_t stopped;
static volatile unsigned int nlives, nchanged;
static char stack[STACK_SIZE] __attribute__((aligned(16)));

__attribute__((noinline)) int step(int n);
__attribute__((noinline)) int step(int n)
{
	__asm__ volatile("" ::: "memory", "rbx", "r12");
	return n + 1;
}

static int relative_run(void *arg)
{
	char first[CODE_BYTES], last[CODE_BYTES];

	(void)arg;
	memcpy(first, (const void *)(uintptr_t)step, sizeof(first));
	(void)usleep(LIFE_US);
	memcpy(last, (const void *)(uintptr_t)step, sizeof(last));
	nlives++;
	nchanged += memcmp(first, last, sizeof(first)) != 0;
	return 0;
}

static void stop_note(int sig)
{
	(void)sig;
	stopped = 1;
}

int main(void)
{
	(void)signal(SIGTERM, stop_note);
	(void)puts("ready");
	(void)fflush(stdout);
	for (int n = 0; !stopped; n = step(n)) {
		pid_t pid = clone(relative_run, stack + STACK_SIZE, CLONE_VM | SIGCHLD, NULL);

		if (pid < 0) {
			perror("clone");
			return 1;
		}
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
		(void)usleep(LIFE_US);
	}
	if (nchanged) {
		(void)printf("code was written in the lives of %u of %u processes\n", nchanged,
			     nlives);
		return 1;
	}
	(void)printf("ok: %u\n", nlives);
	return 0;
}
