/* SPDX-License-Identifier: MIT */
/* Aggregations as text: printa(), the end of a run, histograms (d-language.md 6.4, B.2-B.4). */
#include "record/llquantize.h"
#include "render/fix.h"
#include "tap.h"

#define HEAD "\n           value  ------------- Distribution ------------- count    \n"

/* ---- numbers --------------------------------------------------------------------------------- */

static void test_end_of_run(void)
{
	uint32_t a, b, c, d, e;
	struct fix f;

	fix_init(&f);
	a = fake_agg(&f.fake, AGGFUNC_COUNT, "a");
	b = fake_agg(&f.fake, AGGFUNC_STDDEV, "b");
	c = fake_agg(&f.fake, AGGFUNC_MIN, "c");
	d = fake_agg(&f.fake, AGGFUNC_SUM, "d");
	fake_key_str(&f.fake, a, KEY_STRHASH);
	fake_key_int(&f.fake, a, 4, true);
	for (uint32_t size = 1; size <= 8; size *= 2)
		fake_key_int(&f.fake, d, size, size != 2);
	fix_open(&f);
	is_str(fix_aggs(&f), "\n", "no elements: the newline alone");
	e = fake_elem(&f.fake, a);
	fake_set_str(&f.fake, a, e, 0, "yy");
	fake_set_int(&f.fake, a, e, 1, 2);
	fake_word(&f.fake, a, e, 0, 0, 2);
	e = fake_elem(&f.fake, a);
	fake_set_str(&f.fake, a, e, 0, "x");
	fake_set_int(&f.fake, a, e, 1, 1);
	fake_word(&f.fake, a, e, 1, 0, 1);
	is_str(fix_aggs(&f),
	       "\n"
	       "  x                                                         1                1\n"
	       "  yy                                                        2                2\n",
	       "B.2");
	e = fake_elem(&f.fake, d);
	for (uint32_t k = 0; k < 4; k++)
		fake_set_int(&f.fake, d, e, k, -1);
	fake_word(&f.fake, d, e, 0, 0, -5);
	e = fake_elem(&f.fake, c);
	fake_word(&f.fake, c, e, 0, 0, 7 ^ INT64_MAX);
	e = fake_elem(&f.fake, b);
	fake_word(&f.fake, b, e, 0, 0, 1);
	is_str(fix_aggs(&f),
	       "\n"
	       "  x                                                         1                1\n"
	       "  yy                                                        2                2\n"
	       "                0\n"
	       "                7\n"
	       "  -1 65535       -1               -1               -5\n",
	       "every aggregation by id; integer keys by size and sign");
	aggs_view(f.fake.aggs, a)->printed = true;
	aggs_view(f.fake.aggs, d)->printed = true;
	is_str(fix_aggs(&f), "\n                0\n                7\n",
	       "what printa() has printed is left out");
	fix_deinit(&f);
}

static void test_other_keys(void)
{
	static const uint64_t addr[2] = {12, 0x401000}, pcs[3] = {0xffffffff81000000, 0x10, 0};
	struct fix f;
	uint32_t a, e;

	fix_init(&f);
	a = fake_agg(&f.fake, AGGFUNC_COUNT, "a");
	fake_key_bytes(&f.fake, a, 16, DATUM_UADDR);
	fake_key_bytes(&f.fake, a, 8, DATUM_BYTES);
	fake_key_bytes(&f.fake, a, 24, DATUM_STACK);
	fix_open(&f);
	f.opts.stackindent = 4;
	e = fake_elem(&f.fake, a);
	fake_set(&f.fake, a, e, 0, addr, sizeof(addr));
	fake_set(&f.fake, a, e, 1, "text", 4);
	fake_set(&f.fake, a, e, 2, pcs, sizeof(pcs));
	fake_word(&f.fake, a, e, 0, 0, 1);
	is_str(fix_aggs(&f),
	       "\n"
	       "  0x401000                                          "
	       "  text                                              "
	       "\n    0xffffffff81000000\n    0x10\n"
	       "                1\n",
	       "address, text in bytes, stack");
	fix_deinit(&f);
}

/* ---- printa() -------------------------------------------------------------------------------- */

static struct prog_agg *agg_of(struct fix *f, uint32_t id)
{
	return &f->fake.paggs[id - 1];
}

