/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: a traced process that writes anything into the memory that it shares with the tracer
 * (native/data.h). The memory has records and elements of aggregations; the input is a list of
 * changes, and of what the tracer does between them:
 *
 *     u8 what     changes: where (CHANGE_*), by the remainder; the quotient: what the tracer does
 *     u16 where, u8 len, bytes
 *
 * The tracer touches no other memory, ends, and hands out whole records of clauses that exist, and
 * what is alive of aggregations that exist, no more than the table has slots.
 */
#include "../unit/native/env.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define STEPS_MAX 12 /* else long inputs are slow, which says nothing about the code */
#define KEY_SIZE  12
#define PID	  4711u
#define LIVESIZE  100
#define NALIVE	  40 /* addresses that are alive before anything is changed */

static struct env env;
static uint8_t *pristine;
static volatile uint64_t seen; /* so that what is handed out is read */

static void bytes_see(const uint8_t *p, size_t n)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum = sum * 3 + p[i];
	seen += sum;
}

static struct err *record_see(void *ctx, const struct rt_rec *rec, uint32_t len, uint32_t cpu,
			      const struct rt_rec *next)
{
	uint32_t *n = ctx;
	struct rt_rec_fault f;

	if (cpu >= ENV_CPUS || ++*n > env.plan->size / sizeof(struct blob_rec))
		BUG("CPU %u, record %u", cpu, *n);
	if (rec->clause == RT_REC_FAULT) {
		memcpy(&f, rec, sizeof(f));
		if (len != sizeof(f) || f.fault.clause >= ENV_CLAUSES)
			BUG("fault of %u bytes, clause %u", len, f.fault.clause);
	} else if (rec->clause >= ENV_CLAUSES || len < env.clauses[rec->clause].heap_off ||
		   len > env.clauses[rec->clause].max_size) {
		BUG("record of %u bytes, clause %u", len, rec->clause);
	}
	bytes_see((const uint8_t *)rec, len);
	if (next)
		bytes_see((const uint8_t *)next, sizeof(*next));
	return NULL;
}

static void elem_see(void *arg, const uint8_t *key, const uint8_t *values, uint32_t ncpus)
{
	const struct elem_map *m = arg;

	bytes_see(key, m->key_size ? m->key_size : 4);
	bytes_see(values, (size_t)ncpus * elem_map_stride(m));
}

/* What a reading of the table of live() has handed out. */
struct alive {
	uint32_t n;
	struct rt_live_key last;
	uint64_t last_time;
};

static void alive_see(void *arg, const struct rt_live_key *key, const struct rt_live *entry)
{
	struct alive *a = arg;

	if (++a->n > env.plan->live_slots + env.plan->own_slots)
		BUG("%u entries of %u slots", a->n, env.plan->live_slots + env.plan->own_slots);
	if (!entry->agg || entry->agg > env.layout.naggs ||
	    env.aggs[entry->agg - 1].agg->func != AGGFUNC_LIVE || entry->cpu >= ENV_CPUS)
		BUG("an entry of aggregation %u, CPU %u", entry->agg, entry->cpu);
	if (key->pid != (key->addr >> 63 ? 0 : PID))
		BUG("an entry of process %u", key->pid);
	bytes_see((const uint8_t *)entry, env.layout.live_size);
	a->last = *key;
	a->last_time = entry->time;
}

/* Reads what is alive, takes out the last one if that is asked for, and reads again. */
static void alive_read(bool buries)
{
	struct alive a = {0}, again = {0};
	struct err *e = ndata_aggs.alive(env.d, alive_see, &a);

	if (!e && ndata_nbad_lives(env.d) + a.n > env.plan->live_slots + env.plan->own_slots)
		BUG("more bad entries than slots");
	if (!e && a.n && buries) {
		ndata_aggs.bury(env.d, &a.last, a.last_time);
		e = ndata_aggs.alive(env.d, alive_see, &again);
		if (!e && again.n >= a.n)
			BUG("%u entries of %u when one was taken out", again.n, a.n);
	}
	err_destroy(e);
}

static bool thread_is_alive(void *ctx, uint32_t tid)
{
	return tid % 2;
}

/* Fills the memory as clauses do. */
static void memory_fill(void)
{
	for (u64 i = 0; i < 40; i++) {
		u64 key[2] = {i % 3 + 1, i}, cpu = i % ENV_CPUS;
		struct rt_rec *r;

		for (u64 map = 0; map < env.plan->nagg; map++) {
			u64 *v = env.agg_maps[map].key_size
					 ? BLOB(&env, VALUE, value)(env.head, map, key, cpu)
					 : BLOB(&env, CELL, cell)(env.head, map, 0, cpu);

			if (v)
				*v = i;
		}
		(void)BLOB(&env, THREAD, thread)(env.head, i << 32, cpu, 1);
		r = BLOB(&env, RECORD_BEGIN, record_begin)(env.head, cpu, ENV_REC_MIN + i, i << 32);
		if (!r)
			continue;
		*r = (struct rt_rec){1, 1, 1000 + i};
		if (i % 7)
			BLOB(&env, RECORD_END, record_end)(r);
	}
	for (u64 i = 0; i < NALIVE; i++) {
		u64 key[2] = {i % 3 + 1, i}, cpu = i % ENV_CPUS, map = env.plan->nagg - 1 - i % 2;
		u64 *v = env.agg_maps[map].key_size
				 ? BLOB(&env, VALUE, value)(env.head, map, key, cpu)
				 : BLOB(&env, CELL, cell)(env.head, map, 0, cpu);

		if (v)
			BLOB(&env, LIVE, live)(env.head, (i + 1) * 4096, i, i, v, cpu);
	}
}

