/* SPDX-License-Identifier: MIT */
/* Sorting by every option (d-language.md 6.4.3), histogram weights, joining (6.4.4). */
#include "agg/fake.h"
#include "tap.h"

/* Sorts and lists the first key, "k" or the number, of each element. */
static void sorted(struct agg_view *v, struct agg_sort how, const char *want, const char *name)
{
	struct strbuf got = {0};

	agg_view_sort(v, &how);
	for (uint32_t i = 0; i < v->nelems; i++) {
		const struct agg_key *k = &v->elems[i]->keys[0];

		if (k->bytes)
			strbuf_addf(&got, "%s ", k->bytes);
		else
			strbuf_addf(&got, "%lld ", (long long)k->ival);
	}
	is_str(strbuf_text(&got), want, name);
	strbuf_deinit(&got);
}

static void test_values(void)
{
	struct agg_view *v;
	struct fake f;
	uint32_t id;

	fake_init(&f);
	id = fake_agg(&f, AGGFUNC_SUM, "s");
	fake_key_str(&f, id, KEY_STRHASH);
	fake_open(&f);
	fake_str_elem(&f, id, "b", 3);
	fake_str_elem(&f, id, "a", 3);
	fake_str_elem(&f, id, "abc", -1);
	fake_str_elem(&f, id, "z", INT64_MIN);
	fake_str_elem(&f, id, "y", INT64_MAX);
	fake_str_elem(&f, id, "\xc3\xa9", INT64_MAX - 1);
	v = fake_snap(&f, id);
	sorted(v, (struct agg_sort){0}, "z abc a b \xc3\xa9 y ", "by value, ties by key");
	sorted(v, (struct agg_sort){.rev = true}, "y \xc3\xa9 b a abc z ",
	       "the whole order reversed");
	sorted(v, (struct agg_sort){.greatest_first = true}, "y \xc3\xa9 a b abc z ",
	       "the greatest first, ties by key");
	sorted(v, (struct agg_sort){.key = true}, "a abc b y z \xc3\xa9 ",
	       "by key, bytes unsigned");
	sorted(v, (struct agg_sort){.key = true, .rev = true}, "\xc3\xa9 z y b abc a ", "reversed");
	fake_deinit(&f);
}

static void test_int_keys(void)
{
	static const int64_t keys[] = {-1, 0, 5, -128, 127};
	struct agg_view *v;
	struct fake f;
	uint32_t id;

	fake_init(&f);
	id = fake_agg(&f, AGGFUNC_COUNT, "c");
	fake_key_int(&f, id, 1, true);
	fake_open(&f);
	for (uint32_t i = 0; i < ARRAY_LEN(keys); i++)
		fake_int_elem(&f, id, keys[i], 1);
	v = fake_snap(&f, id);
	sorted(v, (struct agg_sort){0}, "0 5 127 -128 -1 ", "integer keys compare as unsigned");
	fake_deinit(&f);
}

static void test_keypos(void)
{
	static const int64_t keys[][3] = {{1, 3, 2}, {2, 1, 1}, {3, 2, 1}, {4, 1, 2}};
	struct agg_view *v;
	struct fake f;
	uint32_t id;

	fake_init(&f);
	id = fake_agg(&f, AGGFUNC_COUNT, "c");
	for (int i = 0; i < 3; i++)
		fake_key_int(&f, id, 4, true);
	fake_open(&f);
	for (uint32_t i = 0; i < ARRAY_LEN(keys); i++) {
		uint32_t e = fake_elem(&f, id);

		for (uint32_t k = 0; k < 3; k++)
			fake_set_int(&f, id, e, k, keys[i][k]);
		fake_word(&f, id, e, 0, 0, 7);
	}
	v = fake_snap(&f, id);
	sorted(v, (struct agg_sort){.key = true, .keypos = 1}, "2 4 3 1 ",
	       "keys from the second on");
	sorted(v, (struct agg_sort){.key = true, .keypos = 2}, "2 3 1 4 ",
	       "from the third, wrapping");
	sorted(v, (struct agg_sort){.key = true, .keypos = 3}, "1 2 3 4 ",
	       "too large: from the first");
	sorted(v, (struct agg_sort){.keypos = 1, .rev = true}, "1 3 4 2 ", "ties of values too");
	fake_deinit(&f);
}

