/* SPDX-License-Identifier: MIT */
/*
 * Programs of busy.py: "busy" computes for ever; "forks N" forks N children, of which at most 100 live at once, each of
 * which calls child_f() and ends, and prints how many milliseconds that took.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LIVE_MAX 100

__attribute__((noinline)) void child_f(void)
{
	__asm__ volatile("");
}

static double now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1e3 + ts.tv_nsec / 1e6;
}

static int forks(int n)
{
	double begin = now_ms();
	int nlive = 0;

	printf("forking\n");
	fflush(stdout);
	for (int i = 0; i < n; i++) {
		pid_t pid;

		if (nlive == LIVE_MAX && wait(NULL) > 0)
			nlive--;
		pid = fork();
		if (pid < 0)
			return 1;
		if (pid == 0) {
			child_f();
			_exit(0);
		}
		nlive++;
	}
	while (wait(NULL) > 0)
		;
	printf("forks %.1f\n", now_ms() - begin);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 2 && strcmp(argv[1], "forks") == 0)
		return forks(atoi(argv[2]));
	(void)prctl(PR_SET_PDEATHSIG, 9); /* the load ends with the script */
	for (volatile unsigned long n = 0;; n++)
		;
}
