/* SPDX-License-Identifier: MIT */
/*
 * Bucket numbers of histograms. They are those of the kernel's engine (rt/num.c, bpf/gen_agg.c);
 * those of llquantize() are explained in record/llquantize.c.
 */
#include "native/rt/rt.h"

#define QUANTIZE_ZERO 63

/* floor(log2(v)) for v > 0 */
static inline u64 log2_of(u64 v)
{
	return 63 - (u64)__builtin_clzll(v);
}

FUNC u64 blob_quantize(s64 x)
{
	u64 k;

	if (x == 0)
		return QUANTIZE_ZERO;
	if (x > 0)
		return QUANTIZE_ZERO + 1 + log2_of((u64)x);
	k = log2_of(-(u64)x);
	return k >= QUANTIZE_ZERO ? 0 : QUANTIZE_ZERO - 1 - k;
}

FUNC u64 blob_lquantize(s64 x, s64 base, u64 levels, u64 step)
{
	u64 level;

	if (x < base || !step)
		return 0;
	level = ((u64)x - (u64)base) / step;
	return (level < levels ? level : levels) + 1;
}

FUNC u64 blob_llquantize(s64 x, u64 factor, u64 low, u64 high, u64 steps)
{
	u64 mag = x < 0 ? -(u64)x : (u64)x, lo = 1, off = 1;

	if (factor < 2 || high > 63)
		return 0;
	for (u64 o = 0; o < low; o++)
		lo *= factor;
	if (mag < lo)
		return 0;
	for (u64 o = low; o <= high; o++) {
		u64 hi = lo * factor, width = hi <= steps ? 1 : hi / steps;

		if (mag < hi) {
			off += mag / width - lo / width;
			break;
		}
		off += hi <= steps ? hi - lo : steps - steps / factor;
		lo = hi;
	}
	return x < 0 ? 2 * off - 1 : 2 * off;
}
