/* SPDX-License-Identifier: MIT */
/* Buckets of llquantize: labels and numbers agree, over all orders. */
#include "agg/impl.h"
#include "record/llquantize.h"
#include "tap.h"

/* clang-format off */
static const int64_t params[][4] = {
	/* factor, low, high, steps */
	{10, 0, 1, 10}, {10, 0, 6, 20}, {10, 2, 5, 10}, {2, 0, 61, 2}, {2, 3, 10, 16},
	{10, 0, 17, 100}, {12, 2, 4, 96}, {10, 0, 6, 5}, {10, 2, 5, 2}, {10, 1, 4, 1}, {12, 0, 3, 4},
	{10, 3, 6, 80}, {3, 0, 4, 27}, {60, 1, 3, 60}, {10, 0, 2, 1000},
};
/* clang-format on */

/* Known values, from the definition in d-language.md 5.5. */
static void test_table(void)
{
	static const struct {
		int64_t param[4], v, label;
	} cases[] = {
		{{10, 0, 6, 20}, 0, 0},
		{{10, 0, 6, 20}, 9, 9},
		{{10, 0, 6, 20}, 14, 10},
		{{10, 0, 6, 20}, 15, 15},
		{{10, 0, 6, 20}, 99, 95},
		{{10, 0, 6, 20}, 100, 100},
		{{10, 0, 6, 20}, 149, 100},
		{{10, 0, 6, 20}, 9999999, 9500000},
		{{10, 0, 6, 20}, 10000000, 10000000},
		{{10, 0, 6, 20}, INT64_MAX, 10000000},
		{{10, 0, 6, 20}, -15, -15},
		{{10, 0, 6, 20}, INT64_MIN, -10000000},
		{{10, 2, 5, 10}, 99, 0},
		{{10, 2, 5, 10}, -99, 0},
		{{10, 2, 5, 10}, 100, 100},
		{{10, 2, 5, 10}, 199, 100},
		{{10, 2, 5, 10}, 999999, 900000},
		{{10, 2, 5, 10}, 1000000, 1000000},
		/* fewer steps than the factor: 1 2 4 6 8 10 20 40 60 80 100 200 400 ... */
		{{10, 0, 5, 5}, 1, 1},
		{{10, 0, 5, 5}, 3, 2},
		{{10, 0, 5, 5}, 19, 10},
		{{10, 0, 5, 5}, 20, 20},
		{{10, 0, 5, 5}, 199, 100},
		{{10, 0, 5, 5}, 200, 200},
		{{10, 0, 5, 5}, 399, 200},
		{{10, 0, 5, 5}, 999, 800},
		{{10, 0, 5, 5}, -399, -200},
		{{10, 0, 5, 5}, 999999, 800000},
		{{10, 2, 5, 1}, 999, 100},
		{{10, 2, 5, 2}, 500, 500},
		{{2, 0, 61, 2}, INT64_MAX, 1ll << 62},
		{{2, 0, 61, 2}, (1ll << 61) + 5, 1ll << 61},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		uint32_t bucket = llquantize_bucket(cases[i].param, cases[i].v);

		is_int(llquantize_label(cases[i].param, bucket), cases[i].label,
		       "label of the bucket");
	}
}

/* Values around every label: the bucket's range begins exactly there. */
static void check_bucket(const int64_t p[4], uint32_t bucket, uint32_t *bad)
{
	int64_t label = llquantize_label(p, bucket);
	bool is_neg = bucket & 1;

	*bad += llquantize_bucket(p, label) != bucket;
	if (bucket > 0 && label != INT64_MIN) { /* one step towards zero is another bucket */
		int64_t inner = is_neg ? label + 1 : label - 1;

		*bad += llquantize_bucket(p, inner) == bucket;
	}
}

static void test_agree(void)
{
	for (size_t i = 0; i < ARRAY_LEN(params); i++) {
		uint32_t n = llquantize_nbuckets(params[i]), bad = 0;
		int64_t last = INT64_MIN;

		for (uint32_t b = 0; b < n; b++)
			check_bucket(params[i], b, &bad);
		for (uint32_t row = 0; row < n; row++) {
			uint32_t b = llquantize_row(n, row);
			int64_t label = llquantize_label(params[i], b);

			bad += b >= n || (row > 0 && label <= last);
			last = label;
		}
		bad += llquantize_bucket(params[i], INT64_MAX) != n - 1;
		bad += llquantize_bucket(params[i], INT64_MIN) != n - 2;
		is_int(bad, 0, "labels, numbers and rows agree");
	}
}

int main(void)
{
	test_table();
	test_agree();
	return tap_done();
}
