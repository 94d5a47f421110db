/*
 * Run-time library: signed division, bucket numbers of histograms.
 */
#include "bpf/rt/rt.h"

u64 rt_sdiv(struct rt_mach *m, u64 a, u64 b)
{
	u64 ua = (s64)a < 0 ? -a : a, ub = (s64)b < 0 ? -b : b;
	u64 q;

	if (!m)
		return 0;
	q = ua / ub;
	return (s64)(a ^ b) < 0 ? -q : q;
}

u64 rt_srem(struct rt_mach *m, u64 a, u64 b)
{
	u64 ua = (s64)a < 0 ? -a : a, ub = (s64)b < 0 ? -b : b;
	u64 r;

	if (!m)
		return 0;
	r = ua % ub;
	return (s64)a < 0 ? -r : r;
}

/* floor(log2(v)), v > 0 */
INLINE u64 log2(u64 v)
{
	u64 n = 0;

	if (v >> 32) {
		n += 32;
		v >>= 32;
	}
	if (v >> 16) {
		n += 16;
		v >>= 16;
	}
	if (v >> 8) {
		n += 8;
		v >>= 8;
	}
	if (v >> 4) {
		n += 4;
		v >>= 4;
	}
	if (v >> 2) {
		n += 2;
		v >>= 2;
	}
	return n + (v >> 1);
}

/* d-language.md 5.5: bucket 63 is zero, 64 + k is 2^k, 62 - k is -2^k, k at most 62. */
u64 rt_quantize(struct rt_mach *m, u64 v)
{
	u64 k;

	if (!m || v == 0)
		return 63;
	if ((s64)v > 0)
		return 64 + log2(v);
	k = log2(-v);
	return k > 62 ? 0 : 62 - k;
}

#define MAX_ORDER 62

/* The arithmetic of llquantize_bucket() in bpf/llquantize.c, where it is explained. */
u64 rt_llquantize(struct rt_mach *m, u64 v)
{
	u64 factor, low, high, steps, mag, lo = 1, off = 1;

	if (!m)
		return 0;
	factor = m->tmp[0];
	low = m->tmp[1];
	high = m->tmp[2];
	steps = m->tmp[3];
	mag = (s64)v < 0 ? -v : v;
#pragma clang loop unroll(disable)
	for (u32 o = 0; o <= MAX_ORDER; o++) {
		u64 hi = lo * factor;

		if (o == low && mag < lo)
			return 0;
		if (o > high)
			break;
		if (o >= low) {
			if (mag < hi) {
				off += (mag - lo) / (hi <= steps ? 1 : (hi + steps - 1) / steps);
				break;
			}
			off += hi <= steps ? hi - lo : steps - steps / factor;
		}
		lo = hi;
	}
	return (s64)v < 0 ? 2 * off - 1 : 2 * off;
}