static void printa_act(struct fix *f, const char *fmt, uint32_t n, const uint32_t *ids)
{
	struct prog_act *act = fix_act(f, ACT_PRINTA, fmt);

	act->aggs = ARENA_NEW_N(f->arena, struct prog_agg *, n);
	act->naggs = n;
	for (uint32_t i = 0; i < n; i++)
		act->aggs[i] = agg_of(f, ids[i]);
}

static void agg_act(struct fix *f, enum act_kind kind, uint32_t id)
{
	struct prog_act *act = fix_act(f, kind, NULL);

	act->aggs = ARENA_NEW_N(f->arena, struct prog_agg *, 1);
	act->naggs = 1;
	act->aggs[0] = agg_of(f, id);
}

static void test_printa(void)
{
	struct fix f;
	uint32_t a;

	fix_init(&f);
	a = fake_agg(&f.fake, AGGFUNC_SUM, "a");
	fake_key_str(&f.fake, a, KEY_COMM);
	fix_open(&f);
	fake_str_elem(&f.fake, a, "sh", 30);
	fake_str_elem(&f.fake, a, "cat", -4);
	printa_act(&f, NULL, 1, &a);
	is_str(fix_fire(&f),
	       "\n"
	       "  cat                                                              -4\n"
	       "  sh                                                               30\n",
	       "without format");
	ok(aggs_view(f.fake.aggs, a)->printed, "it counts as printed");
	printa_act(&f, "%-8s|%@6d|\n", 1, &a);
	is_str(fix_fire(&f), "cat     |    -4|\nsh      |    30|\n", "with format");
	printa_act(&f, "%@u %s %@x;", 1, &a);
	is_str(fix_fire(&f), "18446744073709551612 cat fffffffffffffffc;30 sh 1e;",
	       "the value twice, unsigned");
	printa_act(&f, "x", 1, &a);
	is_str(fix_fire(&f), "xx", "a format without conversions, once an element");
	f.nsnap = 0;
	printa_act(&f, "%s %@d,", 1, &a);
	agg_act(&f, ACT_NORMALIZE, a);
	fix_int(&f, 4, true, 10);
	printa_act(&f, "%s %@d,", 1, &a);
	agg_act(&f, ACT_DENORMALIZE, a);
	agg_act(&f, ACT_TRUNC, a);
	fix_int(&f, 4, true, 1);
	printa_act(&f, "%s %@d,", 1, &a);
	agg_act(&f, ACT_CLEAR, a);
	printa_act(&f, "%s %@d,", 1, &a);
	agg_act(&f, ACT_TRUNC, a);
	printa_act(&f, "%s %@d,", 1, &a);
	is_str(fix_fire(&f), "cat -4,sh 30,cat 0,sh 3,sh 30,sh 0,",
	       "normalize, denormalize, trunc and clear in the record's order");
	is_int(f.nsnap, 1, "one snapshot a record");
	agg_act(&f, ACT_NORMALIZE, a);
	fix_int(&f, 4, true, 0);
	(void)fix_fire(&f);
	is_str(strbuf_text(&f.log), "[fault 0 1 Invalid normalization]", "normalize by 0");
	f.opts.quiet = false;
	f.opts.is_testing = true;
	printa_act(&f, NULL, 1, &a);
	is_str(fix_fire(&f),
	       "                   FUNCTION:NAME\n                          :BEGIN \n\n",
	       "no elements: the leading newline and the record's");
	fix_deinit(&f);
}

static void test_sort_options(void)
{
	struct fix f;
	uint32_t a;

	fix_init(&f);
	a = fake_agg(&f.fake, AGGFUNC_COUNT, "a");
	fake_key_int(&f.fake, a, 4, true);
	fix_open(&f);
	fake_int_elem(&f.fake, a, 1, 30);
	fake_int_elem(&f.fake, a, 2, 10);
	fake_int_elem(&f.fake, a, 3, 20);
	f.opts.sort.rev = true;
	printa_act(&f, "%d ", 1, &a);
	is_str(fix_fire(&f), "1 3 2 ", "aggsortrev");
	f.opts.sort.key = true;
	printa_act(&f, "%d ", 1, &a);
	is_str(fix_fire(&f), "3 2 1 ", "aggsortkey with it");
	f.opts.sort.rev = false;
	aggs_view(f.fake.aggs, a)->printed = false;
	is_str(fix_aggs(&f) + 1,
	       "        1               30\n        2               10\n        3               20\n",
	       "at the end of the run");
	fix_deinit(&f);
}

