/* SPDX-License-Identifier: MIT */
/*
 * Counters of sites: they are part of their element in every view, also where the same key is in
 * the table; what is taken is gone, and what comes later is not lost; and which clauses have one.
 */
#include "tap.h"

#include "env.h"
#include "prog.h"

/* The word that a stub adds to. */
static u64 *counter_word(const struct env *t, uint32_t i, uint32_t cpu)
{
	return (u64 *)(void *)((uint8_t *)t->head + t->plan->counters_off +
			       ((uint64_t)cpu << t->plan->counters_shift)) +
	       i;
}

static void result_check(struct err *e, const char *what)
{
	if (e)
		BUG("%s: %s", what, err_text(e));
}

static uint32_t counter_add(struct env *t, uint32_t map, const void *key)
{
	uint32_t n = UINT32_MAX;

	ok(ndata_counter_make(t->d, &n), "a counter is given");
	ndata_counter_add(t->d, n, map, key);
	return n;
}

/* An element: the sum of its first words, whether it is touched, and how often it was seen. */
static struct {
	uint64_t key, sum, touched, seen;
} elem;

static void elem_see(void *arg, const uint8_t *key, const uint8_t *values, uint32_t ncpus)
{
	const struct agg_layout *al = arg;
	uint64_t word;

	if (al->key_size && memcmp(key, &elem.key, sizeof(elem.key)) != 0)
		return;
	elem.seen++;
	for (uint32_t cpu = 0; cpu < ncpus; cpu++) {
		memcpy(&word, values + cpu * al->val_size, sizeof(word));
		elem.sum += word;
		if (!al->key_size && word) {
			memcpy(&word, values + cpu * al->val_size + al->touched_off, sizeof(word));
			elem.touched += word;
		}
	}
}

static uint64_t elem_sum(struct env *t, uint32_t map, uint64_t key)
{
	elem.key = key;
	elem.sum = elem.touched = elem.seen = 0;
	result_check(ndata_aggs.each(t->d, map, elem_see, &t->aggs[map]), "each");
	return elem.sum;
}

static uint64_t elem_read(struct env *t, uint32_t map, uint64_t key, bool takes, bool *ret_found)
{
	const uint8_t *values = NULL;
	uint32_t ncpus;
	uint64_t sum = 0, word;

	result_check((takes ? ndata_aggs.take : ndata_aggs.peek)(t->d, map, &key, &values, &ncpus),
		     "read");
	*ret_found = values;
	for (uint32_t cpu = 0; values && cpu < ncpus; cpu++) {
		memcpy(&word, values + cpu * t->aggs[map].val_size, sizeof(word));
		sum += word;
	}
	return sum;
}

static void test_keys(void)
{
	struct env t = {.ncounters = 3};
	uint64_t key = 7, other = 9;
	uint32_t a, b, c, n;
	bool is_found;

	(void)env_agg(&t, AGGFUNC_COUNT, 8, 100);
	env_open(&t, 1 << 16);
	a = counter_add(&t, 0, &key);
	b = counter_add(&t, 0, &key);
	c = counter_add(&t, 0, &other);
	ok(!ndata_counter_make(t.d, &n), "there are no more of them than were asked for");
	(void)elem_sum(&t, 0, key);
	is_int(elem.seen, 0, "an element that was never counted is not there");
	(void)elem_read(&t, 0, key, false, &is_found);
	ok(!is_found, "nor is it when it is looked for");
	*counter_word(&t, a, 0) += 1;
	*counter_word(&t, a, 3) += 10;
	*counter_word(&t, b, 3) += 100;
	*counter_word(&t, c, 1) += 5;
	*BLOB(&t, VALUE, value)(t.head, 0, &key, 2) += 1000;
	is_int(elem_sum(&t, 0, key), 1111, "the counters of all CPUs and the table are added up");
	is_int(elem.seen, 1, "as one element");
	is_int(elem_sum(&t, 0, other), 5, "another key has its own");
	is_int(elem_read(&t, 0, key, false, &is_found), 1111, "peek() sees the same");
	is_int(elem_read(&t, 0, key, true, &is_found), 1111, "and so does take()");
	(void)elem_sum(&t, 0, key);
	is_int(elem.seen, 0, "after which it is not there");
	*counter_word(&t, b, 0) += 2;
	is_int(elem_sum(&t, 0, key), 2, "until it is counted again");
	/* the block behind those of CPUs is the owner thread's */
	*counter_word(&t, b, 4) += 30;
	*counter_word(&t, c, 4) += 20;
	is_int(elem_sum(&t, 0, key), 32, "what the owner has counted is added");
	is_int(elem_read(&t, 0, key, true, &is_found), 32, "and is taken");
	*counter_word(&t, b, 4) += 2;
	is_int(elem_sum(&t, 0, key), 2, "until it counts again");
	is_int(elem_read(&t, 0, other, true, &is_found), 25, "each word has its own base");
	*counter_word(&t, c, 1) += 5;
	is_int(elem_sum(&t, 0, other), 5, "the other one stays");
	env_close(&t);
}

