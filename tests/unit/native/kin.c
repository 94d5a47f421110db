/* SPDX-License-Identifier: MIT */
/*
 * Data parts of children: elements, counters and records are handed out with those of the parent,
 * as if they were one; what is taken is taken from both; and what a child has counted stays when it
 * has ended, up to a bound.
 */
#include "tap.h"

#include "env.h"

enum { KEYED, GREATEST, CELL, LEAST };

struct kin {
	struct env t;
	int fd;
	struct blob_data *head;
	struct ndata *x;
	struct rt_control *control;
};

static void result_check(struct err *e, const char *what)
{
	if (e)
		BUG("%s: %s", what, err_text(e));
}

/* Code of the child has its number in its conf; here one piece of code serves both. */
static void child_add(struct kin *k)
{
	const struct ndata_hooks hooks = {.pid = 4711};

	k->fd = memfd_create("child", MFD_CLOEXEC);
	if (k->fd < 0 || ftruncate(k->fd, (off_t)k->t.plan->size) != 0)
		BUG("memfd");
	k->head = mmap(NULL, k->t.plan->size, PROT_READ | PROT_WRITE, MAP_SHARED, k->fd, 0);
	if (k->head == MAP_FAILED)
		BUG("mmap");
	result_check(ndata_kin_create(k->t.d, k->fd, &hooks, RT_STATE_ON, &k->x), "create");
	k->x->cookie = k->t.d->cookie;
}

static void child_end(struct kin *k)
{
	ndata_kin_end(k->t.d, k->x, k->control);
	(void)munmap(k->head, k->t.plan->size);
	(void)close(k->fd);
}

static void kin_open(struct kin *k)
{
	*k = (struct kin){.t = {.ncounters = 2}};
	(void)env_agg(&k->t, AGGFUNC_COUNT, 8, 100);
	(void)env_agg(&k->t, AGGFUNC_MAX, 8, 100);
	(void)env_agg(&k->t, AGGFUNC_COUNT, 0, 1);
	(void)env_agg(&k->t, AGGFUNC_MIN, 0, 1);
	env_open(&k->t, 1 << 16);
	k->control = xcalloc(1, sizeof(*k->control) + ENV_CPUS * sizeof(k->control->cpu[0]));
	k->control->ncpus = ENV_CPUS;
	child_add(k);
}

static void kin_close(struct kin *k)
{
	child_end(k);
	env_close(&k->t);
	free(k->control);
}

/* What each() hands out of a map: the elements, and the sum or the greatest of the words. */
static struct {
	uint64_t key, sum, touched;
	uint32_t nseen, nall;
} seen;

static void elem_see(void *arg, const uint8_t *key, const uint8_t *values, uint32_t ncpus)
{
	const struct agg_layout *al = arg;

	seen.nall++;
	if (al->key_size && memcmp(key, &seen.key, sizeof(seen.key)) != 0)
		return;
	seen.nseen++;
	for (uint32_t cpu = 0; cpu < ncpus; cpu++) {
		uint64_t words[2] = {0};

		memcpy(words, values + cpu * al->val_size, al->val_size);
		if (al->agg->func == AGGFUNC_COUNT)
			seen.sum += words[0];
		else
			seen.sum = MAX(seen.sum, words[0]);
		seen.touched |= al->key_size ? 0 : words[1];
	}
}

static uint64_t map_see(struct kin *k, uint32_t map, uint64_t key)
{
	memset(&seen, 0, sizeof(seen));
	seen.key = key;
	result_check(ndata_aggs.each(k->t.d, map, elem_see, &k->t.aggs[map]), "each");
	return seen.sum;
}

static uint64_t key_take(struct kin *k, uint32_t map, uint64_t key)
{
	const uint8_t *values = NULL;
	uint32_t ncpus;
	uint64_t sum = 0, word;

	result_check(ndata_aggs.take(k->t.d, map, &key, &values, &ncpus), "take");
	is_int(values ? ncpus : 0, values ? ENV_CPUS : 0, "of one process's CPUs");
	for (uint32_t cpu = 0; values && cpu < ncpus; cpu++) {
		memcpy(&word, values + cpu * k->t.aggs[map].val_size, sizeof(word));
		sum += word;
	}
	return sum;
}

static void count(struct kin *k, struct blob_data *head, uint64_t key, uint64_t n, uint32_t cpu)
{
	u64 *v = BLOB(&k->t, VALUE, value)(head, KEYED, &key, cpu);

	if (v)
		*v += n;
}

static void greatest(struct kin *k, struct blob_data *head, s64 x)
{
	u64 key = 7;

	BLOB(&k->t, MAX, max)(BLOB(&k->t, VALUE, value)(head, GREATEST, &key, 1), x);
}