static void test_joined(void)
{
	uint32_t ab[2], aba[3], q[2], h, e;
	struct fix f;

	fix_init(&f);
	ab[0] = fake_agg(&f.fake, AGGFUNC_COUNT, "a");
	ab[1] = fake_agg(&f.fake, AGGFUNC_AVG, "b");
	h = fake_agg(&f.fake, AGGFUNC_LQUANTIZE, "h");
	fake_param(&f.fake, h, 0, 3, 1, 0);
	fake_key_str(&f.fake, ab[0], KEY_COMM);
	fake_key_str(&f.fake, ab[1], KEY_STRHASH);
	fake_key_str(&f.fake, h, KEY_STRID);
	fix_open(&f);
	fake_str_elem(&f.fake, ab[0], "sh", 3);
	fake_str_elem(&f.fake, ab[0], "cat", 1);
	e = fake_str_elem(&f.fake, ab[1], "sh", 2);
	fake_word(&f.fake, ab[1], e, 1, 1, -9);
	fake_str_elem(&f.fake, ab[1], "ls", 5);
	printa_act(&f, NULL, 2, ab);
	is_str(fix_fire(&f),
	       "\n"
	       "  ls                                                                0                0\n"
	       "  cat                                                               1                0\n"
	       "  sh                                                                3               -4\n",
	       "one line a key; missing values are 0");
	printa_act(&f, "%s %@d %@d %@d\n", 2, ab);
	is_str(fix_fire(&f), "ls 0 0 0\ncat 1 0 0\nsh 3 -4 -4\n",
	       "values in turn, the last repeats");
	printa_act(&f, "%@d %@d %s %@d;", 3,
		   (memcpy(aba, (uint32_t[]){ab[0], ab[1], ab[0]}, 12), aba));
	is_str(fix_fire(&f), "0 0 ls 0;1 0 cat 1;3 -4 sh 3;", "an aggregation twice");
	f.opts.sort.pos = 1;
	printa_act(&f, "%s ", 2, ab);
	is_str(fix_fire(&f), "sh ls cat ", "aggsortpos");
	f.opts.sort.pos = 0;
	q[0] = ab[0];
	q[1] = h;
	printa_act(&f, "%s %@d %@d", 2, q);
	is_str(fix_fire(&f),
	       "cat 1 " HEAD
	       "             < 0 |                                         0        \n"
	       "               0 |                                         0        \n"
	       "               1 |                                         0        \n"
	       "sh 3 " HEAD "             < 0 |                                         0        \n"
	       "               0 |                                         0        \n"
	       "               1 |                                         0        \n",
	       "a missing histogram has no data");
	fix_deinit(&f);
}

/* ---- histograms ------------------------------------------------------------------------------ */

struct hist_data {
	uint32_t bucket;
	int64_t count;
};

static struct print_opts hist_opts;
static uint64_t hist_normal = 1;

static void hist_case(enum aggfunc func, const int64_t param[4], const struct hist_data *data,
		      uint32_t n, const char *want, const char *name)
{
	struct agg_elem elem;
	struct agg_view v;
	struct fix f;
	uint32_t id;

	fix_init(&f);
	id = fake_agg(&f.fake, func, "h");
	if (param)
		fake_param(&f.fake, id, param[0], param[1], param[2], param[3]);
	fix_printer(&f);
	f.opts = hist_opts;
	elem = (struct agg_elem){.state = ARENA_NEW_N(f.arena, int64_t, f.fake.als[0].nbuckets)};
	for (uint32_t i = 0; i < n; i++)
		elem.state[data[i].bucket] += data[i].count;
	v = (struct agg_view){.agg = &f.fake.paggs[0],
			      .layout = &f.fake.als[0],
			      .normal = hist_normal};
	print_histogram(f.printer, &f.printer->out, &v, &elem);
	strbuf_addc(&f.printer->out, '\0');
	is_str(f.printer->out.data, want, name);
	fix_deinit(&f);
}

/* clang-format off */
#define DATA(...)                                                                     \
	(const struct hist_data[]){__VA_ARGS__},                                      \
		sizeof((const struct hist_data[]){__VA_ARGS__}) / sizeof(struct hist_data)
