/* SPDX-License-Identifier: MIT */
/*
 * Functions as compilers make them, for probes that jump: waits for a line, then calls one of them
 * N times, by its name, and prints nanoseconds of CPU time a call. The first instruction of work()
 * is a push, which the kernel emulates at a uprobe, that of moves() a mov, which it does not, and
 * probed() has a probe of its own. clock: the time stamp counter is read instead.
 *
 *     inproc N [own | moves | clock]
 *     inproc N two            N times in each of two threads, on different CPUs if there are
 *     inproc N threads        N threads sleep; it ends with its input
 */
#define _GNU_SOURCE
#include <dtrace/sdt.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define STACK_SIZE 65536

static volatile long sink;

__attribute__((noinline, noclone)) long work(long a, long b, long c)
{
	long list[4];

	__asm__ volatile("" : : "r"(list) : "memory", "rbx", "r12");
	return a + b * c;
}

__attribute__((noinline, noclone)) long probed(long a, long b, long c)
{
	long list[4];

	__asm__ volatile("" : : "r"(list) : "memory", "rbx", "r12");
	DTRACE_PROBE2(bench, probed, a, (int)c);
	return a + b * c;
}

long moves(long a);
__asm__(".text\n"
	".type moves, @function\n"
	"moves:\n"
	"	mov %rdi, %rax\n"
	"	add $1, %rax\n"
	"	xor $3, %rax\n"
	"	ret\n"
	".size moves, . - moves\n");

static uint64_t now_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void *sleep_for_ever(void *arg)
{
	for (;;)
		(void)pause();
	return arg;
}

/* Makes n threads that sleep, and prints how many there are. */
static int threads_make(long n)
{
	pthread_attr_t attr;
	pthread_t t;

	(void)pthread_attr_init(&attr);
	(void)pthread_attr_setstacksize(&attr, STACK_SIZE);
	for (long i = 0; i < n; i++)
		if (pthread_create(&t, &attr, sleep_for_ever, NULL))
			return 1;
	printf("%ld\n", n);
	(void)fflush(stdout);
	while (getchar() >= 0)
		;
	return 0;
}

struct caller {
	long n;
	int cpu; /* where it runs; below 0: anywhere */
	pthread_t thread;
	uint64_t ns; /* of its CPU time */
};

static void *work_call(void *arg)
{
	struct caller *c = arg;
	volatile long sum = 0;
	uint64_t start;
	cpu_set_t set;

	CPU_ZERO(&set);
	if (c->cpu >= 0) {
		CPU_SET((size_t)c->cpu, &set);
		(void)pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
	}
	start = now_ns(CLOCK_THREAD_CPUTIME_ID);
	for (long i = 0; i < c->n; i++)
		sum += work(i & 15, 2, 3);
	c->ns = now_ns(CLOCK_THREAD_CPUTIME_ID) - start;
	return NULL;
}

/* The first CPU behind this one that the process may use; below 0: there is none. */
static int cpu_next(int cpu)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set))
		return -1;
	while (++cpu < CPU_SETSIZE)
		if (CPU_ISSET((size_t)cpu, &set))
			return cpu;
	return -1;
}

/* Calls work() n times in each of two threads: nanoseconds a call; below 0: there is no thread. */
static double two_call(long n)
{
	struct caller c[2] = {{.n = n, .cpu = cpu_next(-1)}};

	c[1] = (struct caller){.n = n, .cpu = cpu_next(c[0].cpu)};
	for (int i = 0; i < 2; i++)
		if (pthread_create(&c[i].thread, NULL, work_call, &c[i]))
			return -1;
	for (int i = 0; i < 2; i++)
		(void)pthread_join(c[i].thread, NULL);
	return (double)(c[0].ns + c[1].ns) / (2 * (double)n);
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
	const char *what = argc > 2 ? argv[2] : "";
	bool is_moves = strcmp(what, "moves") == 0, is_own = strcmp(what, "own") == 0;
	bool is_clock = strcmp(what, "clock") == 0;
	char line[16];

	if (strcmp(what, "threads") == 0)
		return threads_make(n);
	while (strcmp(what, "two") == 0 && n > 0 && fgets(line, sizeof(line), stdin)) {
		printf("%.2f\n", two_call(n));
		(void)fflush(stdout);
	}
	while (n > 0 && fgets(line, sizeof(line), stdin)) {
		uint64_t start = now_ns(CLOCK_THREAD_CPUTIME_ID);

		for (long i = 0; i < n; i++)
			sink += is_clock   ? (long)__builtin_ia32_rdtsc()
				: is_moves ? moves(i)
				: is_own   ? probed(i & 15, 2, 3)
					   : work(i & 15, 2, 3);
		printf("%.2f\n", (double)(now_ns(CLOCK_THREAD_CPUTIME_ID) - start) / (double)n);
		(void)fflush(stdout);
	}
	return 0;
}