static void env_make(void)
{
	static const enum aggfunc funcs[] = {AGGFUNC_COUNT, AGGFUNC_MIN, AGGFUNC_STDDEV,
					     AGGFUNC_QUANTIZE, AGGFUNC_LIVE};

	for (uint32_t i = 0; i < ARRAY_LEN(funcs); i++) {
		(void)env_agg(&env, funcs[i], KEY_SIZE, 30);
		(void)env_agg(&env, funcs[i], 0, 1);
	}
	env_array(&env, 8, 30);
	env.layout.tls_size = 24;
	env.layout.live_size = sizeof(struct rt_live) + ROUND_UP(KEY_SIZE, 8);
	env.layout.opts.livesize = LIVESIZE;
	env.has_live = true;
	env.hooks.pid = PID;
	env.hooks.is_alive = thread_is_alive;
	env.cookie = 0x1234567; /* inputs mean the same in each run */
	env_open(&env, 4096);
	memory_fill();
	pristine = xmalloc(env.plan->size);
	memcpy(pristine, env.head, env.plan->size);
}

/* An error is allowed: the memory may have been cut off. */
static void act(uint32_t what, uint64_t key)
{
	uint64_t key2[2] = {key % 3 + 1, key % 40};
	uint32_t map = (uint32_t)(key % env.plan->nagg), elem = 0, ncpus, n = 0;
	const uint8_t *values = NULL;
	const void *k = env.agg_maps[map].key_size ? (const void *)key2 : &elem;
	uint8_t value[1024] = {1};
	bool is_done;

	switch (what) {
	case 0:
		err_destroy(ndata_drain(env.d, key % 2 ? 1020 : ENGINE_EVERYTHING, record_see, &n));
		break;
	case 1: err_destroy(ndata_aggs.each(env.d, map, elem_see, &env.agg_maps[map])); break;
	case 2:
		err_destroy(ndata_aggs.take(env.d, map, k, &values, &ncpus));
		if (values)
			elem_see(&env.agg_maps[map], k, values, ncpus);
		break;
	case 3: err_destroy(ndata_aggs.put(env.d, map, k, value, &is_done)); break;
	case 4: err_destroy(ndata_sweep(env.d)); break;
	case 5: env.d->grace_ns = key % 2 ? NDATA_GRACE_NS : 0; break;
	case 6: seen += ndata_aggs.drops(env.d); break;
	case 7: alive_read(key % 2); break;
	default: err_destroy(ndata_clock_correct(env.d)); break;
	}
}

#define NACTS 9u

enum change { CHANGE_ANY, CHANGE_CPUS, CHANGE_RINGS, CHANGE_TABLES, CHANGE_LIVES, NCHANGES };

static uint64_t place_of(uint32_t change, uint32_t where)
{
	const struct blob_plan *p = env.plan;

	switch ((enum change)change) {
	case CHANGE_ANY: return where * 8ull;
	case CHANGE_CPUS: return p->cpus_off + where % (ENV_CPUS * sizeof(struct blob_cpu));
	case CHANGE_RINGS: return p->rings_off + where * 8ull % (ENV_CPUS * p->ring_size);
	case CHANGE_TABLES: return p->tables[where % p->ntables].off + where / 16;
	case CHANGE_LIVES:
		if (where & 1)
			return p->own_off +
			       where * 4ull % (p->own_slots * sizeof(struct blob_live));
		return p->live_off + where * 4ull % (p->live_slots * sizeof(struct blob_live));
	case NCHANGES: break;
	}
	BUG("change %u", change);
}

static void memory_change(uint32_t change, uint32_t where, const uint8_t *bytes, size_t n)
{
	uint64_t off = place_of(change, where) % env.plan->size;

	memcpy((uint8_t *)env.head + off, bytes, MIN(n, env.plan->size - off));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err *e;

	if (!env.head)
		env_make();
	memcpy(env.head, pristine, env.plan->size);
	ndata_destroy(env.d);
	e = ndata_create(env.plan, &env.layout, (uint8_t *)env.head, env.fd, 0, &env.hooks, &env.d);
	if (e)
		BUG("%s", err_text(e));
	env.d->cookie = env.cookie;
	env.d->final_ns = 0;
	for (uint32_t step = 0; size >= 4 && step < STEPS_MAX; step++) {
		uint32_t what = data[0], where = data[1] | (uint32_t)data[2] << 8;
		size_t n = MIN((size_t)data[3] % 32, size - 4);

		if (n)
			memory_change(what % NCHANGES, where, data + 4, n);
		else if (what == 255 && ftruncate(env.fd, where * 16) != 0)
			BUG("ftruncate");
		act(what / NCHANGES % NACTS, where);
		data += 4 + n;
		size -= 4 + n;
		if (what == 255 && !n)
			break;
	}
	for (uint32_t i = 0; i < 2 * env.plan->nagg; i++)
		act(i % 2, i / 2);
	alive_read(true);
	if (ftruncate(env.fd, (off_t)env.plan->size) != 0)
		BUG("ftruncate");
	return 0;
}