static void test_without_keys(void)
{
	struct env t = {.ncounters = 2};
	uint32_t zero = 0, i;
	uint64_t none[2] = {0};
	bool is_found, is_done;

	(void)env_agg(&t, AGGFUNC_COUNT, 0, 1);
	env_open(&t, 1 << 16);
	i = counter_add(&t, 0, &zero);
	(void)elem_sum(&t, 0, 0);
	is_int(elem.touched, 0, "nobody has touched it");
	*counter_word(&t, i, 1) += 3;
	*counter_word(&t, i, 2) += 4;
	is_int(elem_sum(&t, 0, 0), 7, "the counters of all CPUs are added up");
	is_int(elem.touched, 2, "it is touched on both");
	is_int(elem_read(&t, 0, 0, true, &is_found), 7, "it is taken");
	*counter_word(&t, i, 3) += 1;
	result_check(ndata_aggs.put(t.d, 0, &zero, (const uint8_t *)none, &is_done), "put");
	is_int(elem_sum(&t, 0, 0), 1, "what came between take() and put() is not lost");
	*counter_word(&t, i, 3) += 1;
	result_check(ndata_aggs.put(t.d, 0, &zero, (const uint8_t *)none, &is_done), "put");
	is_int(elem_sum(&t, 0, 0), 0, "put() alone replaces the value");
	env_close(&t);
}

/* A site that counts in several elements has one word for all, of which each is taken alone. */
static void test_shared(void)
{
	struct env t = {.ncounters = 2};
	uint64_t key = 7, other = 9;
	uint32_t a, b;
	bool is_found;

	(void)env_agg(&t, AGGFUNC_COUNT, 8, 100);
	env_open(&t, 1 << 16);
	a = counter_add(&t, 0, &key);
	b = counter_add(&t, 0, &other);
	ndata_counter_add(t.d, a, 0, &other);
	ndata_counter_add(t.d, b, 0, &other);
	*counter_word(&t, a, 1) += 10;
	*counter_word(&t, b, 2) += 1;
	is_int(elem_sum(&t, 0, key), 10, "the first element has one counter");
	is_int(elem_sum(&t, 0, other), 12, "the other one has both, one of them twice");
	is_int(elem_read(&t, 0, other, true, &is_found), 12, "it is taken");
	is_int(elem_sum(&t, 0, key), 10, "and the first one stays");
	*counter_word(&t, a, 1) += 5;
	is_int(elem_sum(&t, 0, key), 15, "what comes then is counted there");
	is_int(elem_sum(&t, 0, other), 5, "and anew in the one that was taken");
	env_close(&t);
}

/* So many sites count in one element that their words are read at once. */
static void test_many(void)
{
	enum { N = 500 };
	struct env t = {.ncounters = N};
	uint64_t key = 7, sum = 0;
	uint32_t n = 0;
	bool is_found;

	(void)env_agg(&t, AGGFUNC_COUNT, 8, 100);
	env_open(&t, 1 << 16);
	for (uint32_t i = 0; i < N && ndata_counter_make(t.d, &n); i++) {
		ndata_counter_add(t.d, n, 0, &key);
		*counter_word(&t, n, i % 4) += i + 1;
		sum += i + 1;
	}
	is_int(n, N - 1, "all counters are given");
	is_int(elem_read(&t, 0, key, false, &is_found), sum, "all are added up");
	is_int(elem_read(&t, 0, key, true, &is_found), sum, "and taken");
	*counter_word(&t, N - 1, 3) += 2;
	*counter_word(&t, 0, 0) += 1;
	is_int(elem_read(&t, 0, key, true, &is_found), 3, "what comes later is not lost");
	(void)elem_read(&t, 0, key, false, &is_found);
	ok(!is_found, "then the element is not there");
	env_close(&t);
}

