/* SPDX-License-Identifier: MIT */
/*
 * Many processes with 51 probes of their own, for bench/usdt_scale.py.
 *
 *     usdt_scale stay N    starts N processes that wait, prints a line; all end with its input
 *     usdt_scale start N RATE FILE...
 *                          starts N processes, RATE a second, of these files in turn; prints for
 *                          each of them its number, and three times in microseconds: from the call
 *                          to its main(), on a CPU until then, waiting for a CPU until then
 *     usdt_scale born NUMBER
 *                          one of these: fires the probe with its number, and writes its times to
 *                          descriptor 3
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench_scale.h"

extern char **environ;

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

struct birth {
	uint64_t number, at, on_cpu, waiting;
};

static uint64_t on_cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts); /* more exact than schedstat */
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* The second number of /proc/PID/schedstat: nanoseconds of waiting for a CPU. */
static uint64_t waiting_ns(void)
{
	unsigned long long on_cpu, waiting = 0;
	char text[128] = "";
	int fd = open("/proc/self/schedstat", O_RDONLY);

	if (fd >= 0 && read(fd, text, sizeof(text) - 1) > 0)
		sscanf(text, "%llu %llu", &on_cpu, &waiting);
	close(fd);
	return waiting;
}

/* The times belong together only if the process was not interrupted between them. */
static int born(const char *number)
{
	struct birth b = {strtoull(number, NULL, 10), now_ns(), on_cpu_ns(), waiting_ns()};
	uint64_t again = waiting_ns();

	while (again != b.waiting) {
		b.at = now_ns();
		b.waiting = again;
		again = waiting_ns();
	}
	BENCH_SCALE_BORN(b.number);
	return write(3, &b, sizeof(b)) != sizeof(b);
}

static int start(long n, long rate, char **files, int nfiles)
{
	uint64_t *at = calloc((size_t)n, sizeof(*at)), begin = now_ns();
	posix_spawn_file_actions_t fa;
	struct birth b;
	int out[2];

	if (!at || pipe(out) || fcntl(out[1], F_SETPIPE_SZ, 1 << 20) < 0)
		return 1;
	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_adddup2(&fa, out[1], 3);
	for (long i = 0; i < n; i++) {
		uint64_t due = begin + (uint64_t)i * 1000000000u / (uint64_t)rate;
		char number[32];
		char *argv[] = {files[i % nfiles], "born", number, NULL};
		pid_t pid;

		snprintf(number, sizeof(number), "%ld", i);
		while (now_ns() < due)
			usleep(50);
		at[i] = now_ns();
		if (posix_spawn(&pid, argv[0], &fa, NULL, argv, environ))
			return 1;
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
	}
	while (waitpid(-1, NULL, 0) > 0)
		;
	close(out[1]);
	while (read(out[0], &b, sizeof(b)) == sizeof(b))
		printf("%lu %.1f %.1f %.1f\n", b.number, (double)(b.at - at[b.number]) / 1000,
		       (double)b.on_cpu / 1000, (double)b.waiting / 1000);
	return 0;
}

/* Not called: the probes have to stand somewhere. */
#define FIVE(n)                                                                                    \
	(BENCH_SCALE_P##n##0(1), BENCH_SCALE_P##n##1(2), BENCH_SCALE_P##n##2(3),                   \
	 BENCH_SCALE_P##n##3(4), BENCH_SCALE_P##n##4(5))

static void probes_fire(void)
{
	FIVE(0), FIVE(1), FIVE(2), FIVE(3), FIVE(4);
	FIVE(5), FIVE(6), FIVE(7), FIVE(8), FIVE(9);
}

static int stay(long n)
{
	char c;

	for (long i = 0; i < n; i++)
		if (!fork()) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			pause();
			probes_fire();
			_exit(0);
		}
	puts("up");
	fflush(stdout);
	return read(0, &c, 1) < 0; /* the others die with it */
}

int main(int argc, char **argv)
{
	if (argc > 2 && !strcmp(argv[1], "born"))
		return born(argv[2]);
	if (argc > 2 && !strcmp(argv[1], "stay"))
		return stay(atol(argv[2]));
	if (argc > 4 && !strcmp(argv[1], "start"))
		return start(atol(argv[2]), atol(argv[3]), argv + 4, argc - 4);
	return 2;
}
