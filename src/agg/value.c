/* SPDX-License-Identifier: MIT */
/* The state of an element: merges it, computes the printed value and the weight in sorting. */
#include "agg/impl.h"

#include "record/llquantize.h"

#define QUANTIZE_ZERO 63 /* bucket of value 0; d-language.md 5.5 */

/* ---- merging ------------------------------------------------------------------------------- */

uint32_t agg_state_len(const struct agg_layout *l)
{
	uint32_t words = aggfunc_words(l->agg->func);

	return words ? words : l->nbuckets;
}

int64_t agg_neutral(const struct agg_layout *l)
{
	return l->agg->func == AGGFUNC_MIN ? INT64_MAX : INT64_MIN;
}

void agg_elem_init(const struct agg_layout *l, struct agg_elem *e)
{
	uint32_t len = agg_state_len(l);

	memset(e->state, 0, sizeof(*e->state) * len * (1 + e->ncpus));
	for (uint32_t i = 0; i <= e->ncpus && !agg_is_additive(l->agg); i++)
		e->state[(size_t)i * len] = agg_neutral(l);
}

int64_t *agg_state_of_cpu(const struct agg_layout *l, const struct agg_elem *e, uint32_t cpu)
{
	return e->state + (size_t)agg_state_len(l) * (1 + cpu);
}

struct agg_elem agg_elem_of_cpu(const struct agg_view *v, const struct agg_elem *e, uint32_t cpu)
{
	struct agg_elem one = {.state = agg_state_of_cpu(v->layout, e, cpu)};

	/* a CPU without a value has the neutral element, which is not to be shown */
	one.touched = (v->agg->func != AGGFUNC_MIN || one.state[0] != INT64_MAX) &&
		      (v->agg->func != AGGFUNC_MAX || one.state[0] != INT64_MIN);
	return one;
}

static int64_t raw_word(const uint8_t *raw, uint32_t i)
{
	int64_t v;

	memcpy(&v, raw + i * sizeof(v), sizeof(v));
	return v;
}