/* clang-format on */

#define ROW0(label) label " |                                         0        \n"

/* clang-format off */
static void test_quantize(void)
{
	hist_case(AGGFUNC_QUANTIZE, NULL, DATA({61, 1}, {63, 1}, {66, 1}),
		  HEAD ROW0("              -4")
		  "              -2 |@@@@@@@@@@@@@                            1        \n"
		  ROW0("              -1")
		  "               0 |@@@@@@@@@@@@@                            1        \n"
		  ROW0("               1") ROW0("               2")
		  "               4 |@@@@@@@@@@@@@                            1        \n"
		  ROW0("               8"),
		  "B.4");
	hist_case(AGGFUNC_QUANTIZE, NULL, DATA({70, 1}),
		  HEAD ROW0("              32")
		  "              64 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@ 1        \n"
		  ROW0("             128"),
		  "one row is the whole width");
	hist_case(AGGFUNC_QUANTIZE, NULL, NULL, 0,
		  HEAD ROW0("              -1") ROW0("               0") ROW0("               1"), "no data");
	hist_case(AGGFUNC_QUANTIZE, NULL, DATA({0, 1}, {1, 3}),
		  HEAD "-4611686018427387904 |@@@@@@@@@@                               1        \n"
		  "-2305843009213693952 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@           3        \n"
		  ROW0("-1152921504606846976"),
		  "clipped at the lower end");
	hist_case(AGGFUNC_QUANTIZE, NULL, DATA({126, 5}),
		  HEAD ROW0("2305843009213693952")
		  "4611686018427387904 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@ 5        \n",
		  "clipped at the upper end");
}

static void test_lquantize(void)
{
	static const int64_t p[4] = {0, 3, 1, 0}, neg[4] = {-20, 4, 10, 0}, one[4] = {5, 1, 7, 0};

	hist_case(AGGFUNC_LQUANTIZE, p, DATA({1, 1}, {2, 2}, {4, 1}),
		  HEAD ROW0("             < 0")
		  "               0 |@@@@@@@@@@                               1        \n"
		  "               1 |@@@@@@@@@@@@@@@@@@@@                     2        \n"
		  ROW0("               2")
		  "            >= 3 |@@@@@@@@@@                               1        \n",
		  "B.3");
	hist_case(AGGFUNC_LQUANTIZE, neg, DATA({0, 2}, {5, 2}),
		  HEAD "           < -20 |@@@@@@@@@@@@@@@@@@@@                     2        \n"
		  ROW0("             -20") ROW0("             -10") ROW0("               0")
		  ROW0("              10")
		  "           >= 20 |@@@@@@@@@@@@@@@@@@@@                     2        \n",
		  "underflow and overflow");
	hist_case(AGGFUNC_LQUANTIZE, one, NULL, 0,
		  HEAD ROW0("             < 5") ROW0("               5") ROW0("           >= 12"),
		  "no data: buckets 0 to 2");
}

