/* SPDX-License-Identifier: MIT */
/* Lays out the data part: what lies where, by the sizes that the session's options allow. */
#include <errno.h>

#include "base/err.h"
#include "native/data.h"
#include "record/layout.h"

#define SIZE_DEFAULT (1ull << 30)
#define SLOTS_MIN    BLOB_PROBES
#define SLOTS_MAX    (1u << 24)
#define OWN_MAX	     (1u << 21) /* slots that addresses own: 64 MB, where all are used */
#define THREADS_MAX  (1u << 16)
#define RING_MIN     (BLOB_RING_PARTS * 64)
#define RING_MAX     (1u << 30)
#define PAGE	     4096u
#define COUNTERS_MAX (128ull << 20) /* bytes of all CPUs' counters */

/* The power of two that is at least n. */
static uint64_t power_up(uint64_t n)
{
	uint64_t p = 1;

	while (p < n)
		p *= 2;
	return p;
}

static bool map_has_extremes(const struct layout *l, const struct elem_map *m)
{
	for (uint32_t i = 0; i < m->nmembers; i++) {
		enum aggfunc func = l->aggs[m->members[i]].agg->func;

		if (func == AGGFUNC_MIN || func == AGGFUNC_MAX)
			return true;
	}
	return false;
}

/* Half of the slots stay empty, so that each address finds one near its home. */
static uint32_t live_slots_of(uint64_t entries)
{
	uint64_t n = power_up(2 * entries);

	return (uint32_t)MIN(MAX(n, (uint64_t)BLOB_LIVE_REACH), (uint64_t)SLOTS_MAX);
}

/* A third of the slots stay empty, so that chains are short. */
static uint32_t slots_of(uint64_t entries)
{
	uint64_t n = power_up(entries + entries / 3);

	return (uint32_t)MIN(MAX(n, (uint64_t)SLOTS_MIN), (uint64_t)SLOTS_MAX);
}

static struct blob_table agg_table(const struct layout *l, const struct elem_map *m)
{
	struct blob_table t = {.val_size = ROUND_UP(m->val_size, 8u)};

	if (!m->key_size) {
		t.slots = m->nmembers;
		t.slot_size = t.val_size * (map_has_extremes(l, m) ? BLOB_BANKS : 1);
		return t;
	}
	t.key_size = ROUND_UP(m->key_size, 8u);
	t.val_off = 8 + t.key_size;
	t.slot_size = t.val_off + t.val_size;
	t.slots = slots_of(m->max_entries);
	return t;
}

/* Elements of more than 8 bytes are not stored in the process. */
static struct blob_table array_table(const struct elem_map *m)
{
	struct blob_table t = {.key_size = ROUND_UP(m->key_size, 8u), .val_off = 8, .val_size = 8};

	t.slot_size = ROUND_UP(16 + t.key_size, 16u);
	t.slots = m->val_size == 8 ? slots_of(m->max_entries) : 0;
	return t;
}

static struct blob_table thread_table(const struct layout *l)
{
	uint32_t val = ROUND_UP(l->tls_size, 8u), size = ROUND_UP(8 + val, BLOB_LINE);
	uint64_t entries = MIN(l->opts.dynvarsize / size, (uint64_t)THREADS_MAX);

	return (struct blob_table){.key_size = 8,
				   .val_off = 8,
				   .val_size = val,
				   .slot_size = size,
				   .slots = val ? slots_of(entries) : 0};
}

static void tables_shape(struct blob_plan *p, const struct ndata_opts *o)
{
	const struct layout *l = o->layout;

	for (uint32_t i = 0; i < p->nagg; i++)
		if (!o->agg_used || o->agg_used[i])
			p->tables[i] = agg_table(l, &l->agg_maps[i]);
	for (uint32_t i = 0; i < p->narr; i++)
		if (!o->arr_used || o->arr_used[i])
			p->tables[p->nagg + i] = array_table(&l->arr_maps[i]);
	p->tables[p->nagg + p->narr] = thread_table(l);
}

/* Reserves size bytes, which begin at a multiple of align. */
static uint64_t space_take(struct blob_plan *p, uint64_t size, uint64_t align)
{
	uint64_t off = ROUND_UP(p->size, align);

	p->size = off + size;
	return off;
}

static uint64_t counters_bytes(const struct blob_plan *p)
{
	return p->ncounters ? (plan_ncounter_blocks(p->ncpus) + 1ull) << p->counters_shift : 0;
}

/* CPUs have their counters in different lines. */
static void counters_shape(struct blob_plan *p, uint32_t n)
{
	p->ncounters = n;
	p->counters_shift = (uint32_t)__builtin_ctzll(power_up(MAX(n * 8ull, (uint64_t)BLOB_LINE)));
	if (counters_bytes(p) > COUNTERS_MAX)
		p->ncounters = 0;
}

