/* SPDX-License-Identifier: MIT */
/*
 * Aggregations in the data part: under threads and signal handlers, totals come out exactly, also
 * while the tracer reads and takes elements; full tables count what they drop; tables that the
 * tracer empties are used again; elements without keys are set back.
 */
#include "native/hammer.h"

#define NKEYS 500u
#define NOPS  300000u

enum { COUNT, SUM, MINIMUM, MAXIMUM, STDDEV, CELL, NMAPS };

/* What was done, and what the tracer has seen of it. */
struct totals {
	uint64_t count[NKEYS];
	uint64_t sum, cell;
	unsigned __int128 squares;
	uint64_t squares_lock;
	int64_t min, max;
};
static struct totals done, taken;

static void extreme_set(int64_t *p, int64_t x, bool is_min)
{
	int64_t old = __atomic_load_n(p, __ATOMIC_RELAXED);

	while (is_min ? x < old : x > old)
		if (__atomic_compare_exchange_n(p, &old, x, false, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED))
			return;
}

static u64 *value_get(struct env *t, uint32_t map, u64 key, u64 cpu)
{
	return BLOB(t, VALUE, value)(t->head, map, &key, cpu);
}

/* 128 bits are added in two halves: the handler may come in between, and adds both of its own. */
static uint64_t done_low, done_high;

static void squares_add(int64_t x)
{
	unsigned __int128 sq = (unsigned __int128)((__int128)x * x);
	uint64_t low = (uint64_t)sq;

	if (__atomic_add_fetch(&done_low, low, __ATOMIC_RELAXED) < low)
		(void)__atomic_fetch_add(&done_high, 1, __ATOMIC_RELAXED);
	(void)__atomic_fetch_add(&done_high, (uint64_t)(sq >> 64), __ATOMIC_RELAXED);
}

static void op_aggs(struct hammer *h, uint64_t *seed, uint32_t writer)
{
	struct env *t = h->env;
	uint64_t r = env_random(seed), key = r % NKEYS, cpu = (r >> 20) % ENV_CPUS;
	int64_t x = (int64_t)env_random(seed);
	u64 *v = value_get(t, COUNT, key, cpu);

	if (v) {
		(void)__atomic_fetch_add(v, 1, __ATOMIC_RELAXED);
		(void)__atomic_fetch_add(&done.count[key], 1, __ATOMIC_RELAXED);
	}
	v = value_get(t, SUM, key * 8, cpu);
	if (v) {
		(void)__atomic_fetch_add(v, (u64)x, __ATOMIC_RELAXED);
		(void)__atomic_fetch_add(&done.sum, (uint64_t)x, __ATOMIC_RELAXED);
	}
	v = value_get(t, MINIMUM, 1, cpu);
	if (v) {
		BLOB(t, MIN, min)(v, x);
		extreme_set(&done.min, x, true);
	}
	BLOB(t, MAX, max)(BLOB(t, CELL, cell)(t->head, MAXIMUM, 0, cpu), x);
	extreme_set(&done.max, x, false);
	v = value_get(t, STDDEV, key % 3, cpu);
	if (v) {
		BLOB(t, STDDEV, stddev)(v, x);
		squares_add(x);
	}
	v = BLOB(t, CELL, cell)(t->head, CELL, 0, cpu);
	(void)__atomic_fetch_add(v, 1, __ATOMIC_RELAXED);
	__atomic_store_n(v + 1, 1, __ATOMIC_RELAXED);
	(void)__atomic_fetch_add(&done.cell, 1, __ATOMIC_RELAXED);
}

/* ---- what the tracer sees -------------------------------------------------------------------- */

struct seen {
	struct env *t;
	uint32_t map;
	struct totals *to;
	uint64_t ncalls;
	bool is_twice; /* a key came twice */
	bool had[NKEYS * 8];
};

static uint64_t word_at(const uint8_t *values, uint32_t cpu, uint32_t stride, uint32_t i)
{
	uint64_t w;

	memcpy(&w, values + (size_t)cpu * stride + (size_t)i * 8, sizeof(w));
	return w;
}