static void test_llquantize(void)
{
	static const int64_t p[4] = {10, 2, 3, 10}, unit[4] = {10, 0, 1, 10}, few[4] = {10, 0, 5, 5};

	/* buckets: 0 below 100; even: 100, 200, .. 900, 1000, .. 9000, 10000; odd: the same below zero */
	hist_case(AGGFUNC_LLQUANTIZE, p, DATA({2, 1}, {38, 1}),
		  HEAD ROW0("           < 100")
		  "             100 |@@@@@@@@@@@@@@@@@@@@                     1        \n"
		  ROW0("             200") ROW0("             300") ROW0("             400")
		  ROW0("             500") ROW0("             600") ROW0("             700")
		  ROW0("             800") ROW0("             900") ROW0("            1000")
		  ROW0("            2000") ROW0("            3000") ROW0("            4000")
		  ROW0("            5000") ROW0("            6000") ROW0("            7000")
		  ROW0("            8000") ROW0("            9000")
		  "        >= 10000 |@@@@@@@@@@@@@@@@@@@@                     1        \n",
		  "positive values");
	hist_case(AGGFUNC_LLQUANTIZE, p, DATA({1, 3}, {0, 1}),
		  HEAD ROW0("            -200")
		  "            -100 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@           3        \n"
		  "     abs() < 100 |@@@@@@@@@@                               1        \n"
		  ROW0("             100"),
		  "negative values");
	hist_case(AGGFUNC_LLQUANTIZE, p, DATA({37, 1}),
		  HEAD "       <= -10000 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@ 1        \n"
		  ROW0("           -9000"),
		  "negative overflow");
	hist_case(AGGFUNC_LLQUANTIZE, p, NULL, 0,
		  HEAD ROW0("           < 100") ROW0("             100") ROW0("             200"),
		  "no data: the bin above zero and its neighbours");
	hist_case(AGGFUNC_LLQUANTIZE, unit, DATA({0, 2}),
		  HEAD ROW0("              -1")
		  "               0 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@ 2        \n"
		  ROW0("               1"),
		  "the zero bin of order 0 is 0");
	/* fewer steps than the factor: the first bin of an order is from 100 to the second multiple of 200 */
	hist_case(AGGFUNC_LLQUANTIZE, few, DATA({llquantize_bucket(few, 999), 1}),
		  HEAD ROW0("             600")
		  "             800 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@ 1        \n"
		  ROW0("            1000"),
		  "rows of the end of an order");
	hist_case(AGGFUNC_LLQUANTIZE, few, DATA({llquantize_bucket(few, 100), 1}),
		  HEAD ROW0("              80")
		  "             100 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@ 1        \n"
		  ROW0("             200"),
		  "rows of the start of an order");
}

static void test_bars(void)
{
	static const int64_t p[4] = {0, 3, 1, 0};

	hist_case(AGGFUNC_LQUANTIZE, p, DATA({1, -1}, {2, -3}),
		  HEAD "             < 0                                         | 0        \n"
		  "               0                               @@@@@@@@@@| -1       \n"
		  "               1           @@@@@@@@@@@@@@@@@@@@@@@@@@@@@@| -3       \n"
		  "               2                                         | 0        \n",
		  "only negative counts");
	hist_case(AGGFUNC_LQUANTIZE, p, DATA({1, -1}, {2, 3}),
		  HEAD "             < 0                     |                     0        \n"
		  "               0                @@@@@|                     -1       \n"
		  "               1                     |@@@@@@@@@@@@@@@      3        \n"
		  "               2                     |                     0        \n",
		  "both signs");
	/* 40 * 1/80 = 0.5 rounds up to 1, 40 * 1/81 down to 0 */
	hist_case(AGGFUNC_LQUANTIZE, p, DATA({1, 1}, {2, 79}),
		  HEAD ROW0("             < 0")
		  "               0 |@                                        1        \n"
		  "               1 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@ 79       \n"
		  ROW0("               2"),
		  "half a column rounds up");
	hist_case(AGGFUNC_LQUANTIZE, p, DATA({1, 1}, {2, 80}),
		  HEAD ROW0("             < 0")
		  "               0 |                                         1        \n"
		  "               1 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@ 80       \n"
		  ROW0("               2"),
		  "less than half down");
	hist_case(AGGFUNC_LQUANTIZE, p, DATA({1, INT64_MAX}, {2, INT64_MAX}),
		  HEAD ROW0("             < 0")
		  "               0 |@@@@@@@@@@@@@@@@@@@@                     9223372036854775807\n"
		  "               1 |@@@@@@@@@@@@@@@@@@@@                     9223372036854775807\n"
		  ROW0("               2"),
		  "totals beyond 64 bits");
	hist_case(AGGFUNC_LQUANTIZE, p, DATA({1, INT64_MIN}),
		  HEAD "             < 0                                         | 0        \n"
		  "               0 @@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@| -9223372036854775808\n"
		  "               1                                         | 0        \n",
		  "the smallest count");
	hist_normal = 10;
	hist_case(AGGFUNC_LQUANTIZE, p, DATA({1, 15}, {2, 5}),
		  HEAD ROW0("             < 0")
		  "               0 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@           1        \n"
		  "               1 |@@@@@@@@@@                               0        \n"
		  ROW0("               2"),
		  "normalize divides counts, not bars or labels");
	hist_normal = 1;
	hist_opts.aggzoom = true;
	hist_case(AGGFUNC_LQUANTIZE, p, DATA({1, 1}, {2, 2}, {3, 1}),
		  HEAD ROW0("             < 0")
		  "               0 |@@@@@@@@@@@@@@@@@@@                      1        \n"
		  "               1 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@   2        \n"
		  "               2 |@@@@@@@@@@@@@@@@@@@                      1        \n"
		  ROW0("            >= 3"),
		  "aggzoom: the highest bar is 95 %");
	hist_opts = (struct print_opts){.encoding = PRINT_ENCODING_UTF8};
	hist_case(AGGFUNC_LQUANTIZE, p, DATA({1, 1}, {2, 80}),
		  HEAD ROW0("             < 0")
		  "               0 |\xe2\x96\x8d                                        1        \n"
		  "               1 |\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88"
		  "\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88"
		  "\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88"
		  "\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88"
		  "\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88"
		  "\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88\xe2\x96\x8c 80       \n"
		  ROW0("               2"),
		  "encoding=utf8: eighths of a cell");
	hist_opts = (struct print_opts){0};
}
/* clang-format on */