/* The slots of live(): those for any address, and those that addresses own. */
static void lives_place(struct blob_plan *p)
{
	uint64_t slot = sizeof(struct blob_live);

	p->live_off = p->own_off = 0;
	if (!p->live_slots)
		return;
	p->own_slots = MAX(MIN(p->live_slots, OWN_MAX), BLOB_LIVE_OWN_MIN);
	p->live_off = space_take(p, p->live_slots * slot, PAGE);
	p->own_off = space_take(p, p->own_slots * slot, PAGE);
}

static void plan_place(struct blob_plan *p, const struct ndata_opts *o)
{
	p->size = sizeof(struct blob_data);
	/* as many as there are numbers to which a stub masks that of a CPU */
	p->cpus_off =
		space_take(p, (uint64_t)plan_ncounter_blocks(p->ncpus) * sizeof(struct blob_cpu),
			   PAGE);
	p->gvars_off = space_take(p, ROUND_UP(o->layout->gvars_size, 8u), BLOB_LINE);
	p->counters_off = space_take(p, counters_bytes(p), PAGE);
	p->samples_off = o->has_samples ? space_take(p, sizeof(struct blob_samples), PAGE) : 0;
	lives_place(p);
	for (uint32_t i = 0; i < p->ntables; i++)
		if (!p->tables[i].key_size)
			p->tables[i].banks_off = space_take(p, p->tables[i].slots, 8);
	p->rings_off = space_take(p, p->ring_size * p->ncpus, PAGE);
	for (uint32_t i = 0; i < p->ntables; i++) {
		struct blob_table *t = &p->tables[i];
		uint64_t size = ROUND_UP((uint64_t)t->slots * t->slot_size, (uint64_t)BLOB_LINE);

		t->cpu_size = i < p->nagg ? size : 0;
		t->off = space_take(p, i < p->nagg ? size * p->ncpus : size, PAGE);
	}
	p->size = ROUND_UP(p->size, (uint64_t)PAGE);
}

/* Halves the largest table; false: all are as small as they can be. */
static bool tables_shrink(struct blob_plan *p)
{
	struct blob_table *largest = NULL;
	uint64_t most = 0;

	for (uint32_t i = 0; i < p->ntables; i++) {
		struct blob_table *t = &p->tables[i];
		uint64_t size = (uint64_t)t->slots * t->slot_size * (i < p->nagg ? p->ncpus : 1);

		if (t->key_size && t->slots > SLOTS_MIN && size > most) {
			largest = t;
			most = size;
		}
	}
	if (p->live_slots > BLOB_LIVE_REACH && p->live_slots * sizeof(struct blob_live) > most) {
		p->live_slots /= 2;
		return true;
	}
	if (largest)
		largest->slots /= 2;
	return largest;
}

/* The largest record of a clause in the process: none has strings of its own. */
static uint32_t record_most(const struct layout *l)
{
	uint32_t most = sizeof(struct rt_rec_fault);

	for (uint32_t i = 0; i < l->nclauses; i++)
		if (l->clauses[i].max_size == l->clauses[i].heap_off)
			most = MAX(most, l->clauses[i].max_size);
	return most;
}

struct err *blob_plan_create(const struct ndata_opts *opts, struct blob_plan **ret)
{
	const struct layout *l = opts->layout;
	uint64_t most = opts->max_size ? opts->max_size : SIZE_DEFAULT;
	struct blob_plan *p = xcalloc(1, sizeof(*p));

	p->ncpus = opts->ncpus;
	p->nagg = l->nagg_maps;
	p->narr = l->narr_maps;
	p->ntables = p->nagg + p->narr + 1;
	p->tables = xcalloc(p->ntables, sizeof(*p->tables));
	p->max_record = record_most(l);
	p->ring_size = power_up(MIN(MAX(opts->bufsize, RING_MIN), RING_MAX));
	p->ring_size = MAX(p->ring_size, power_up(4 * blob_rec_size(p->max_record)));
	tables_shape(p, opts);
	p->live_slots = opts->has_live ? live_slots_of(l->opts.livesize) : 0;
	counters_shape(p, opts->ncounters);
	plan_place(p, opts);
	while (p->size > most && tables_shrink(p))
		plan_place(p, opts);
	if (p->size > most) {
		struct err *e = err_sys(E2BIG, "data of %llu bytes in the process",
					(unsigned long long)p->size);

		blob_plan_destroy(p);
		return err_hint(e, "a smaller bufsize may fit");
	}
	*ret = p;
	return NULL;
}

void blob_plan_destroy(struct blob_plan *p)
{
	if (!p)
		return;
	free(p->tables);
	free(p);
}
