/* SPDX-License-Identifier: MIT */
/*
 * Distances of a Poisson sample: exponentially distributed numbers, in integers, for code in
 * the kernel and in traced processes, which have no floating point.
 *
 * A sample of the bytes that pass takes each byte with the same small probability. The distance
 * from one to the next one is -ln(u) times their mean distance, where u is uniform in (0, 1].
 * It forgets: what was passed without being taken says nothing about the distance that is left,
 * so that a new one may be drawn at any time.
 *
 * Units    bytes; logarithms have 16 binary digits behind the point.
 * Errors   none. Distances above a thousandth of the mean are exact to 1.5 %, their mean is exact.
 * Threads  pure functions.
 */
#pragma once

#include "base/ints.h"

#define EXPONENTIAL_MEAN_MAX (1ull << 40)

/* floor(log2(v)) for v from 1 to 2^33 - 1, without instructions that BPF does not have. */
static inline u64 exponential_log2(u64 v)
{
	u64 n = 0;

	for (u64 step = 32; step; step >>= 1)
		if (v >> step >> n)
			n += step;
	return n;
}

/*
 * A distance of at least 1, made of 32 random bits; a mean above EXPONENTIAL_MEAN_MAX counts as
 * that. Between powers of 2 the logarithm is f + f * (1 - f) * (c + d * (1 - 2 * f)). With this c
 * its mean is that of the logarithm, and with this d its slope at f = 1 is, which decides how often
 * distances are much smaller than the mean:
 *
 *     c = 6 * (3/2 - 1/ln 2), d = c - (1 - 1/(2 * ln 2))
 */
#define EXPONENTIAL_C 22532ull /* 16 binary digits behind the point */
#define EXPONENTIAL_D 4272ull

static inline u64 exponential_draw(u32 random, u64 mean)
{
	u64 v = (u64)random + 1, n = exponential_log2(v);
	u64 f = (v << 16 >> n) - 65536;
	/* c - d + 2 * d * (1 - f) is never negative on its way */
	u64 slope = EXPONENTIAL_C - EXPONENTIAL_D + (2 * EXPONENTIAL_D * (65536 - f) >> 16);
	u64 log = (n << 16) + f + ((f * (65536 - f) >> 16) * slope >> 16);
	u64 distance;

	if (mean > EXPONENTIAL_MEAN_MAX)
		mean = EXPONENTIAL_MEAN_MAX;
	distance = (((32ull << 16) - log) * 45426 >> 16) * mean >> 16; /* times ln 2 */
	return distance ? distance : 1;
}