static void test_keys(void)
{
	struct kin k;

	kin_open(&k);
	count(&k, k.t.head, 7, 1, 0);
	count(&k, k.head, 7, 10, 0);
	count(&k, k.head, 7, 100, 2);
	count(&k, k.head, 8, 5, 1);
	is_int(map_see(&k, KEYED, 7), 111, "both processes have counted");
	is_int(seen.nseen, 1, "in one element");
	is_int(seen.nall, 2, "of two");
	is_int(map_see(&k, KEYED, 8), 5, "the other one is the child's alone");
	is_int(key_take(&k, KEYED, 7), 111, "it is taken from both");
	(void)map_see(&k, KEYED, 7);
	is_int(seen.nseen, 0, "and is in neither");
	count(&k, k.head, 7, 3, 0);
	is_int(map_see(&k, KEYED, 7), 3, "until the child counts again");
	greatest(&k, k.t.head, 50);
	greatest(&k, k.head, 70);
	is_int((int64_t)(map_see(&k, GREATEST, 7) ^ (uint64_t)INT64_MIN), 70,
	       "the child's is greater");
	child_end(&k);
	is_int(map_see(&k, KEYED, 7), 3, "what it has counted stays when it has ended");
	is_int((int64_t)(map_see(&k, GREATEST, 7) ^ (uint64_t)INT64_MIN), 70, "and its greatest");
	is_int(key_take(&k, KEYED, 8), 5, "and can be taken");
	(void)map_see(&k, KEYED, 8);
	is_int(seen.nseen, 0, "once");
	child_add(&k);
	kin_close(&k);
}

static void cell_add(struct kin *k, struct blob_data *head, uint64_t n)
{
	u64 *v = BLOB(&k->t, CELL, cell)(head, CELL, 0, 1);

	v[0] += n;
	v[1] = 1;
}

static void least(struct kin *k, struct blob_data *head, s64 x)
{
	u64 *v = BLOB(&k->t, CELL, cell)(head, LEAST, 0, 1);

	BLOB(&k->t, MIN, min)(v, x);
	v[1] = 1;
}

static int64_t least_see(struct kin *k)
{
	return (int64_t)(map_see(k, LEAST, 0) ^ (uint64_t)INT64_MAX);
}

static void cell_clear(struct kin *k, uint32_t map)
{
	uint32_t zero = 0;
	uint64_t none[2] = {0};
	bool is_done;

	result_check(ndata_aggs.put(k->t.d, map, &zero, (const uint8_t *)none, &is_done), "put");
}

static void test_without_keys(void)
{
	struct kin k;

	kin_open(&k);
	(void)map_see(&k, CELL, 0);
	is_int(seen.touched, 0, "nobody has touched it");
	cell_add(&k, k.head, 4);
	is_int(map_see(&k, CELL, 0), 4, "the child has counted");
	is_int(seen.touched, 1, "and touched it");
	cell_add(&k, k.t.head, 3);
	is_int(map_see(&k, CELL, 0), 7, "and so has its parent");
	cell_clear(&k, CELL);
	is_int(map_see(&k, CELL, 0), 0, "both begin anew");
	cell_add(&k, k.head, 1);
	is_int(map_see(&k, CELL, 0), 1, "the child goes on");
	least(&k, k.t.head, 9);
	least(&k, k.head, 5);
	is_int(least_see(&k), 5, "the least one is the child's");
	cell_clear(&k, LEAST);
	least(&k, k.head, 20);
	is_int(least_see(&k), 20, "which begins anew, too");
	child_end(&k);
	is_int(map_see(&k, CELL, 0), 1, "what it has counted stays");
	is_int(seen.touched, 1, "touched");
	is_int(least_see(&k), 20, "and its least one");
	cell_clear(&k, CELL);
	is_int(map_see(&k, CELL, 0), 0, "until that is set back");
	child_add(&k);
	kin_close(&k);
}

static u64 *counter_word(struct kin *k, struct blob_data *head, uint32_t i, uint32_t cpu)
{
	return (u64 *)(void *)((uint8_t *)head + k->t.plan->counters_off +
			       ((uint64_t)cpu << k->t.plan->counters_shift)) +
	       i;
}

static void test_counters(void)
{
	struct kin k;
	uint64_t key = 7, other = 9;
	uint32_t a = 0, b = 0;

	kin_open(&k);
	ok(ndata_counter_make(k.t.d, &a) && ndata_counter_make(k.t.d, &b), "two counters");
	ndata_counter_add(k.t.d, a, KEYED, &key);
	ndata_counter_add(k.t.d, b, KEYED, &other);
	*counter_word(&k, k.t.head, a, 0) += 1;
	*counter_word(&k, k.head, a, 0) += 10;
	*counter_word(&k, k.head, b, 3) += 5;
	is_int(map_see(&k, KEYED, key), 11, "the words of both count");
	is_int(map_see(&k, KEYED, other), 5, "in the element of each");
	is_int(key_take(&k, KEYED, key), 11, "they are taken");
	*counter_word(&k, k.head, a, 1) += 2;
	child_end(&k);
	is_int(map_see(&k, KEYED, key), 2, "what came then is there when the child has ended");
	child_add(&k);
	*counter_word(&k, k.head, a, 1) += 1;
	is_int(map_see(&k, KEYED, key), 3, "and what the next one counts");
	is_int(key_take(&k, KEYED, other), 5, "and the other element");
	kin_close(&k);
}

