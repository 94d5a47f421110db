/* SPDX-License-Identifier: MIT */
/*
 * Bucket numbers of llquantize().
 *
 * rt_llquantize in rt/, in the kernel, and the consumer (agg/) must agree on them to the last
 * value, so the arithmetic is defined here once and rt/ mirrors it.
 *
 * Parameters are those of d-language.md 5.5 [C]: factor, low, high, steps. The order o is the
 * interval [factor^o, factor^(o+1)) of magnitudes, o = low..high. It is divided in bins:
 *
 *	hi = factor^(o+1), lo = factor^o
 *	hi <= steps:  hi - lo bins of width 1
 *	otherwise:    steps - steps/factor bins of width hi / steps
 *
 * Bins begin at multiples of their width. With fewer steps than the factor lo is no such multiple,
 * and the first bin of an order is the shorter piece from lo to the first one:
 *
 *	llquantize(v, 10, 2, 2, 5):	100..199  200..399  400..599  600..799  800..999
 *
 * Bins of all orders are counted through from off = 1; off = 0 is the bin of magnitudes below
 * factor^low; off = S + 1, S the number of bins of all orders, is the overflow, magnitudes of
 * factor^(high+1) and more. Positive and negative values have bins of their own, interleaved so
 * that the number needs no total:
 *
 *	bucket = v < 0 ? 2 * off - 1 : 2 * off		(off = 0: 0 for both signs)
 *
 *	llquantize(v, 10, 0, 1, 10):
 *		v	0  1  2 ..  9  10..19 .. 90..99  100..	 -1  -2 .. -100..
 *		off	0  1  2 ..  9  10     .. 18	 19	  1   2 ..  19
 *		bucket	0  2  4 .. 18  20     .. 36	 38	  1   3 ..  37
 *
 * Requires (checked by d/): factor >= 2; steps divides factor or is a multiple of it; each hi above
 * steps is a multiple of steps; 0 <= low <= high; factor^(high+1) < 2^63 (so high <= 61);
 * steps <= 65535. All arithmetic is on unsigned 64 bits.
 */
#include "record/layout.h"
#include "record/llquantize.h"

static uint64_t power(uint64_t factor, uint64_t exp)
{
	uint64_t v = 1;

	while (exp--)
		v *= factor;
	return v;
}

static uint64_t bin_width(uint64_t hi, uint64_t steps)
{
	return hi <= steps ? 1 : hi / steps;
}

uint32_t llquantize_bucket(const int64_t param[4], int64_t v)
{
	uint64_t factor = (uint64_t)param[0], steps = (uint64_t)param[3];
	uint64_t per_order = steps - steps / factor;
	uint64_t mag = v < 0 ? -(uint64_t)v : (uint64_t)v;
	uint64_t lo = power(factor, (uint64_t)param[1]);
	uint64_t off = 1; /* number of the first bin of this order */

	if (mag < lo)
		return 0;
	for (int64_t o = param[1]; o <= param[2]; o++) {
		uint64_t hi = lo * factor;

		if (mag < hi) {
			uint64_t width = bin_width(hi, steps);

			off += mag / width - lo / width;
			break;
		}
		off += hi <= steps ? hi - lo : per_order;
		lo = hi;
	}
	return (uint32_t)(v < 0 ? 2 * off - 1 : 2 * off);
}

/* The number of bins of all orders: S in the comment at the top. */
static uint64_t side_bins(const int64_t param[4])
{
	uint64_t factor = (uint64_t)param[0], steps = (uint64_t)param[3];
	uint64_t lo = power(factor, (uint64_t)param[1]), sum = 0;

	for (int64_t o = param[1]; o <= param[2]; o++) {
		uint64_t hi = lo * factor;

		sum += hi <= steps ? hi - lo : steps - steps / factor;
		lo = hi;
	}
	return sum;
}

uint32_t llquantize_nbuckets(const int64_t param[4])
{
	return (uint32_t)(2 * (side_bins(param) + 1) + 1);
}

int64_t llquantize_label(const int64_t param[4], uint32_t bucket)
{
	uint64_t factor = (uint64_t)param[0], steps = (uint64_t)param[3];
	uint64_t lo = power(factor, (uint64_t)param[1]);
	uint64_t off = ((uint64_t)bucket + 1) / 2, label = 0, rest = off - 1;

	for (int64_t o = param[1]; off > 0 && o <= param[2]; o++) {
		uint64_t hi = lo * factor, width = bin_width(hi, steps);
		uint64_t bins = hi <= steps ? hi - lo : steps - steps / factor;

		if (rest < bins) {
			label = rest ? (lo / width + rest) * width : lo;
			break;
		}
		rest -= bins;
		label = lo = hi; /* the overflow, when no order has the bucket */
	}
	return bucket & 1 ? -(int64_t)label : (int64_t)label;
}

uint32_t llquantize_row(uint32_t nbuckets, uint32_t row)
{
	uint32_t centre = nbuckets / 2;

	return row < centre ? 2 * (centre - row) - 1 : 2 * (row - centre);
}