static void test_addr_keys(void)
{
	static const uint64_t addrs[][2] = {{256, 1}, {2, 0x100}, {2, 0xff}};
	static const int want[] = {2, 1, 0}; /* pid first, then address, both as numbers */
	struct agg_sort how = {.key = true};
	struct agg_view *v;
	struct fake f;
	uint32_t id;

	fake_init(&f);
	id = fake_agg(&f, AGGFUNC_COUNT, "c");
	fake_key_bytes(&f, id, 16, DATUM_UADDR);
	fake_open(&f);
	for (uint32_t i = 0; i < ARRAY_LEN(addrs); i++) {
		uint32_t e = fake_elem(&f, id);

		fake_set(&f, id, e, 0, addrs[i], 16);
		fake_word(&f, id, e, 0, 0, i + 1);
	}
	v = fake_snap(&f, id);
	agg_view_sort(v, &how);
	for (uint32_t i = 0; i < v->nelems; i++)
		is_int(agg_value(v, v->elems[i]), want[i] + 1,
		       "user addresses by pid, then address");
	fake_deinit(&f);
}

/* Every order of a handful of elements sorts to the same. */
static void test_permutations(void)
{
	static const struct {
		int64_t key, value;
	} elems[] = {{3, 1}, {1, 2}, {2, 2}, {4, 0}, {5, 9}};
	uint32_t at[5], count = 0, bad = 0;

	for (at[0] = 0; at[0] < 5; at[0]++)
		for (at[1] = 0; at[1] < 5; at[1]++)
			for (at[2] = 0; at[2] < 5; at[2]++)
				for (at[3] = 0; at[3] < 5; at[3]++)
					for (at[4] = 0; at[4] < 5; at[4]++) {
						static const int64_t want[] = {4, 3, 1, 2, 5};
						struct agg_sort how = {0};
						struct agg_view *v;
						uint32_t seen = 0;
						struct fake f;
						uint32_t id;

						for (int i = 0; i < 5; i++)
							seen |= 1u << at[i];
						if (seen != 31)
							continue;
						fake_init(&f);
						id = fake_agg(&f, AGGFUNC_COUNT, "c");
						fake_key_int(&f, id, 8, false);
						fake_open(&f);
						for (int i = 0; i < 5; i++)
							fake_int_elem(&f, id, elems[at[i]].key,
								      elems[at[i]].value);
						v = fake_snap(&f, id);
						agg_view_sort(v, &how);
						for (uint32_t i = 0; i < 5; i++)
							bad += (int64_t)v->elems[i]->keys[0].ival !=
							       want[i];
						count++;
						fake_deinit(&f);
					}
	is_int(count, 120, "permutations tried");
	is_int(bad, 0, "all sort alike");
}

/* One element per row: key = row number, three (bucket, count) pairs. */
struct hist_case {
	struct {
		uint32_t bucket;
		int64_t count;
	} at[3];
};

static struct agg_view *hist_fill(struct fake *f, enum aggfunc func, const int64_t param[4],
				  const struct hist_case *cases, uint32_t n)
{
	uint32_t id;

	fake_init(f);
	id = fake_agg(f, func, "h");
	fake_param(f, id, param[0], param[1], param[2], param[3]);
	fake_key_int(f, id, 4, true);
	fake_open(f);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t e = fake_elem(f, id);

		fake_set_int(f, id, e, 0, i);
		for (uint32_t k = 0; k < 3; k++)
			fake_word(f, id, e, 0, cases[i].at[k].bucket, cases[i].at[k].count);
	}
	return fake_snap(f, id);
}

static void test_quantize_weight(void)
{
	static const struct hist_case cases[] = {
		{{{66, 1}}},	      /* 4 */
		{{{65, 1}, {63, 5}}}, /* 2, five zeros */
		{{{65, 1}, {63, 4}}}, /* 2, four zeros: before it */
		{{{61, 3}}},	      /* -6 */
		{{{66, 1}, {62, 1}}}, /* 4 - 1 */
	};
	static const int64_t param[4];
	struct agg_view *v;
	struct fake f;

	v = hist_fill(&f, AGGFUNC_QUANTIZE, param, cases, ARRAY_LEN(cases));
	sorted(v, (struct agg_sort){0}, "3 2 1 4 0 ",
	       "quantize by sum of label times count, then zeros");
	fake_deinit(&f);
}