/* ---- agghist, aggpack ------------------------------------------------------------------------ */

static void test_agghist(void)
{
	struct fix f;
	uint32_t a;

	fix_init(&f);
	a = fake_agg(&f.fake, AGGFUNC_COUNT, "a");
	fake_key_str(&f.fake, a, KEY_COMM);
	fix_open(&f);
	fake_str_elem(&f.fake, a, "sh", 3);
	fake_str_elem(&f.fake, a, "cat", 1);
	f.opts.agghist = true;
	is_str(fix_aggs(&f),
	       "\n"
	       "\n              key  ------------- Distribution ------------- count    \n"
	       "              cat |@@@@@@@@@@                               1        \n"
	       "               sh |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@           3        \n",
	       "agghist");
	f.opts.aggzoom = true;
	is_str(fix_aggs(&f),
	       "\n"
	       "\n              key  ------------- Distribution ------------- count    \n"
	       "              cat |@@@@@@@@@@@@@                            1        \n"
	       "               sh |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@   3        \n",
	       "with aggzoom");
	fix_deinit(&f);
}

static void test_aggpack(void)
{
	uint32_t a, e;
	struct fix f;

	fix_init(&f);
	a = fake_agg(&f.fake, AGGFUNC_QUANTIZE, "a");
	fake_key_str(&f.fake, a, KEY_COMM);
	fake_key_int(&f.fake, a, 4, true);
	fix_open(&f);
	e = fake_elem(&f.fake, a);
	fake_set_str(&f.fake, a, e, 0, "sh");
	fake_set_int(&f.fake, a, e, 1, 7);
	fake_word(&f.fake, a, e, 0, 66, 9);
	fake_word(&f.fake, a, e, 0, 70, 1);
	e = fake_elem(&f.fake, a);
	fake_set_str(&f.fake, a, e, 0, "cat");
	fake_word(&f.fake, a, e, 0, 67, -1);
	f.opts.aggpack = true;
	f.opts.encoding = PRINT_ENCODING_ASCII;
	is_str(fix_aggs(&f),
	       "\n"
	       "\n                       key min .-------. max | count\n"
	       "              cat        0   2 :  V    : 128 | -1\n"
	       "               sh        7   2 : X   _ : 128 | 10\n",
	       "aggpack in ASCII");
	f.opts.encoding = PRINT_ENCODING_UTF8;
	is_str(fix_aggs(&f),
	       "\n"
	       "\n                       key min .-------. max | count\n"
	       "              cat        0   2 :  V    : 128 | -1\n"
	       "               sh        7   2 : \xe2\x96\x87   \xe2\x96\x82 : 128 | 10\n",
	       "aggpack in UTF-8");
	f.opts.encoding = PRINT_ENCODING_UNSET;
	setenv("TERM", "dumb", 1);
	ok(strchr(fix_aggs(&f), 'X') != NULL, "a dumb terminal gets ASCII");
	setenv("TERM", "xterm", 1);
	ok(strchr(fix_aggs(&f), 'X') == NULL, "another one UTF-8");
	fix_deinit(&f);
}

int main(void)
{
	test_end_of_run();
	test_other_keys();
	test_printa();
	test_sort_options();
	test_joined();
	test_quantize();
	test_lquantize();
	test_llquantize();
	test_bars();
	test_agghist();
	test_aggpack();
	return tap_done();
}