static void test_bounds(void)
{
	struct env t = {.ncounters = 100};
	struct ndata_opts opts = {.layout = &t.layout, .ncpus = 4096, .bufsize = 1 << 16};
	struct blob_plan *plan;

	(void)env_agg(&t, AGGFUNC_COUNT, 0, 1);
	env_open(&t, 1 << 16);
	ok((1ull << t.plan->counters_shift) >= 800 && t.plan->ncounters == 100,
	   "a CPU's counters have room");
	ok(t.plan->counters_off + (5ull << t.plan->counters_shift) <= t.plan->size,
	   "and so have the owner's, behind those of four CPUs");
	opts.ncounters = 1 << 20;
	result_check(blob_plan_create(&opts, &plan), "plan");
	is_int(plan->ncounters, 0, "there are none where all CPUs' would be too large");
	blob_plan_destroy(plan);
	env_close(&t);
}

/* ---- which clauses --------------------------------------------------------------------------- */

/* The function that the stub would call counts in the same elements: of one aggregation each. */
static void same_elements_check(const char *text, uint32_t site, uint32_t ncounts)
{
	struct nx *x = nx_of(text);
	const struct native_entry *entry = &x->run->code.entries[site];

	ok(entry->ncounts == ncounts, "counts by itself: %s", text);
	nx_fire(x, site, 1, 2);
	for (uint32_t i = 0; i < entry->ncounts; i++) {
		const struct agg_layout *al = &x->layout->aggs[i];
		int64_t n = 0;

		is_int(entry->counts[i].map, al->map, "in the table of the aggregation");
		ok(nrun_agg(x->run, i + 1, al->key_size ? entry->counts[i].key : NULL, 0, &n) &&
			   n == 1,
		   "in the element in which the function counts");
	}
	nx_destroy(x);
}

static void test_clauses(void)
{
	static const char *const not_by_itself[] = {
		"pid1:a.out:f:entry /arg0/ { @[probefunc] = count(); }",
		"pid1:a.out:f:entry { @[probefunc, arg0] = count(); }",
		"pid1:a.out:f:entry { @[probefunc] = sum(1); }",
		"pid1:a.out:f:entry { @[probefunc] = count(); @b = sum(1); }",
		"pid1:a.out:f:entry { @[probefunc] = count(); @b[arg0] = count(); }",
		"pid1:a.out:f:entry { @[probefunc] = count(); trace(arg0); }",
		"pid1:a.out:f:entry { @[probefunc] = count(); } "
		"pid1:a.out:f:entry /arg0/ { @b = count(); }",
		/* one more than NATIVE_COUNTS_MAX */
		"pid1:a.out:f:entry { @ = count(); @ = count(); @ = count(); @ = count(); "
		"@ = count(); @ = count(); @ = count(); @ = count(); @ = count(); @ = count(); "
		"@ = count(); @ = count(); @ = count(); @ = count(); @ = count(); @ = count(); "
		"@ = count(); }",
	};

	same_elements_check("pid1:a.out:f:entry { @ = count(); }", SITE_F_ENTRY, 1);
	same_elements_check("pid1:a.out:f:entry { @[probefunc, probename] = count(); }",
			    SITE_F_ENTRY, 1);
	same_elements_check("pid1:a.out::return { @[probemod, \"x\", pid, id] = count(); }",
			    SITE_G_TAIL, 1);
	same_elements_check("pid1:a.out:f:entry { @[probefunc] = count(); } "
			    "pid1:a.out:f:return { @b[probename] = count(); }",
			    SITE_F_ENTRY, 1);
	same_elements_check("pid1:a.out:f:entry { @[probefunc] = count(); @b = count(); }",
			    SITE_F_ENTRY, 2);
	same_elements_check("pid1:a.out:f:entry { @[probefunc] = count(); } "
			    "pid1:a.out:f:entry { @b = count(); @c[probename, pid] = count(); }",
			    SITE_F_ENTRY, 3);
	for (uint32_t i = 0; i < ARRAY_LEN(not_by_itself); i++) {
		struct nx *x = nx_of(not_by_itself[i]);

		ok(!x->run->code.entries[SITE_F_ENTRY].counts, "needs its function: %s",
		   not_by_itself[i]);
		nx_destroy(x);
	}
}

int main(void)
{
	test_keys();
	test_without_keys();
	test_shared();
	test_many();
	test_bounds();
	test_clauses();
	return tap_done();
}