static void test_lquantize_weight(void)
{
	static const struct hist_case cases[] = {
		{{{0, 1}}},	    /* below -10: -11 */
		{{{1, 1}}},	    /* -10 */
		{{{5, 1}}},	    /* at 10: 10 + 1 */
		{{{4, 2}, {1, 1}}}, /* 5 + 5 - 10 = 0, no zero */
		{{{3, 9}}},	    /* nine zeros */
	};
	static const int64_t param[4] = {-10, 4, 5, 0};
	struct agg_view *v;
	struct fake f;

	v = hist_fill(&f, AGGFUNC_LQUANTIZE, param, cases, ARRAY_LEN(cases));
	sorted(v, (struct agg_sort){0}, "0 1 3 4 2 ", "lquantize by lower bound, then zeros");
	fake_deinit(&f);
}

static void test_llquantize_weight(void)
{
	static const struct hist_case cases[] = {
		{{{38, 1}}}, /* overflow: 101 */
		{{{36, 1}}}, /* 90 */
		{{{37, 1}}}, /* underflow */
		{{{3, 1}}},  /* -2 */
		{{{0, 3}}},  /* zeros */
	};
	static const int64_t param[4] = {10, 0, 1, 10};
	struct agg_view *v;
	struct fake f;

	v = hist_fill(&f, AGGFUNC_LLQUANTIZE, param, cases, ARRAY_LEN(cases));
	sorted(v, (struct agg_sort){0}, "2 3 4 1 0 ", "llquantize by label");
	fake_deinit(&f);
}

/* ---- joining --------------------------------------------------------------------------------- */

static void joined(struct fake *f, uint32_t n, struct agg_sort how, const char *want,
		   const char *name)
{
	struct agg_view *views[3];
	struct strbuf got = {0};
	struct agg_row *rows;
	uint32_t nrows;

	for (uint32_t i = 0; i < n; i++)
		views[i] = aggs_view(f->aggs, i + 1);
	agg_join(views, n, &how, f->arena, &rows, &nrows);
	for (uint32_t i = 0; i < nrows; i++) {
		const char *key = NULL;

		for (uint32_t k = 0; k < n; k++) {
			if (rows[i].elems[k])
				key = rows[i].elems[k]->keys[0].bytes;
		}
		strbuf_addf(&got, "%s:", key);
		for (uint32_t k = 0; k < n; k++)
			strbuf_addf(&got, "%lld,",
				    rows[i].elems[k]
					    ? (long long)agg_value(views[k], rows[i].elems[k])
					    : -1);
		strbuf_addc(&got, ' ');
	}
	is_str(strbuf_text(&got), want, name);
	strbuf_deinit(&got);
}

static void test_join(void)
{
	struct fake f;
	uint32_t a, b;

	fake_init(&f);
	a = fake_agg(&f, AGGFUNC_COUNT, "a");
	b = fake_agg(&f, AGGFUNC_SUM, "b");
	fake_key_str(&f, a, KEY_COMM);
	fake_key_str(&f, b, KEY_STRHASH); /* equal text in another representation */
	fake_open(&f);
	fake_str_elem(&f, a, "x", 5);
	fake_str_elem(&f, a, "y", 1);
	fake_str_elem(&f, b, "y", 9);
	fake_str_elem(&f, b, "z", 1);
	fake_str_elem(&f, a, "w", 5);
	(void)fake_snap(&f, a);
	joined(&f, 2, (struct agg_sort){0}, "z:-1,1, y:1,9, w:5,-1, x:5,-1, ",
	       "by the first, then the second, then the key");
	joined(&f, 2, (struct agg_sort){.pos = 1}, "w:5,-1, x:5,-1, z:-1,1, y:1,9, ",
	       "by the second");
	joined(&f, 2, (struct agg_sort){.pos = 2}, "z:-1,1, y:1,9, w:5,-1, x:5,-1, ",
	       "position too large");
	joined(&f, 2, (struct agg_sort){.key = true}, "w:5,-1, x:5,-1, y:1,9, z:-1,1, ", "by key");
	joined(&f, 2, (struct agg_sort){.key = true, .rev = true},
	       "z:-1,1, y:1,9, x:5,-1, w:5,-1, ", "by key, reversed");
	fake_deinit(&f);
}

int main(void)
{
	test_values();
	test_int_keys();
	test_keypos();
	test_addr_keys();
	test_permutations();
	test_quantize_weight();
	test_lquantize_weight();
	test_llquantize_weight();
	test_join();
	return tap_done();
}