static void values_count(struct env *t, uint32_t map, uint64_t key, const uint8_t *values,
			 uint32_t ncpus, struct totals *to)
{
	uint32_t stride = elem_map_stride(&t->agg_maps[map]);

	for (uint32_t cpu = 0; cpu < ncpus; cpu++) {
		uint64_t w = word_at(values, cpu, stride, 0);

		switch (map) {
		case COUNT: to->count[key % NKEYS] += w; break;
		case SUM: to->sum += w; break;
		case MINIMUM:
			extreme_set(&to->min, (int64_t)(w ^ (uint64_t)INT64_MAX), true);
			break;
		case MAXIMUM:
			extreme_set(&to->max, (int64_t)(w ^ (uint64_t)INT64_MIN), false);
			break;
		case STDDEV:
			to->squares += (unsigned __int128)word_at(values, cpu, stride, 3) << 64 |
				       word_at(values, cpu, stride, 2);
			break;
		default: to->cell += w; break;
		}
	}
}

static void elem_see(void *arg, const uint8_t *key, const uint8_t *values, uint32_t ncpus)
{
	struct seen *s = arg;
	uint64_t k = 0;

	memcpy(&k, key, s->t->agg_maps[s->map].key_size ? 8 : 4);
	s->ncalls++;
	s->is_twice |= k >= ARRAY_LEN(s->had) || s->had[k];
	if (k >= ARRAY_LEN(s->had))
		return;
	s->had[k] = true;
	values_count(s->t, s->map, k, values, ncpus, s->to);
}

static bool snapshot(struct env *t, uint32_t map, struct totals *to, uint64_t *ret_calls)
{
	struct seen s = {.t = t, .map = map, .to = to};

	if (!env_ok(ndata_aggs.each(t->d, map, elem_see, &s), "each"))
		return false;
	if (ret_calls)
		*ret_calls = s.ncalls;
	return !s.is_twice;
}

static void take(struct env *t, uint32_t map, uint64_t key)
{
	const uint8_t *values = NULL;
	uint32_t ncpus = 0;

	if (env_ok(ndata_aggs.take(t->d, map, &key, &values, &ncpus), "take") && values)
		values_count(t, map, key, values, ncpus, &taken);
}

static void env_aggs(struct env *t)
{
	(void)env_agg(t, AGGFUNC_COUNT, 8, 4096);
	(void)env_agg(t, AGGFUNC_SUM, 8, 4096);
	(void)env_agg(t, AGGFUNC_MIN, 8, 4096);
	(void)env_agg(t, AGGFUNC_MAX, 0, 1);
	(void)env_agg(t, AGGFUNC_STDDEV, 8, 100);
	(void)env_agg(t, AGGFUNC_COUNT, 0, 1);
	env_open(t, 1 << 16);
}

static void test_hammer(void)
{
	struct env t = {0};
	struct hammer h = {.env = &t, .op = op_aggs, .n = NOPS};
	struct totals partial, all = {.min = INT64_MAX, .max = INT64_MIN};
	uint64_t seed = 5, ntakes = 0, nsnaps = 0, ngreater = 0;
	bool is_once = true;

	done.min = taken.min = INT64_MAX;
	done.max = taken.max = INT64_MIN;
	env_aggs(&t);
	hammer_start(&h);
	while (hammer_runs(&h)) {
		for (uint32_t i = 0; i < 50; i++, ntakes++) {
			take(&t, COUNT, env_random(&seed) % NKEYS);
			take(&t, SUM, env_random(&seed) % NKEYS * 8);
		}
		take(&t, MINIMUM, 1);
		take(&t, STDDEV, env_random(&seed) % 3);
		for (uint32_t map = 0; map < NMAPS; map++) {
			partial = (struct totals){.min = INT64_MAX, .max = INT64_MIN};
			is_once &= snapshot(&t, map, &partial, NULL);
			ngreater += map == CELL && partial.cell > NOPS * HAMMER_THREADS * 2;
		}
		nsnaps++;
	}
	hammer_join(&h);
	for (uint32_t map = 0; map < NMAPS; map++)
		is_once &= snapshot(&t, map, &all, NULL);
	printf("# %llu signals, %llu takes, %llu snapshots\n", (unsigned long long)h.nsignals,
	       (unsigned long long)ntakes, (unsigned long long)nsnaps);
	ok(h.nsignals > 100 && ntakes > 0, "the handler has run, and elements were taken");
	ok(is_once && !ngreater, "each key came once in each snapshot");
	for (uint32_t k = 0; k < NKEYS; k++)
		if (all.count[k] + taken.count[k] != done.count[k]) {
			printf("# key %u: %llu + %llu of %llu\n", k,
			       (unsigned long long)all.count[k], (unsigned long long)taken.count[k],
			       (unsigned long long)done.count[k]);
			ok(false, "count() of a key");
			break;
		}
	is_int(all.sum + taken.sum, done.sum, "sum() is exact");
	is_int(MIN(all.min, taken.min), done.min, "min() of what was taken and what is left");
	is_int(all.max, done.max, "max() without a key");
	is_int(all.cell, done.cell, "count() without a key is exact");
	all.squares += taken.squares;
	ok((uint64_t)all.squares == done_low && (uint64_t)(all.squares >> 64) == done_high,
	   "the 128 bits of stddev() are exact");
	env_close(&t);
}

