/* SPDX-License-Identifier: MIT */
/* Values of aggregations, as the data part has them, added up. */
#include "native/data_impl.h"

static uint64_t neutral_of(enum aggfunc func)
{
	return func == AGGFUNC_MIN ? (uint64_t)INT64_MAX : (uint64_t)INT64_MIN;
}

bool value_is_extreme(const struct agg_layout *al)
{
	return al->agg->func == AGGFUNC_MIN || al->agg->func == AGGFUNC_MAX;
}

uint32_t value_nwords(const struct agg_layout *al)
{
	return (al->key_size ? al->val_size : al->touched_off) / 8;
}

/* Whether a, stored as record/layout.h says, is less than b, or greater. */
static bool is_more_extreme(enum aggfunc func, uint64_t a, uint64_t b)
{
	int64_t x = (int64_t)(a ^ neutral_of(func)), y = (int64_t)(b ^ neutral_of(func));

	return func == AGGFUNC_MIN ? x < y : x > y;
}

void value_add(const struct agg_layout *al, uint64_t *to, const uint8_t *value, const uint8_t *less)
{
	enum aggfunc func = al->agg->func;
	uint32_t n = value_nwords(al);

	if (value_is_extreme(al)) {
		uint64_t w = value_word(value, 0);

		if ((!less || w != value_word(less, 0)) && is_more_extreme(func, w, to[0]))
			to[0] = w;
		return;
	}
	for (uint32_t i = 0; i < n; i++) {
		uint64_t w = value_word(value, i), l = less ? value_word(less, i) : 0;
		bool is_low = func == AGGFUNC_STDDEV && i == 2 && !al->is_sparse;
		uint64_t sum = to[i] + (w - l);

		if (is_low) /* the sum of squares has two words */
			to[3] += (uint64_t)(sum < to[i]) - (uint64_t)(w < l);
		to[i] = sum;
	}
}

bool value_is_zero(const uint64_t *words, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (words[i])
			return false;
	return true;
}