static int64_t wrap_add(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

/* Adds count, sum, and the sum of squares, which has two words with a carry between them. */
static void stddev_add(int64_t *state, const uint8_t *raw)
{
	uint64_t low = (uint64_t)state[2] + (uint64_t)raw_word(raw, 2);
	bool carry = low < (uint64_t)state[2];

	state[0] = wrap_add(state[0], raw_word(raw, 0));
	state[1] = wrap_add(state[1], raw_word(raw, 1));
	state[2] = (int64_t)low;
	state[3] = wrap_add(wrap_add(state[3], raw_word(raw, 3)), carry);
}

void agg_state_add_raw(const struct agg_layout *l, int64_t *state, const uint8_t *raw)
{
	switch (l->agg->func) {
	case AGGFUNC_MIN: /* stored so that zero is the neutral element (record/layout.h) */
		state[0] = MIN(state[0], raw_word(raw, 0) ^ INT64_MAX);
		return;
	case AGGFUNC_MAX: state[0] = MAX(state[0], raw_word(raw, 0) ^ INT64_MIN); return;
	case AGGFUNC_STDDEV: stddev_add(state, raw); return;
	case AGGFUNC_COUNT:
	case AGGFUNC_SUM:
	case AGGFUNC_AVG:
	case AGGFUNC_QUANTIZE:
	case AGGFUNC_LQUANTIZE:
	case AGGFUNC_LLQUANTIZE:
	case AGGFUNC_LIVE: /* the kernel has only what is lost */
		for (uint32_t i = 0, n = agg_state_len(l); i < n; i++)
			state[i] = wrap_add(state[i], raw_word(raw, i));
		return;
	}
	BUG("aggregating function %d", (int)l->agg->func);
}

/* ---- printed value ------------------------------------------------------------------------- */

/* Divides, truncating towards zero; a factor beyond INT64_MAX gives 0. */
static int64_t div_normal(int64_t v, uint64_t normal)
{
	return normal > INT64_MAX ? 0 : v / (int64_t)normal;
}

static uint64_t isqrt128(unsigned __int128 v)
{
	unsigned __int128 root = 0, bit = (unsigned __int128)1 << 126;

	while (bit > v)
		bit >>= 2;
	for (; bit; bit >>= 2) {
		if (v >= root + bit) {
			v -= root + bit;
			root = (root >> 1) + bit;
		} else {
			root >>= 1;
		}
	}
	return (uint64_t)root;
}

/* isqrt(sumsq/normal^2/n - (sum/normal/n)^2), each division truncating: d-language.md 5.5 */
static uint64_t stddev_value(const int64_t *state, uint64_t normal)
{
	unsigned __int128 squares =
		(unsigned __int128)(uint64_t)state[3] << 64 | (uint64_t)state[2];
	uint64_t count = (uint64_t)state[0];
	__int128 avg;
	unsigned __int128 avg_sq;

	if (!count)
		return 0;
	avg = (__int128)state[1] / (__int128)normal / (__int128)count;
	avg_sq = (unsigned __int128)(avg * avg);
	squares = squares / normal / normal / count;
	return squares > avg_sq ? isqrt128(squares - avg_sq) : 0;
}

static int64_t value_of(const struct agg_layout *l, const struct agg_elem *e, uint64_t normal)
{
	if (!e->touched)
		return 0;
	switch (l->agg->func) {
	case AGGFUNC_COUNT: return (int64_t)((uint64_t)e->state[0] / normal);
	case AGGFUNC_SUM:
	case AGGFUNC_MIN:
	case AGGFUNC_MAX: return div_normal(e->state[0], normal);
	case AGGFUNC_AVG: /* a count beyond INT64_MAX gives 0, like such a factor */
		return e->state[0]
			       ? div_normal(div_normal(e->state[1], normal), (uint64_t)e->state[0])
			       : 0;
	case AGGFUNC_STDDEV: return (int64_t)stddev_value(e->state, normal);
	case AGGFUNC_LIVE: return div_normal(e->state[LIVE_BYTES], normal);
	case AGGFUNC_QUANTIZE:
	case AGGFUNC_LQUANTIZE:
	case AGGFUNC_LLQUANTIZE: break;
	}
	BUG("histogram has no single value");
}

int64_t agg_value(const struct agg_view *v, const struct agg_elem *e)
{
	return value_of(v->layout, e, v->normal);
}

bool agg_is_histogram(const struct prog_agg *agg)
{
	return !aggfunc_words(agg->func);
}

/* ---- buckets ------------------------------------------------------------------------------- */

static int64_t quantize_label(uint32_t bucket)
{
	if (bucket == QUANTIZE_ZERO)
		return 0;
	if (bucket > QUANTIZE_ZERO)
		return (int64_t)1 << (bucket - QUANTIZE_ZERO - 1);
	return -((int64_t)1 << (QUANTIZE_ZERO - 1 - bucket));
}

static int64_t lquantize_label(const struct prog_agg *agg, uint32_t bucket)
{
	return agg->param[0] + (bucket ? (int64_t)bucket - 1 : 0) * agg->param[2];
}

int64_t agg_bucket_label(const struct agg_layout *l, uint32_t bucket)
{
	switch (l->agg->func) {
	case AGGFUNC_QUANTIZE: return quantize_label(bucket);
	case AGGFUNC_LQUANTIZE: return lquantize_label(l->agg, bucket);
	case AGGFUNC_LLQUANTIZE: return llquantize_label(l->agg->param, bucket);
	case AGGFUNC_COUNT:
	case AGGFUNC_SUM:
	case AGGFUNC_MIN:
	case AGGFUNC_MAX:
	case AGGFUNC_AVG:
	case AGGFUNC_STDDEV:
	case AGGFUNC_LIVE: break;
	}
	BUG("aggregating function %d has no buckets", (int)l->agg->func);
}

uint32_t agg_row_bucket(const struct agg_layout *l, uint32_t row)
{
	return l->agg->func == AGGFUNC_LLQUANTIZE ? llquantize_row(l->nbuckets, row) : row;
}

/* ---- weight -------------------------------------------------------------------------------- */

static struct agg_weight quantize_weight(const struct agg_layout *l, const int64_t *state)
{
	struct agg_weight w = {.tie = state[QUANTIZE_ZERO]};

	for (uint32_t i = 0; i < l->nbuckets; i++)
		w.val += (long double)state[i] * (long double)quantize_label(i);
	return w;
}

/*
 * Underflow counts as lo - 1, overflow as hi + 1. The bucket labelled 0, if there is one, decides
 * between equal weights.
 */
static struct agg_weight lquantize_weight(const struct agg_layout *l, const int64_t *state)
{
	struct agg_weight w = {0};
	uint32_t last = l->nbuckets - 1;

	for (uint32_t i = 0; i <= last; i++) {
		int64_t label = lquantize_label(l->agg, i);

		if (i != 0 && i != last && label == 0)
			w.tie = state[i];
		label += i == 0 ? -1 : i == last ? 1 : 0;
		w.val += (long double)state[i] * (long double)label;
	}
	return w;
}

static struct agg_weight llquantize_weight(const struct agg_layout *l, const int64_t *state)
{
	struct agg_weight w = {.tie = state[0]};
	uint32_t over = l->nbuckets - 1, under = l->nbuckets - 2;

	for (uint32_t i = 1; i < l->nbuckets; i++) {
		long double label;

		if (!state[i])
			continue;
		label = (long double)agg_bucket_label(l, i);
		label += i == over ? 1 : i == under ? -1 : 0;
		w.val += (long double)state[i] * label;
	}
	return w;
}

struct agg_weight agg_weight(const struct agg_layout *l, const struct agg_elem *e)
{
	switch (l->agg->func) {
	case AGGFUNC_QUANTIZE: return quantize_weight(l, e->state);
	case AGGFUNC_LQUANTIZE: return lquantize_weight(l, e->state);
	case AGGFUNC_LLQUANTIZE: return llquantize_weight(l, e->state);
	case AGGFUNC_STDDEV:
		return (struct agg_weight){.val = (long double)(uint64_t)value_of(l, e, 1)};
	case AGGFUNC_LIVE:
		return (struct agg_weight){.val = (long double)value_of(l, e, 1),
					   .tie = (long double)e->state[LIVE_COUNT]};
	case AGGFUNC_COUNT:
	case AGGFUNC_SUM:
	case AGGFUNC_MIN:
	case AGGFUNC_MAX:
	case AGGFUNC_AVG: return (struct agg_weight){.val = (long double)value_of(l, e, 1)};
	}
	BUG("aggregating function %d", (int)l->agg->func);
}
