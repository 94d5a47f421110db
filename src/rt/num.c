/* SPDX-License-Identifier: MIT */
/*
 * Run-time library: signed division, bucket numbers of histograms, samples.
 */
#include "base/exponential.h"
#include "rt/rt.h"

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

/* Returns floor(log2(v)) for v > 0. */
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

/*
 * Returns the bucket of a value (d-language.md 5.5): bucket 63 is for zero, 64 + k for 2^k, and 62
 * - k for -2^k, with k at most 62.
 */
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

struct llq_work {
	u64 factor, low, high, steps;
	u64 order, lo, mag;
	u64 off; /* bucket of |v| without its sign; 0: |v| is below the lowest order */
};

/*
 * Counts the buckets of one order of magnitude, and ends the loop at the order in which mag lies.
 */
static long llq_step(u64 it, void *ctx)
{
	struct llq_work *w = WORK(((struct loop *)ctx)->p, struct llq_work);
	u64 lo = w->lo, hi = lo * w->factor, steps = w->steps, mag = w->mag, width;

	if (w->order >= w->low) {
		if (mag < lo || w->order > w->high)
			return 1;
		if (w->off == 0)
			w->off = 1;
		if (mag < hi) {
			width = hi <= steps ? 1 : hi / steps;
			w->off += mag / width - lo / width;
			return 1;
		}
		w->off += hi <= steps ? hi - lo : steps - steps / w->factor;
	}
	w->lo = hi;
	w->order++;
	return 0;
}

#define MAX_ORDERS 64

/* The arithmetic is that of llquantize_bucket() in record/llquantize.c, where it is explained. */
u64 rt_llquantize(struct rt_mach *m, u64 v)
{
	struct llq_work *w;
	char *p;

	if (!m)
		return 0;
	p = slot_of(m);
	if (!p)
		return 0;
	w = WORK(p, struct llq_work);
	w->factor = m->tmp[0];
	w->low = m->tmp[1];
	w->high = m->tmp[2];
	w->steps = m->tmp[3];
	w->mag = (s64)v < 0 ? -v : v;
	w->lo = 1;
	w->order = w->off = 0;
	loop_run(MAX_ORDERS, llq_step, p);
	if (w->off == 0)
		return 0;
	return (s64)v < 0 ? 2 * w->off - 1 : 2 * w->off;
}

u64 rt_sample(struct rt_mach *m, u64 bytes, u64 mean)
{
	if (!m)
		return 0;
	return exponential_draw(bpf_get_prandom_u32(), mean) <= bytes;
}