static void record(struct kin *k, struct blob_data *head, uint32_t cpu, uint64_t time)
{
	struct rt_rec *r = BLOB(&k->t, RECORD_BEGIN, record_begin)(head, cpu, ENV_REC_MIN, 1);

	memset(r, 0, ENV_REC_MIN);
	*r = (struct rt_rec){1, 0, time};
	BLOB(&k->t, RECORD_END, record_end)(r);
}

static uint64_t times[16];
static uint32_t ntimes;

static struct err *record_note(void *ctx, const struct rt_rec *rec, uint32_t len, uint32_t cpu,
			       const struct rt_rec *next)
{
	if (ntimes < ARRAY_LEN(times))
		times[ntimes++] = rec->time;
	return NULL;
}

static void test_records(void)
{
	struct kin k;
	bool is_sorted = true;

	kin_open(&k);
	for (uint32_t i = 0; i < 4; i++) {
		record(&k, k.t.head, i % 2, 100 + 20 * i);
		record(&k, k.head, i % 2, 110 + 20 * i);
	}
	ok(!ndata_kin_is_drained(k.x), "the child has records");
	result_check(ndata_drain(k.t.d, 145, record_note, NULL), "drain");
	is_int(ntimes, 5, "those up to a time are handed out");
	ok(!ndata_kin_is_drained(k.x), "the child has more");
	result_check(ndata_drain(k.t.d, ENGINE_EVERYTHING, record_note, NULL), "drain");
	for (uint32_t i = 1; i < ntimes; i++)
		is_sorted &= times[i] == times[i - 1] + 10;
	ok(ntimes == 8 && is_sorted, "all of both, in the order of time");
	ok(ndata_kin_is_drained(k.x), "then it has none");
	k.head->state = RT_STATE_OFF;
	((struct blob_cpu *)(void *)((uint8_t *)k.head + k.t.plan->cpus_off))->drops = 3;
	result_check(ndata_count(k.t.d, k.control), "count");
	is_int(k.control->cpu[0].drops, 3, "what it has dropped is counted");
	is_int(ndata_dropped(k.t.d).records, 3, "for its parent, too");
	kin_close(&k);
}

/* A child drops until it ends, which is found out when all was counted the last time. */
static void test_last_drops(void)
{
	struct blob_cpu *cpu;
	struct kin k;

	kin_open(&k);
	cpu = (struct blob_cpu *)(void *)((uint8_t *)k.head + k.t.plan->cpus_off);
	cpu[1] = (struct blob_cpu){.drops = 3};
	result_check(ndata_count(k.t.d, k.control), "count");
	cpu[1] = (struct blob_cpu){.drops = 5, .agg_drops = 7, .dyn_drops = 11, .live_drops = 13};
	k.x->lost[2] = 17;
	child_end(&k);
	is_int(k.control->cpu[1].drops, 5, "records that it dropped before it ended are counted");
	is_int(k.control->cpu[1].agg_drops, 7, "and elements");
	is_int(k.control->cpu[1].dyn_drops, 11, "and variables");
	is_int(k.control->cpu[1].live_drops, 13, "and objects");
	is_int(k.control->cpu[2].drops, 17, "and records that its drain gave up");
	is_int(ndata_dropped(k.t.d).records, 22, "for its parent, too");
	child_add(&k);
	kin_close(&k);
}

static void test_bounds(void)
{
	struct kin k;
	uint32_t nslots;
	uint64_t lost, n = 0;

	kin_open(&k);
	nslots = k.t.plan->tables[KEYED].slots;
	for (uint32_t round = 0; round < 3; round++) {
		for (uint32_t i = 0; i < nslots / 2; i++, n++)
			count(&k, k.head, 1000 + n, 1, round);
		result_check(ndata_count(k.t.d, k.control), "count");
		lost = k.control->cpu[round].agg_drops;
		is_int(lost, 0, "the table of the child had room");
		child_end(&k);
		child_add(&k);
	}
	(void)map_see(&k, KEYED, 0);
	is_int(seen.nall, nslots, "so many elements are kept as a table has");
	is_int(k.control->cpu[0].agg_drops, n - nslots, "and the others are counted");
	kin_close(&k);
}

/* A child that has cut off its memory harms itself. */
static void test_cut_off(void)
{
	struct kin k;

	kin_open(&k);
	count(&k, k.t.head, 7, 1, 0);
	if (ftruncate(k.fd, 0) != 0)
		BUG("ftruncate");
	is_int(map_see(&k, KEYED, 7), 1, "what the parent has counted is there");
	result_check(ndata_drain(k.t.d, ENGINE_EVERYTHING, record_note, NULL), "drain");
	ok(ndata_kin_is_drained(k.x), "nothing more is expected of the child");
	result_check(ndata_count(k.t.d, k.control), "count");
	is_int(k.control->cpu[0].drops, 1, "which is counted once");
	kin_close(&k);
}

int main(void)
{
	test_keys();
	test_without_keys();
	test_counters();
	test_records();
	test_last_drops();
	test_bounds();
	test_cut_off();
	return tap_done();
}
