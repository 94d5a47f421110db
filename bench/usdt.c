/* SPDX-License-Identifier: MIT */
/*
 * A program with a probe of its own, for bench/usdt.py.
 *
 *     usdt hits N    waits for a line, fires the probe N times, prints nanoseconds a hit; again
 *     usdt work N    a loop of real work without a probe, with the probe, with its _ENABLED()
 *                    test, with both, and without a probe once more: the shortest nanoseconds
 *                    a turn of each
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench_usdt.h"

#define TIMES 41 /* measurements of each loop, in turn */

static const char *const lines[] = {"GET /index.html HTTP/1.1", "PUT /orders/4711 HTTP/1.1",
				    "GET /images/logo-small.png HTTP/1.1", "POST /login HTTP/1.0"};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* The work: a request line is copied word by word, and hashed, as a server's parser would do. */
static inline __attribute__((always_inline)) uint64_t parse_line(const char *line, char *word)
{
	uint64_t hash = 14695981039346656037u;
	size_t n = 0;

	for (; *line; line++) {
		hash = (hash ^ (unsigned char)*line) * 1099511628211u;
		word[n++] = *line;
		if (*line == ' ')
			n = 0;
	}
	word[n] = '\0';
	return hash;
}

/* The loops differ only in what stands before the work. */
#define WORK(name, before)                                                                         \
	static __attribute__((noinline, aligned(64))) uint64_t name(long n)                        \
	{                                                                                          \
		char word[64];                                                                     \
		uint64_t sum = 0;                                                                  \
                                                                                                   \
		for (int i = 0; i < n; i++) {                                                      \
			const char *line = lines[i & 3];                                           \
                                                                                                   \
			before;                                                                    \
			sum += parse_line(line, word) + (unsigned char)word[0];                    \
		}                                                                                  \
		return sum;                                                                        \
	}

WORK(work_plain, (void)line)
WORK(work_site, BENCH_HIT(i, line))
WORK(work_test, if (BENCH_HIT_ENABLED()) sum += strlen(line))
WORK(work_both, if (BENCH_HIT_ENABLED()) BENCH_HIT(i, line))
WORK(work_again, (void)line)

static __attribute__((noinline)) int measure_work(long n)
{
	static uint64_t (*const loops[])(long) = {work_plain, work_site, work_test, work_both,
						  work_again};
	uint64_t best[5] = {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX}, sums[5];

	for (int t = 0; t < TIMES; t++)
		for (int i = 0; i < 5; i++) {
			uint64_t start = now_ns(), took;

			sums[i] = loops[i](n);
			took = now_ns() - start;
			if (took < best[i])
				best[i] = took;
		}
	for (int i = 0; i < 5; i++) {
		if (sums[i] != sums[0])
			return 1;
		printf("%.3f%c", (double)best[i] / (double)n, i < 4 ? ' ' : '\n');
	}
	return 0;
}

static __attribute__((noinline)) void measure_hits(int n)
{
	char line[16];

	while (fgets(line, sizeof(line), stdin)) {
		uint64_t start = now_ns();

		for (int i = 0; i < n; i++)
			BENCH_HIT(i & 7, lines[0]);
		printf("%.1f\n", (double)(now_ns() - start) / (double)n);
		(void)fflush(stdout);
	}
}

int main(int argc, char **argv)
{
	long n = argc > 2 ? strtol(argv[2], NULL, 10) : 0;

	if (n < 1 || n > INT32_MAX)
		return 2;
	if (strcmp(argv[1], "work") == 0)
		return measure_work(n);
	measure_hits((int)n);
	return 0;
}
