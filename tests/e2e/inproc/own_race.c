/* SPDX-License-Identifier: MIT */
/*
 * The traced process of own_race.py: threads that fire probes of their own, check what the code
 * around them computes, and are interrupted by a handler that fires the same ones. A line of input
 * ends it; then it says how often each probe was reached, and how many results were wrong.
 */
#define _SDT_HAS_SEMAPHORES 1
#include <dtrace/sdt.h>

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define OWN	 __attribute__((noinline, noclone, noipa))
#define NTHREADS 3

DTRACE_PROBE_SEMAPHORE(race, plain);
DTRACE_PROBE_SEMAPHORE(race, red);
DTRACE_PROBE_SEMAPHORE(race, asked);

static atomic_bool is_over;
static atomic_long nwrong, nhandled;

/* Registers, flags and words below the stack pointer are in use at the probe. */
OWN static long leaf(long a, long b)
{
	volatile long words[4] = {a, b, a + b, a - b};
	long carry = 0;

	DTRACE_PROBE3(race, red, a, b, words[2]);
	__asm__("cmp %2, %1\n"
		"990: nop\n.pushsection .note.stapsdt,\"?\",\"note\"\n.balign 4\n"
		".4byte 992f-991f, 994f-993f, 3\n991: .asciz \"stapsdt\"\n992: .balign 4\n"
		"993: .8byte 990b, _.stapsdt.base, 0\n.asciz \"race\"\n.asciz \"flags\"\n"
		".asciz \"8@%1\"\n994: .balign 4\n.popsection\n"
		"adc $0, %0"
		: "+r"(carry)
		: "r"(a), "r"(b)
		: "cc");
	return words[0] + words[1] + words[2] + words[3] + carry;
}

OWN static long calls(long a)
{
	long sum = leaf(a, 7);

	DTRACE_PROBE1(race, plain, sum);
	if (DTRACE_PROBE_ENABLED(race, asked))
		DTRACE_PROBE1(race, asked, a);
	return sum;
}

static long expected(long a)
{
	return a + 7 + a + 7 + a - 7 + ((unsigned long)a < 7);
}

static void handle(int sig)
{
	(void)sig;
	nhandled++;
	nwrong += calls(3) != expected(3);
}

static void *work(void *arg)
{
	for (long i = (long)arg; !is_over; i++)
		nwrong += calls(i & 15) != expected(i & 15);
	return NULL;
}

int main(void)
{
	const struct itimerval every = {{0, 700}, {0, 700}};
	struct sigaction sa = {.sa_handler = handle, .sa_flags = SA_RESTART};
	pthread_t threads[NTHREADS];
	int status = 0;

	sigaction(SIGPROF, &sa, NULL);
	printf("0\n");
	(void)fflush(stdout);
	for (long i = 0; i < NTHREADS; i++)
		pthread_create(&threads[i], NULL, work, (void *)i);
	setitimer(ITIMER_PROF, &every, NULL);
	for (char c; read(0, &c, 1) == 1;) {
		pid_t pid = fork();

		if (!pid)
			_exit(calls(5) != expected(5));
		waitpid(pid, &status, 0);
		nwrong += status != 0;
	}
	is_over = true;
	for (int i = 0; i < NTHREADS; i++)
		pthread_join(threads[i], NULL);
	/* the kernel lowers counters some time after a tracer has ended */
	for (int i = 0;
	     i < 1000 && (race_plain_semaphore || race_red_semaphore || race_asked_semaphore); i++)
		usleep(10000);
	printf("%ld wrong, %d handled, counters %d %d %d\n", nwrong, nhandled > 0,
	       race_plain_semaphore, race_red_semaphore, race_asked_semaphore);
	return nwrong != 0;
}
