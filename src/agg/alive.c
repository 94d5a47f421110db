/* SPDX-License-Identifier: MIT */
/*
 * Objects that are alive: live() and dead().
 *
 * The kernel has one table of all addresses that live() was given and dead() was not (struct
 * rt_live), and nothing else: a snapshot goes through the table, and adds each entry to the element
 * whose key the entry has. So number, bytes and age are always those of what is in the table, they
 * are never negative, and the same address again counts once. The words of an element's state:
 *
 *     LIVE_COUNT, LIVE_BYTES, LIVE_AGE     made here: number, bytes, ns since the oldest came
 *     LIVE_LOST, LIVE_LOST_BYTES           what found no room in the table: added by the kernel
 *
 * clear() and trunc() leave out what came before them: the base of an element has the time
 * (agg_base_since()). Such entries, those of a process that has executed another program since, and
 * those of objects that are gone (livecheck.c), are deleted from the table by the next snapshot. An
 * entry without an element makes one: trunc()
 * may have deleted it in the moment in which a probe had found it.
 */
#include "agg/impl.h"

#include "base/hashmap.h"

struct scan {
	struct aggs *a;
	uint64_t now;
	alive_elem_f *get;
	void *arg;
	VEC(struct alive_key) stale, gone; /* gone: of which livecheck has found that */
};

void alive_init(struct alive *v)
{
	v->execs = hashmap_create();
}

void alive_deinit(struct alive *v)
{
	size_t pos = 0;
	uint64_t *time;

	while ((time = hashmap_next(v->execs, &pos, NULL, NULL)))
		free(time);
	hashmap_destroy(v->execs);
	vec_deinit(&v->followed);
	vec_deinit(&v->before);
}

void aggs_set_livemin(struct aggs *a, uint64_t ns)
{
	a->alive.least_age = ns;
}

void aggs_note_exec(struct aggs *a, uint64_t pid, uint64_t time)
{
	uint64_t *known;

	if (!a->layout->live_size)
		return;
	known = hashmap_find(a->alive.execs, &pid, sizeof(pid));
	if (!known) {
		known = xmalloc(sizeof(*known));
		hashmap_set(a->alive.execs, &pid, sizeof(pid), known);
	}
	*known = time;
}

/* The process executes another program: what was at its addresses is gone. */
static bool is_of_other_program(const struct alive *v, const struct rt_live_key *key, uint64_t time)
{
	uint64_t pid = key->pid;
	const uint64_t *execed = pid ? hashmap_find(v->execs, &pid, sizeof(pid)) : NULL;

	return execed && time < *execed;
}

static void part_add(int64_t *state, const struct rt_live *entry, uint64_t age)
{
	state[LIVE_COUNT]++;
	state[LIVE_BYTES] = (int64_t)((uint64_t)state[LIVE_BYTES] + entry->bytes);
	state[LIVE_AGE] = MAX(state[LIVE_AGE], (int64_t)age);
}

/* Entries up to this time do not count: clear() or trunc() came behind them. */
static uint64_t since_of(const struct agg_slot *slot, struct agg_elem *e)
{
	struct elem *of = elem_of(e);

	if (slot->base && !of->is_since_known)
		of->since = agg_base_since(slot, e);
	of->is_since_known = true;
	return MAX(of->since, slot->cleared_at);
}

static void entry_count(void *arg, const struct rt_live_key *key, const struct rt_live *entry)
{
	struct scan *s = arg;
	struct agg_slot *slot;
	struct agg_elem *e;
	bool has_age = s->now > entry->time && !s->a->layout->opts.liveorder;
	uint64_t age = has_age ? s->now - entry->time : 0;

	if (!entry->agg || entry->agg > s->a->nslots)
		return;
	slot = &s->a->slots[entry->agg - 1];
	if (slot->view.agg->func != AGGFUNC_LIVE)
		return;
	e = s->get(s->arg, slot, entry->key);
	if (!e) /* its key is that of another aggregation */
		return;
	if (is_of_other_program(&s->a->alive, key, entry->time) ||
	    entry->time <= since_of(slot, e)) {
		vec_push(&s->stale, ((struct alive_key){*key, entry->time}));
		return;
	}
	if (livecheck_is_gone(&s->a->alive, key, entry->time)) {
		vec_push(&s->gone, ((struct alive_key){*key, entry->time}));
		return;
	}
	elem_of(e)->has_live = true;
	if (age < s->a->alive.least_age)
		return;
	e->touched = true;
	part_add(e->state, entry, age);
	if (entry->cpu < e->ncpus)
		part_add(agg_state_of_cpu(slot->view.layout, e, entry->cpu), entry, age);
}

/* False: the table has the entry still, and the next snapshot will meet it again. */
static bool entry_bury(struct aggs *a, const struct alive_key *k)
{
	return !a->is_quiet && a->io->bury && a->io->bury(a->ctx, &k->key, k->time);
}

struct err *alive_snap(struct aggs *a, alive_elem_f *get, void *arg)
{
	struct scan s = {.a = a, .now = now_ns(), .get = get, .arg = arg};
	struct err *e = NULL;

	if (a->layout->live_size && a->io->alive)
		e = livecheck_make(a, get, arg);
	if (a->layout->live_size && a->io->alive && !e)
		e = a->io->alive(a->ctx, entry_count, &s);
	for (uint32_t i = 0; i < s.stale.len && !e; i++)
		(void)entry_bury(a, &s.stale.data[i]);
	for (uint32_t i = 0; i < s.gone.len && !e; i++) {
		(void)entry_bury(a, &s.gone.data[i]);
		livecheck_count(&a->alive, &s.gone.data[i]);
	}
	vec_deinit(&s.stale);
	vec_deinit(&s.gone);
	return e ? err_wrap(e, "cannot read what is alive") : NULL;
}

bool alive_is_gone(const struct agg_slot *slot, struct agg_elem *e)
{
	return slot->view.agg->func == AGGFUNC_LIVE && slot->view.layout->key_size &&
	       !elem_of(e)->has_live && !e->state[LIVE_LOST];
}

bool alive_is_shown(const struct agg_slot *slot, const struct agg_elem *e)
{
	return slot->view.agg->func != AGGFUNC_LIVE || e->state[LIVE_COUNT] || e->state[LIVE_LOST];
}
