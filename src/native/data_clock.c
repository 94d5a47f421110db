/* SPDX-License-Identifier: MIT */
/*
 * The clock in the process: CLOCK_MONOTONIC as a linear function of the time stamp counter.
 *
 * A correction never sets the clock back: the new line begins where the old one is now, and is
 * steeper or flatter, so that it meets the true time a second later. Else a time that was taken
 * right after a correction might be before one that was taken right before it. Only a clock that is
 * far behind, after the machine was suspended, is set forward at once.
 *
 * The rate is measured between two samples that are up to 16 s apart, because the kernel changes it
 * when it is told the time of day.
 */
#include "native/data_impl.h"

#include <time.h>

#define SAMPLES	  8
#define FIRST_NS  10000000u /* how long the rate is measured at first */
#define BASE_NS	  8000000000ull
#define MEET_NS	  1000000000ll
#define SLEW_MAX  500000ll /* ns in a second */
#define BEHIND_NS 100000ll
/* A clock begins so long ago, because the counters of other CPUs may be a little behind. */
#define PAST_NS	    1000000000ull
#define SOURCE_PATH "/sys/devices/system/clocksource/clocksource0/current_clocksource"

static uint64_t tsc_read(void)
{
	return __builtin_ia32_rdtsc();
}

/* Reads both clocks at one moment: that of the attempt that took the shortest time. */
static struct clock_sample sample_take(void)
{
	struct clock_sample best = {0};
	uint64_t shortest = UINT64_MAX;

	for (int i = 0; i < SAMPLES; i++) {
		uint64_t before = tsc_read(), ns = now_ns(), took = tsc_read() - before;

		if (took < shortest) {
			shortest = took;
			best = (struct clock_sample){before + took / 2, ns};
		}
	}
	return best;
}

/* ns per tick, times 2^32 */
static uint64_t rate_between(struct clock_sample a, struct clock_sample b)
{
	uint64_t ticks = b.tsc - a.tsc;

	return ticks ? (uint64_t)(((unsigned __int128)(b.ns - a.ns) << 32) / ticks) : 0;
}

static uint64_t ticks_to_ns(uint64_t ticks, uint64_t mult)
{
	return (uint64_t)((unsigned __int128)ticks * mult >> 32);
}

/* The line through a point. */
static struct blob_clock clock_through(uint64_t tsc, uint64_t ns, uint64_t mult)
{
	uint64_t past = mult ? (uint64_t)(((unsigned __int128)PAST_NS << 32) / mult) : 0;

	past = MIN(past, tsc);
	return (struct blob_clock){.tsc = tsc - past,
				   .ns = ns - ticks_to_ns(past, mult),
				   .mult = mult};
}

void clock_init(struct ndata *d)
{
	d->anchor = d->middle = sample_take();
}

void clock_copy(struct ndata *to, const struct ndata *from, struct blob_data *head)
{
	to->clock = from->clock;
	to->clock_number = from->clock_number;
	to->anchor = from->anchor;
	to->middle = from->middle;
	head->clocks[to->clock_number % BLOB_CLOCKS] = to->clock;
	head->clock = to->clock_number;
}

struct err *clock_start(struct ndata *d)
{
	uint64_t passed = now_ns() - d->anchor.ns;
	struct timespec rest = {0};

	if (passed < FIRST_NS)
		rest.tv_nsec = (long)(FIRST_NS - passed);
	(void)nanosleep(&rest, NULL); /* if it is shorter, the rate is less exact */
	return ndata_clock_correct(d);
}

/* The rate of the next second. */
static uint64_t rate_slewed(uint64_t mult, int64_t ahead)
{
	int64_t slew = MAX(MIN(-ahead, SLEW_MAX), -SLEW_MAX);

	return mult + (uint64_t)((__int128)mult * slew / MEET_NS);
}

struct err *ndata_clock_correct(struct ndata *d)
{
	struct clock_sample now = sample_take();
	uint64_t shown = d->clock.ns + ticks_to_ns(now.tsc - d->clock.tsc, d->clock.mult);
	int64_t ahead = (int64_t)(shown - now.ns);
	uint64_t mult = rate_between(d->anchor, now);
	struct blob_clock clock;
	uint8_t number = (uint8_t)(d->clock_number + 1);
	struct err *e;

	if (d->hooks.has_no_clock)
		return NULL;
	if (ahead < -BEHIND_NS)
		clock = clock_through(now.tsc, now.ns, mult);
	else
		clock = clock_through(now.tsc, shown, rate_slewed(mult, ahead));
	e = ndata_write(d,
			offsetof(struct blob_data, clocks) + number % BLOB_CLOCKS * sizeof(clock),
			&clock, sizeof(clock));
	if (!e)
		e = ndata_write_byte(d, offsetof(struct blob_data, clock), number);
	if (e)
		return e;
	d->clock = clock;
	d->clock_number = number;
	if (now.ns - d->middle.ns > BASE_NS) {
		d->anchor = d->middle;
		d->middle = now;
	}
	return NULL;
}

/* ---- whether it can be ----------------------------------------------------------------------- */

/* Reads the first line of a file that begins with a word; false: there is none. */
static bool line_find(const char *path, const char *word, char *line, size_t size)
{
	CLEANUP(file) FILE *f = fopen(path, "re");

	while (f && fgets(line, (int)size, f))
		if (strncmp(line, word, strlen(word)) == 0)
			return true;
	return false;
}

static bool words_have(const char *line, const char *word)
{
	size_t len = strlen(word);

	for (const char *p = line; (p = strstr(p, word)); p += len)
		if (p > line && p[-1] == ' ' && (p[len] == ' ' || p[len] == '\n' || !p[len]))
			return true;
	return false;
}

/* These sources are the time stamp counter, scaled as the machine or its host says. */
static const char *const sources[] = {"tsc\n", "kvm-clock\n", "hyperv_clocksource_tsc_page\n"};

bool ndata_clock_usable(const char **ret_why)
{
	char line[8192];
	bool is_tsc = false;

	*ret_why = "it notes the time, and the kernel's clock is not the time stamp counter";
	if (!line_find(SOURCE_PATH, "", line, sizeof(line)))
		return false;
	for (uint32_t i = 0; i < ARRAY_LEN(sources); i++)
		is_tsc |= strcmp(line, sources[i]) == 0;
	if (!is_tsc)
		return false;
	*ret_why = "it notes the time, and the time stamp counter does not run evenly";
	return line_find("/proc/cpuinfo", "flags", line, sizeof(line)) &&
	       words_have(line, "constant_tsc") && words_have(line, "nonstop_tsc");
}
