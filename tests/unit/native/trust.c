/* SPDX-License-Identifier: MIT */
/*
 * The functions of the blob work in a process of which a child shares the data part, and writes
 * anything there: they end, and neither write elsewhere nor hand out addresses of elsewhere.
 */
#include "tap.h"

#include "native/env.h"

#define GUARD  (1u << 16) /* bytes before and behind the data part, which nobody may change */
#define CANARY 0xc3
#define ROUNDS 1000u

struct area {
	struct env env;
	uint8_t *all;
	uint8_t *copy; /* of the data part, before a call */
	uint64_t nwrong, seed;
};

static uint64_t size_of(const struct area *a)
{
	return a->env.plan->size;
}

static uint8_t *data_of(const struct area *a)
{
	return a->all + GUARD;
}

static void area_open(struct area *a, bool has_samples)
{
	struct env *t = &a->env;

	t->has_samples = has_samples;

	(void)env_agg(t, AGGFUNC_COUNT, 8, 40);
	(void)env_agg(t, AGGFUNC_MIN, 0, 1);
	(void)env_agg(t, AGGFUNC_QUANTIZE, 16, 40);
	env_array(t, 16, 40);
	t->layout.tls_size = 24;
	env_open(t, 4096);
	(void)munmap(t->head, t->plan->size);
	a->all = mmap(NULL, t->plan->size + 2 * GUARD, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	a->copy = xmalloc(t->plan->size);
	if (a->all == MAP_FAILED || mmap(data_of(a), t->plan->size, PROT_READ | PROT_WRITE,
					 MAP_SHARED | MAP_FIXED, t->fd, 0) == MAP_FAILED)
		BUG("mmap");
	memset(a->all, CANARY, GUARD);
	memset(data_of(a) + t->plan->size, CANARY, GUARD);
	t->head = (struct blob_data *)(void *)data_of(a);
}

static void area_close(struct area *a)
{
	(void)munmap(a->all, GUARD);
	(void)munmap(data_of(a) + size_of(a), GUARD);
	free(a->copy);
	env_close(&a->env);
}

/* Words of all magnitudes, and such as the functions write themselves. */
static uint64_t word_make(struct area *a)
{
	uint64_t x = env_random(&a->seed);

	switch (env_random(&a->seed) % 6) {
	case 0: return 0;
	case 1: return x;
	case 2: return x >> x % 64;
	case 3: return BLOB_SLOT_WORD(x % 8, x >> 8);
	case 4: return (uint64_t)(uintptr_t)data_of(a) + x % (2 * size_of(a));
	default: return BLOB_THREAD(x % 100, x >> 40 & 0xfff);
	}
}

/* What a child has made of the data part. */
static void data_spoil(struct area *a)
{
	uint64_t *words = (uint64_t *)(void *)data_of(a), n = size_of(a) / 8;
	struct blob_cpu *c = (void *)(data_of(a) + a->env.plan->cpus_off);

	if (env_random(&a->seed) % 8 == 0)
		memset(words, (int)env_random(&a->seed), size_of(a));
	for (uint64_t i = 0; i < n; i++)
		if (env_random(&a->seed) % 4)
			words[i] = word_make(a);
	for (uint32_t i = 0; i < ENV_CPUS; i++) /* so that some records find room */
		if (env_random(&a->seed) % 4) {
			c[i].head = env_random(&a->seed);
			c[i].tail =
				(uint8_t)(c[i].head / (a->env.plan->ring_size / BLOB_RING_PARTS));
		}
}

/* Whether the bytes are in the part of the data part from off on. */
static bool is_inside(const struct area *a, const void *p, uint64_t len, uint64_t off,
		      uint64_t size)
{
	uint64_t at = (uint64_t)((const uint8_t *)p - data_of(a));

	return at - off < size && len <= size - (at - off);
}

static void check(struct area *a, bool is_right, const char *what)
{
	if (!is_right && a->nwrong++ < 5)
		printf("# %s\n", what);
}

static void value_check(struct area *a, uint64_t *v, uint32_t table, const char *what)
{
	const struct blob_table *t = &a->env.plan->tables[table];
	uint64_t size = (uint64_t)t->slots * t->slot_size;

	if (!v)
		return;
	if (table < a->env.plan->nagg)
		size = t->cpu_size * ENV_CPUS;
	check(a, is_inside(a, v, t->val_size, t->off, size), what);
	memset(v, 0xee, t->val_size);
}

static uint64_t nrecords;

/* A record changes nothing but the ring of its CPU, and the CPU's own counters. */
static void record_check(struct area *a, uint64_t cpu)
{
	const struct env *t = &a->env;
	uint64_t ring = t->plan->rings_off + cpu * t->plan->ring_size, len = env_random(&a->seed);
	uint64_t own = t->plan->cpus_off + cpu * sizeof(struct blob_cpu);
	struct rt_rec *r;

	len = ENV_REC_MIN + len % (ENV_REC_MAX - ENV_REC_MIN);
	memcpy(a->copy, data_of(a), size_of(a));
	r = BLOB(t, RECORD_BEGIN, record_begin)(t->head, cpu, len, 5ull << 32);
	if (r) {
		nrecords++;
		check(a, is_inside(a, r, len, ring, t->plan->ring_size), "a record elsewhere");
		memset(r, 0xee, len);
		BLOB(t, RECORD_END, record_end)(r);
	}
	memcpy(a->copy + ring, data_of(a) + ring, t->plan->ring_size);
	memcpy(a->copy + own, data_of(a) + own, sizeof(struct blob_cpu));
	check(a, memcmp(a->copy, data_of(a), size_of(a)) == 0, "a record has changed other bytes");
}

static void functions_call(struct area *a)
{
	const struct env *t = &a->env;
	uint64_t x = env_random(&a->seed), cpu = x % ENV_CPUS, narr = t->plan->nagg;
	u64 key[2] = {x >> 8 & 3, x >> 16 & 3};

	record_check(a, cpu);
	value_check(a, BLOB(t, VALUE, value)(t->head, 0, key, cpu), 0, "a value elsewhere");
	value_check(a, BLOB(t, VALUE, value)(t->head, 2, key, cpu), 2, "a histogram elsewhere");
	value_check(a, BLOB(t, CELL, cell)(t->head, 1, 0, cpu), 1, "a cell elsewhere");
	value_check(a, BLOB(t, THREAD, thread)(t->head, BLOB_THREAD(x % 100, x), cpu, 1),
		    (uint32_t)narr + 1, "a thread's block elsewhere");
	(void)BLOB(t, LOAD, load)(t->head, narr, key);
	BLOB(t, STORE, store)(t->head, narr, key, x >> 20 & 1, cpu);
	(void)BLOB(t, TIME, time)(t->head);
	BLOB(t, EXIT, exit)(t->head);
}

static bool guards_are_whole(const struct area *a)
{
	for (uint32_t i = 0; i < GUARD; i++)
		if (a->all[i] != CANARY || data_of(a)[size_of(a) + i] != CANARY)
			return false;
	return true;
}

static void test_spoiled(void)
{
	struct area a = {.seed = 77};

	area_open(&a, false);
	for (uint32_t i = 0; i < ROUNDS && !a.nwrong; i++) {
		data_spoil(&a);
		functions_call(&a);
	}
	is_int(a.nwrong, 0, "what is found in the data part leads nowhere else");
	ok(nrecords > ROUNDS / 4, "%llu of the records found room", (unsigned long long)nrecords);
	ok(guards_are_whole(&a), "nothing around the data part was changed");
	area_close(&a);
}

/* Samples change nothing but what they have noted, and the counters of a CPU. */
static void samples_check(struct area *a)
{
	const struct env *t = &a->env;
	uint64_t at = t->plan->samples_off, cpu = env_random(&a->seed) % 8;

	memcpy(a->copy, data_of(a), size_of(a));
	for (uint32_t i = 0; i < 1000; i++) {
		uint64_t x = env_random(&a->seed), addr = env_random(&a->seed);

		(void)BLOB(t, SAMPLE, sample)(t->head, x >> x % 64, 1ull << x % 64, cpu, addr);
		(void)BLOB(t, SAMPLED, sampled)(t->head, addr >> x % 64, addr);
		(void)BLOB(t, FOLLOWED, followed)(t->head, addr >> x % 64);
	}
	memcpy(a->copy + at, data_of(a) + at, sizeof(struct blob_samples));
	memcpy(a->copy + t->plan->cpus_off, data_of(a) + t->plan->cpus_off,
	       ENV_CPUS * sizeof(struct blob_cpu));
	check(a, memcmp(a->copy, data_of(a), size_of(a)) == 0, "a sample has changed other bytes");
}

/* live() and dead() change nothing but slots, the value that they are given, and the counters. */
static void test_spoiled_lives(void)
{
	struct area a = {.seed = 79};
	struct env *t = &a.env;
	u64 key[2] = {1, 1}, *value;

	t->has_live = true;
	t->layout.opts.livesize = 200;
	area_open(&a, false);
	for (uint32_t i = 0; i < 50 && !a.nwrong; i++) {
		uint64_t cpu = env_random(&a.seed) % 8, at = t->plan->live_off, own;

		data_spoil(&a);
		value = BLOB(t, VALUE, value)(t->head, 2, key, cpu);
		memcpy(a.copy, data_of(&a), size_of(&a));
		for (uint32_t k = 0; k < 1000 && value; k++) {
			uint64_t x = env_random(&a.seed), addr = env_random(&a.seed);

			BLOB(t, LIVE, live)(t->head, addr >> x % 64, x, x >> 8, value, cpu);
			BLOB(t, DEAD, dead)(t->head, addr >> x % 60, x << x % 64);
		}
		memcpy(a.copy + at, data_of(&a) + at,
		       t->plan->live_slots * sizeof(struct blob_live));
		at = t->plan->own_off;
		memcpy(a.copy + at, data_of(&a) + at,
		       t->plan->own_slots * sizeof(struct blob_live));
		memcpy(a.copy + t->plan->cpus_off, data_of(&a) + t->plan->cpus_off,
		       ENV_CPUS * sizeof(struct blob_cpu));
		own = (uint64_t)((uint8_t *)value - data_of(&a));
		if (value)
			memcpy(a.copy + own, value, 40);
		check(&a, memcmp(a.copy, data_of(&a), size_of(&a)) == 0,
		      "what is followed has changed other bytes");
	}
	is_int(a.nwrong, 0, "what is followed leads nowhere else");
	ok(guards_are_whole(&a), "nothing around the data part was changed");
	area_close(&a);
}

static void test_spoiled_samples(void)
{
	struct area a = {.seed = 78};

	area_open(&a, true);
	for (uint32_t i = 0; i < 20 && !a.nwrong; i++) {
		data_spoil(&a);
		samples_check(&a);
	}
	is_int(a.nwrong, 0, "what is noted leads nowhere else");
	ok(guards_are_whole(&a), "nothing around the data part was changed");
	area_close(&a);
}

int main(void)
{
	test_spoiled();
	test_spoiled_samples();
	test_spoiled_lives();
	return tap_done();
}
