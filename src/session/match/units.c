/* SPDX-License-Identifier: MIT */
/* Makes units of clauses: decides which probes fire which clauses in which program. */
#include "provider/providers.h"
#include "session/match/impl.h"

/*
 * A unit has code for the operands of its programs' own probes, some ten instructions for each; a
 * BPF program jumps over 32,767 at most. What goes beyond this number is in another unit.
 */
#define OPERANDS_MAX 1500

/* ---- units ---------------------------------------------------------------------------------- */

/* Returns the unit's point that fires when the key's system call is made, or NULL. */
static const struct unit_probe *point_of_call(const struct session_unit *u, uint32_t key)
{
	uint32_t call = key % RT_SYS_VARIANT;
	uintptr_t at = (uintptr_t)hashmap_find(u->by_call, &call, sizeof(call));

	return at ? &u->points.data[at - 1] : NULL;
}

static bool is_same_place(const struct place *a, const struct place *b)
{
	if (a->kind != b->kind || !a->target != !b->target)
		return false;
	return !a->target || strcmp(a->target, b->target) == 0;
}

/*
 * Returns true if the point may be in the unit: a unit sees a call in one form only. *ret_is_last:
 * the point may not be in an earlier unit either, because this unit's clauses run first when the
 * call is made.
 */
static bool can_hold(const struct session_unit *u, const struct probe_point *pt, bool *ret_is_last)
{
	const struct unit_probe *same;

	*ret_is_last = false;
	if (!place_traits(pt->place.kind)->family)
		return is_same_place(&u->unit.place, &pt->place) && u->noperands < OPERANDS_MAX;
	if (u->traits->family != place_traits(pt->place.kind)->family)
		return false;
	same = point_of_call(u, pt->key);
	*ret_is_last = same != NULL;
	return is_same_place(&u->unit.place, &pt->place) && (!same || !same->view == !pt->view);
}

struct session_unit *unit_create(struct match *m, const struct place *place)
{
	struct session_unit *u = xcalloc(1, sizeof(*u));

	u->traits = place_traits(place->kind);
	u->unit.name = u->traits->name;
	u->unit.place = *place;
	u->unit.is_begin_end = u->traits->is_begin_end;
	u->by_key = hashmap_create();
	u->by_call = hashmap_create();
	u->by_operands = hashmap_create();
	u->arena = m->arena;
	vec_push(&m->units, u);
	return u;
}

void unit_destroy(struct session_unit *u)
{
	vec_deinit(&u->clauses);
	vec_deinit(&u->points);
	hashmap_destroy(u->by_key);
	hashmap_destroy(u->by_call);
	hashmap_destroy(u->by_operands);
	if (u->group)
		arena_destroy(u->arena);
	free(u);
}

/* Returns the unit that has the probe of this key in code already; NULL: none has. */
static struct session_unit *unit_of_code(const struct match *m, const struct probe_point *pt)
{
	uint32_t key = pt->key;

	for (uint32_t i = 0; i < m->units.len && pt->code; i++) {
		struct session_unit *u = m->units.data[i];

		if (is_same_place(&u->unit.place, &pt->place) &&
		    hashmap_find(u->by_key, &key, sizeof(key)))
			return u;
	}
	return NULL;
}

/*
 * Finds or makes a unit for the point. Programs at one place run in the order of their units, and
 * so do the clauses of each call.
 */
static struct session_unit *unit_get(struct match *m, const struct probe_point *pt)
{
	struct session_unit *has = unit_of_code(m, pt);
	bool is_last = false;

	if (has)
		return has;
	for (uint32_t i = m->units.len; i-- > 0 && !is_last;) {
		struct session_unit *u = m->units.data[i];

		if (can_hold(u, pt, &is_last))
			return u;
	}
	return unit_create(m, &pt->place);
}

/* The string table's offset of the name of a probe's provider (struct rt_mach). */
static uint32_t prov_offset(struct match *m, const struct probe *pr)
{
	return strtab_adds(m->strtab, pr->prov) | (pr->has_pid ? RT_NAME_PID : 0);
}

static struct unit_identity probe_identity(struct match *m, const struct probe *pr, uint32_t idx)
{
	return (struct unit_identity){
		.probe = pr->id,
		.probe_idx = idx,
		.names = {prov_offset(m, pr), strtab_adds(m->strtab, pr->mod),
			  strtab_adds(m->strtab, probe_func_shown(m->probes, pr)),
			  strtab_adds(m->strtab, pr->name)},
	};
}

