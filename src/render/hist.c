/* SPDX-License-Identifier: MIT */
/* Histograms as data: decides which rows are shown, and counts the values of each. */
#include "render/impl.h"

int64_t normalized(int64_t count, uint64_t normal)
{
	return normal > INT64_MAX ? 0 : count / (int64_t)normal;
}

int64_t hist_count(const struct agg_layout *l, const int64_t *state, uint32_t row)
{
	return state ? state[agg_row_bucket(l, row)] : 0;
}

/* Returns the rows to show of a histogram without data. */
static void empty_range(const struct agg_layout *l, uint32_t *ret_first, uint32_t *ret_last)
{
	uint32_t first = 0; /* lquantize: the first three */

	if (l->agg->func == AGGFUNC_QUANTIZE)
		first = l->nbuckets / 2 - 1; /* -1, 0, 1 */
	if (l->agg->func == AGGFUNC_LLQUANTIZE)
		first = l->nbuckets / 2; /* the bin above zero and its neighbours */
	*ret_first = first;
	*ret_last = MIN(first + 2, l->nbuckets - 1);
}

void hist_range(const struct agg_layout *l, const int64_t *state, uint32_t *ret_first,
		uint32_t *ret_last)
{
	uint32_t first = 0, last = l->nbuckets - 1;

	while (first < l->nbuckets && hist_count(l, state, first) == 0)
		first++;
	if (first == l->nbuckets) {
		empty_range(l, ret_first, ret_last);
		return;
	}
	while (hist_count(l, state, last) == 0)
		last--;
	*ret_first = first > 0 ? first - 1 : 0; /* a neighbour on each side */
	*ret_last = MIN(last + 1, l->nbuckets - 1);
}

static int64_t label_of(const struct agg_layout *l, uint32_t row)
{
	return agg_bucket_label(l, agg_row_bucket(l, row));
}

/*
 * A row's label is its bound nearest to zero, and rows adjoin. lquantize labels its first row with
 * the least value of the second.
 */
struct hist_bounds hist_bounds_of(const struct agg_layout *l, uint32_t row)
{
	bool is_linear = l->agg->func == AGGFUNC_LQUANTIZE;
	bool is_centre = l->agg->func == AGGFUNC_LLQUANTIZE && row == l->nbuckets / 2;
	int64_t label = is_centre ? 0 : label_of(l, row);
	bool is_down = !is_linear && !is_centre && label < 0;
	struct hist_bounds b = {.label = label, .min = INT64_MIN, .max = INT64_MAX};

	b.has_min = row > 0;
	b.has_max = row < l->nbuckets - 1;
	if (is_centre)
		b.min = 1 - label_of(l, row + 1);
	else if (b.has_min)
		b.min = is_down ? label_of(l, row - 1) + 1 : label;
	if (is_linear && row == 0)
		b.max = label - 1;
	else if (is_down)
		b.max = label;
	else if (b.has_max)
		b.max = label_of(l, row + 1) - 1;
	return b;
}
