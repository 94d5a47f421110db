/* SPDX-License-Identifier: MIT */
/*
 * A program that makes its probes at run time, for bench/made.py.
 *
 *     made calls N         ns of an empty function call, of usdt_is_enabled(), and of
 *                          usdt_fire_probe() while nobody traces the probe
 *     made hits N          ns of the program's CPU time for a probe with two arguments, traced
 *     made records N RATE  N records of 1 kB, RATE a second; prints the rate and the largest delay
 *
 * The last two print READY, and wait until the probe is traced.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <usdt.h>

#define RECORD 1024

static uint64_t ns_of(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

__attribute__((noinline)) static void empty(usdt_probe_t *probe, size_t argc, void **argv)
{
	__asm__ volatile("" : : "r"(probe), "r"(argc), "r"(argv));
}

static void calls(usdt_probe_t *probe, long n)
{
	void *args[2] = {NULL, NULL};
	double best[3] = {1e9, 1e9, 1e9};
	long seen = 0;

	for (int turn = 0; turn < 21; turn++)
		for (int what = 0; what < 3; what++) {
			uint64_t begin = ns_of(CLOCK_MONOTONIC);
			double ns;

			for (long i = 0; i < n; i++) {
				if (what == 0)
					empty(probe, 2, args);
				else if (what == 1)
					seen += usdt_is_enabled(probe);
				else
					usdt_fire_probe(probe, 2, args);
			}
			ns = (double)(ns_of(CLOCK_MONOTONIC) - begin) / (double)n;
			best[what] = ns < best[what] ? ns : best[what];
		}
	printf("%f %f %f\n", best[0], best[1], best[2]);
	if (seen)
		puts("the probe is traced");
}

static void tracer_await(usdt_probe_t *probe)
{
	puts("READY");
	fflush(stdout);
	while (!usdt_is_enabled(probe))
		usleep(1000);
	usleep(300000);
}

static void hits(usdt_probe_t *probe, char *text, long n)
{
	uint64_t begin;

	tracer_await(probe);
	begin = ns_of(CLOCK_PROCESS_CPUTIME_ID);
	for (long i = 0; i < n; i++)
		usdt_fire_probe(probe, 2, (void *[]){text, (void *)i});
	printf("%f\n", (double)(ns_of(CLOCK_PROCESS_CPUTIME_ID) - begin) / (double)n);
}

static void records(usdt_probe_t *probe, char *text, long n, long rate)
{
	uint64_t begin, worst = 0, now;

	tracer_await(probe);
	begin = ns_of(CLOCK_MONOTONIC);
	for (long i = 0; i < n; i++) {
		uint64_t due = begin + (uint64_t)(i + 1) * 1000000000u / (uint64_t)rate;
		struct timespec pause = {.tv_nsec = 50000};

		usdt_fire_probe(probe, 2, (void *[]){text, (void *)i});
		now = ns_of(CLOCK_MONOTONIC);
		worst = now > due && now - due > worst ? now - due : worst;
		for (; now + 50000 < due; now = ns_of(CLOCK_MONOTONIC))
			nanosleep(&pause, NULL);
	}
	now = ns_of(CLOCK_MONOTONIC);
	printf("%f %f\n", (double)n * 1e9 / (double)(now - begin), (double)worst / 1e6);
}

int main(int argc, char **argv)
{
	const char *types[] = {"char *", "int"};
	usdt_provider_t *pv = usdt_create_provider("bunyan", "bench");
	usdt_probedef_t *def = usdt_create_probe("log-info", "log-info", 2, types);
	static char text[RECORD + 1];
	long n = argc > 2 ? atol(argv[2]) : 0;

	if (usdt_provider_add_probe(pv, def) || usdt_provider_enable(pv)) {
		fprintf(stderr, "%s\n", usdt_errstr(pv));
		return 1;
	}
	memset(text, 'x', RECORD - 1);
	text[RECORD - 1] = '\n';
	if (n > 0 && strcmp(argv[1], "calls") == 0)
		calls(def->probe, n);
	else if (n > 0 && strcmp(argv[1], "hits") == 0)
		hits(def->probe, text, n);
	else if (n > 0 && argc > 3 && strcmp(argv[1], "records") == 0)
		records(def->probe, text, n, atol(argv[3]));
	else
		return 2;
	return 0;
}