static struct unit_clause unit_clause_of(struct match *m, uint32_t clause)
{
	const struct session_clause *sc = &m->clauses.data[clause];
	const struct prog_clause *cl = sc->clause;
	struct unit_clause uc = {
		&m->layout->clauses[clause],
		sc->probe_idxs,
		sc->n,
		NULL,
		cl->derived ? clause_process(cl, sc->sources, sc->nsources)
			    : clause_process(cl, sc->probes, sc->n),
		NULL,
	};

	if (sc->clause->derived && sc->n) {
		struct unit_identity *as = ARENA_NEW(m->arena, struct unit_identity);

		*as = probe_identity(m, sc->probes[0], sc->probe_idxs[0]);
		uc.as = as;
	}
	return uc;
}

/* Words for a bit per clause of the session, as the number of the unit's is not known yet. */
static uint32_t mask_words(const struct match *m)
{
	return (m->clauses.len + 63) / 64;
}

static void operands_count(struct session_unit *u, const struct place_code *code)
{
	for (uint32_t i = 0; code && i < code->sites.len; i++) {
		const struct place_site *s = &code->sites.data[i];

		if (!s->operands || hashmap_find(u->by_operands, &s->rel, sizeof(s->rel)))
			continue;
		hashmap_set(u->by_operands, &s->rel, sizeof(s->rel), u);
		u->noperands += s->operands->n;
	}
}

/* pr: the probe that fires, idx its number. */
static uint32_t point_get(struct match *m, struct session_unit *u, const struct probe *pr,
			  uint32_t idx, const struct probe_point *pt)
{
	uint32_t key = pt->key;
	uintptr_t at = (uintptr_t)hashmap_find(u->by_key, &key, sizeof(key));

	if (at)
		return (uint32_t)at - 1;
	vec_push(&u->points, (struct unit_probe){
				     .key = key,
				     .view = pt->view,
				     .id = probe_identity(m, pr, idx),
				     .tgid = pt->tgid,
				     .spot = (enum code_spot)pt->spot,
				     .code = pt->code,
				     .timer = pt->timer,
				     .event = pt->event,
				     .kfunc = pt->kfunc,
				     .mask = ARENA_NEW_N(u->arena, uint64_t, mask_words(m)),
			     });
	hashmap_set(u->by_key, &key, sizeof(key), (void *)(uintptr_t)u->points.len);
	operands_count(u, pt->code);
	key %= RT_SYS_VARIANT;
	if (u->traits->family)
		hashmap_set(u->by_call, &key, sizeof(key), (void *)(uintptr_t)u->points.len);
	return u->points.len - 1;
}

void unit_enable(struct match *m, struct session_unit *u, const struct probe *pr, uint32_t idx,
		 const struct probe_point *pt)
{
	uint32_t at = point_get(m, u, pr, idx, pt), bit = u->clauses.len - 1;

	u->points.data[at].mask[bit / 64] |= (uint64_t)1 << (bit % 64);
}

static void enable_point(struct match *m, uint32_t clause, const struct probe *pr, uint32_t idx,
			 const struct probe_point *pt)
{
	struct session_unit *u = unit_get(m, pt);

	if (!u->clauses.len || vec_last(&u->clauses)->layout != &m->layout->clauses[clause])
		vec_push(&u->clauses, unit_clause_of(m, clause));
	unit_enable(m, u, pr, idx, pt);
}

typedef VEC(struct placed {
	uint32_t probe; /* index in session_clause.probes */
	struct probe_point pt;
}) placed_vec;

static void find_points(const struct session_clause *sc, placed_vec *out)
{
	bool is_derived = sc->clause->derived;
	struct probe *const *list = is_derived ? sc->sources : sc->probes;
	uint32_t nlist = is_derived ? sc->nsources : sc->n;
	struct probe_point pts[PROBE_MAX_POINTS];

	for (uint32_t i = 0; i < nlist && sc->n; i++) {
		uint32_t n = list[i]->provider->points(list[i], pts);

		for (uint32_t j = 0; j < n; j++)
			vec_push(out, (struct placed){is_derived ? 0 : i, pts[j]});
	}
}

/* Moves the points of a clause to one program where their kinds allow it. */
static void widen_points(placed_vec *v)
{
	uint64_t there = 0; /* bits: kinds */

	for (uint32_t i = 0; i < v->len; i++)
		there |= (uint64_t)1 << v->data[i].pt.place.kind;
	for (uint32_t i = 0; i < v->len; i++) {
		struct place *p = &v->data[i].pt.place;

		if (there >> place_traits(p->kind)->wider & 1)
			p->kind = place_traits(p->kind)->wider;
	}
}