/* ---- full tables, and tables that are used again --------------------------------------------- */

static void test_full(void)
{
	struct env t = {0};
	struct rt_control *c = xcalloc(1, sizeof(*c) + ENV_CPUS * sizeof(c->cpu[0]));
	uint64_t in = 0, drops = 0, ncalls = 0;
	struct totals all = {0};

	c->ncpus = ENV_CPUS;
	(void)env_agg(&t, AGGFUNC_COUNT, 8, 100);
	env_open(&t, 1 << 16);
	for (u64 key = 0; key < 1000; key++) {
		u64 *v = value_get(&t, 0, key % NKEYS + (key >= NKEYS ? NKEYS * 4 : 0), 2);

		if (v)
			++*v;
		in += v != NULL;
		drops += v == NULL;
	}
	is_int(ndata_aggs.drops(t.d), drops, "drops() before they are handed over");
	(void)env_ok(ndata_count(t.d, c), "count");
	is_int(c->cpu[2].agg_drops, drops, "a full table counts what finds no room");
	ok(in >= 100 && in <= t.plan->tables[0].slots,
	   "it has the elements that the option allows");
	(void)env_ok(ndata_count(t.d, c), "count");
	is_int(c->cpu[2].agg_drops, drops, "counted once");
	is_int(ndata_aggs.drops(t.d), 0, "drops() after they were handed over");
	(void)snapshot(&t, 0, &all, &ncalls);
	is_int(ncalls, in, "all elements that found room are read");
	env_close(&t);
	free(c);
}

static void test_reuse(void)
{
	struct env t = {0};
	uint64_t key = 0, missed = 0, sum = 0;

	(void)env_agg(&t, AGGFUNC_COUNT, 8, 100);
	env_open(&t, 1 << 16);
	t.d->grace_ns = 0;
	taken = (struct totals){0};
	for (uint32_t round = 0; round < 40; round++) {
		struct totals all = {0};
		uint64_t first = key;

		for (; key < first + 60; key++) {
			u64 *v = value_get(&t, 0, key, 0);

			missed += !v;
			if (v)
				++*v;
		}
		(void)snapshot(&t, 0, &all, NULL);
		for (uint64_t k = first; k < key; k++) {
			const uint8_t *values = NULL;
			uint32_t ncpus = 0;

			(void)env_ok(ndata_aggs.take(t.d, 0, &k, &values, &ncpus), "take");
			if (values)
				sum += word_at(values, 0, 8, 0);
		}
	}
	is_int(missed, 0, "slots of elements that were taken are used again");
	is_int(sum, key, "and each element was counted once");
	env_close(&t);
}

/* An update that has found its element before it was taken is not lost. */
static void test_late(void)
{
	struct env t = {0};
	struct totals all = {0};
	u64 *v;
	bool is_done = true;
	uint64_t key = 7, three = 3;

	(void)env_agg(&t, AGGFUNC_COUNT, 8, 100);
	env_open(&t, 1 << 16);
	taken = (struct totals){0};
	v = value_get(&t, 0, key, 1);
	*v += 5;
	take(&t, 0, key);
	*v += 2;
	is_int(taken.count[key], 5, "what was there is taken");
	ok(value_get(&t, 0, key, 1) != v, "the key gets a new element");
	(void)snapshot(&t, 0, &all, NULL);
	is_int(all.count[key], 2, "a late update is in the next snapshot");
	all = (struct totals){0};
	(void)snapshot(&t, 0, &all, NULL);
	is_int(all.count[key], 2, "and in the one after it");
	(void)env_ok(ndata_aggs.put(t.d, 0, &key, (const uint8_t *)&three, &is_done), "put");
	ok(!is_done, "put() says that there is an element");
	key = 8;
	(void)env_ok(ndata_aggs.put(t.d, 0, &key, (const uint8_t *)&three, &is_done), "put");
	all = (struct totals){0};
	(void)snapshot(&t, 0, &all, NULL);
	ok(is_done && all.count[8] == 3, "put() adds an element that is not there");
	++*value_get(&t, 0, key, 3);
	take(&t, 0, key);
	is_int(taken.count[8], 4, "take() takes both parts of it");
	env_close(&t);
}