static void enable_clause(struct match *m, uint32_t clause)
{
	const struct session_clause *sc = &m->clauses.data[clause];
	placed_vec points = {0};

	find_points(sc, &points);
	widen_points(&points);
	for (uint32_t i = 0; i < points.len; i++) {
		const struct placed *p = &points.data[i];

		enable_point(m, clause, sc->probes[p->probe], sc->probe_idxs[p->probe], &p->pt);
	}
	vec_deinit(&points);
}

/* Puts the ERROR clauses, if there are any, into a unit. */
static void add_error_clauses(struct match *m, struct session_unit *su)
{
	struct unit_clause *list =
		ARENA_NEW_N(su->arena, struct unit_clause, MAX(m->clauses.len, 1u));
	struct unit *u = &su->unit;
	uint32_t n = 0, idx = 0;

	for (uint32_t i = 0; i < m->clauses.len; i++)
		if (clause_has_probe(&m->clauses.data[i], DTRACE_ID_ERROR))
			list[n++] = unit_clause_of(m, i);
	while (n && m->enabled[idx]->id != DTRACE_ID_ERROR)
		idx++;
	u->error_clauses = list;
	u->nerror_clauses = n;
	u->error_id = (struct unit_identity){
		.probe = DTRACE_ID_ERROR,
		.probe_idx = idx,
		.names = {[0] = strtab_adds(m->strtab, provider_dtrace.name),
			  [3] = strtab_adds(m->strtab, "ERROR")},
	};
}

static bool clauses_aggregate(const struct unit_clause *cls, uint32_t n, uint32_t agg_id)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct prog_clause *cl = cls[i].layout->clause;

		for (uint32_t j = 0; j < cl->nacts; j++)
			if (cl->acts[j].kind == ACT_AGG && cl->acts[j].agg->id == agg_id)
				return true;
	}
	return false;
}

static bool unit_aggregates(const struct unit *u, uint32_t agg_id)
{
	return clauses_aggregate(u->clauses, u->nclauses, agg_id) ||
	       clauses_aggregate(u->error_clauses, u->nerror_clauses, agg_id);
}

bool unit_can_nest(const struct match *m, const struct session_unit *u)
{
	if (!u->traits->is_interruptible)
		return false;
	if (u->traits->is_preemptible)
		return true;
	for (uint32_t i = 0; i < m->units.len; i++) {
		const struct session_unit *other = m->units.data[i];

		if (other == u || !other->traits->interrupts)
			continue;
		for (uint32_t id = 1; id <= m->layout->naggs; id++)
			if (unit_aggregates(&u->unit, id) && unit_aggregates(&other->unit, id))
				return true;
	}
	return false;
}

/* Returns the next order after `order` of a clause's derived probe; 0: there is none. */
static uint32_t next_order(const struct match *m, uint32_t order)
{
	uint32_t next = UINT32_MAX;

	for (uint32_t i = 0; i < m->clauses.len; i++)
		if (m->clauses.data[i].clause->derived > order)
			next = MIN(next, m->clauses.data[i].clause->derived);
	return next == UINT32_MAX ? 0 : next;
}

void unit_finish(struct match *m, struct session_unit *u)
{
	u->unit.clauses = u->clauses.data;
	u->unit.nclauses = u->clauses.len;
	u->unit.nwords = (u->clauses.len + 63) / 64;
	u->unit.probes = u->points.data;
	u->unit.nprobes = u->points.len;
	add_error_clauses(m, u);
}

/*
 * Derived probes fire after their sources, in the order of their declaration. All clauses of one
 * derived probe are enabled before those of the next, so that they are neighbours in a unit.
 */
static void enable_derived(struct match *m)
{
	for (uint32_t order = next_order(m, 0); order; order = next_order(m, order))
		for (uint32_t i = 0; i < m->clauses.len; i++)
			if (m->clauses.data[i].clause->derived == order)
				enable_clause(m, i);
}

void match_make_units(struct match *m)
{
	for (uint32_t i = 0; i < m->clauses.len; i++)
		if (!m->clauses.data[i].clause->derived)
			enable_clause(m, i);
	enable_derived(m);
	for (uint32_t i = 0; i < m->units.len; i++) {
		unit_join_clauses(m, m->units.data[i]);
		unit_finish(m, m->units.data[i]);
	}
	for (uint32_t i = 0; i < m->units.len; i++)
		m->units.data[i]->unit.can_nest = unit_can_nest(m, m->units.data[i]);
}