/* ---- elements without keys ------------------------------------------------------------------- */

static struct cell_seen {
	uint64_t value, touched;
} cell_seen;

static void cell_see(void *arg, const uint8_t *key, const uint8_t *values, uint32_t ncpus)
{
	const struct agg_layout *al = arg;
	struct cell_seen *s = &cell_seen;
	uint32_t stride = al->val_size;
	bool is_min = al->agg->func == AGGFUNC_MIN;

	*s = (struct cell_seen){is_min ? (uint64_t)INT64_MAX : 0, 0};
	for (uint32_t cpu = 0; cpu < ncpus; cpu++) {
		uint64_t w = word_at(values, cpu, stride, 0);

		if (is_min)
			extreme_set((int64_t *)&s->value, (int64_t)(w ^ (uint64_t)INT64_MAX), true);
		else
			s->value += w;
		s->touched |= word_at(values, cpu, stride, al->touched_off / 8);
	}
}

static void cell_snapshot(struct env *t, uint32_t map)
{
	(void)env_ok(ndata_aggs.each(t->d, map, cell_see, &t->aggs[map]), "each");
}

static void cell_add(struct env *t, uint32_t map, uint32_t cpu, int64_t x)
{
	u64 *v = BLOB(t, CELL, cell)(t->head, map, 0, cpu);

	if (t->progs[map].func == AGGFUNC_MIN)
		BLOB(t, MIN, min)(v, x);
	else
		*v += (u64)x;
	v[1] = 1;
}

static void test_cells(void)
{
	struct env t = {0};
	const uint8_t *values;
	uint32_t ncpus, zero = 0;
	uint64_t none[2] = {0};
	bool is_done;

	(void)env_agg(&t, AGGFUNC_SUM, 0, 1);
	(void)env_agg(&t, AGGFUNC_MIN, 0, 1);
	env_open(&t, 1 << 16);
	for (uint32_t map = 0; map < 2; map++) {
		bool is_min = map == 1;
		u64 *old;

		cell_snapshot(&t, map);
		ok(cell_seen.touched == 0, "nobody has touched it");
		for (uint32_t round = 0; round < 20; round++) {
			int64_t x = is_min ? 10 + (int64_t)round : 10;

			cell_add(&t, map, 1, x);
			cell_add(&t, map, 3, x + 20);
			old = BLOB(&t, CELL, cell)(t.head, map, 0, 1);
			cell_snapshot(&t, map);
			if (cell_seen.value != (uint64_t)(is_min ? x : 40) || !cell_seen.touched)
				ok(false, "round %u of map %u: %lld", round, map,
				   (long long)cell_seen.value);
			values = NULL;
			(void)env_ok(ndata_aggs.take(t.d, map, &zero, &values, &ncpus), "take");
			if (!is_min)
				cell_add(&t, map, 0, 1);
			(void)env_ok(ndata_aggs.put(t.d, map, &zero, (uint8_t *)none, &is_done),
				     "put");
			cell_snapshot(&t, map);
			if (is_min ? cell_seen.value != INT64_MAX || cell_seen.touched
				   : cell_seen.value != 1)
				ok(false, "after put in round %u of map %u: %lld", round, map,
				   (long long)cell_seen.value);
			if (is_min)
				continue;
			(void)env_ok(ndata_aggs.take(t.d, map, &zero, &values, &ncpus), "take");
			(void)env_ok(ndata_aggs.put(t.d, map, &zero, (uint8_t *)none, &is_done),
				     "put");
		}
		ok(true, "an element without a key is set back again and again");
		if (is_min) {
			BLOB(&t, MIN, min)(old, -5);
			cell_snapshot(&t, map);
			is_int(cell_seen.value, -5, "a late update of an older bank counts");
		}
	}
	env_close(&t);
}

int main(void)
{
	test_hammer();
	test_full();
	test_reuse();
	test_late();
	test_cells();
	return tap_done();
}
