/* SPDX-License-Identifier: MIT */
/*
 * Turns compiled clauses into units: decides which probes fire which clauses, and numbers them.
 *
 * probe_idx    index of a probe among the session's enabled ones, ascending probe id.
 * epid         number of an enabling, from 1: in program order, within a clause by ascending probe
 *              id. A clause has first_epid, to which a probe's rank in the clause's list is added.
 * unit         all clauses of the probes on one place. ERROR clauses are in every unit, because
 *              they run inside it after a fault.
 */
#include "provider/providers.h"
#include "session/join.h"
#include "session/run.h"

/* ---- matching ------------------------------------------------------------------------------- */

static bool enabled_on(const struct session_clause *sc, uint32_t id)
{
	for (uint32_t i = 0; i < sc->n && sc->probes[i]->id <= id; i++)
		if (sc->probes[i]->id == id)
			return true;
	return false;
}

static bool is_view(const struct probe *pr)
{
	struct probe_point pts[PROBE_MAX_POINTS];

	return pr->provider->points(pr, pts) && pts[0].view;
}

/* Returns true if the clause runs for this probe already, or for its call in another form. */
static bool runs_on(const struct session_clause *sc, const struct probe *pr)
{
	for (uint32_t i = 0; i < sc->n; i++) {
		const struct probe *other = sc->probes[i];

		if (other == pr)
			return true;
		if (other->provider == pr->provider && strcmp(other->func, pr->func) == 0 &&
		    strcmp(other->name, pr->name) == 0 && is_view(other) != is_view(pr))
			return true;
	}
	return false;
}

/*
 * "open, open64" and "open, open*" are several names of the same calls: a clause with both runs
 * once for each call. Two descriptions that match one probe by its own name run it twice, as
 * everywhere.
 */
static void drop_doubles(struct run *run, const struct prog *prog, uint32_t clause)
{
	const struct prog_clause *cl = prog->clauses[clause];
	struct session_clause *sc = &run->clauses.data[cl->index];

	for (uint32_t i = clause; i-- > 0 && prog->clauses[i]->text_clause == cl->text_clause;) {
		const struct session_clause *other = &run->clauses.data[prog->clauses[i]->index];
		struct probe **all = sc->probes;
		uint32_t n = sc->n;

		if (!sc->is_expanded && !other->is_expanded)
			continue;
		sc->probes = ARENA_NEW_N(run->arena, struct probe *, MAX(n, 1u));
		sc->n = 0;
		for (uint32_t k = 0; k < n; k++)
			if (!runs_on(other, all[k]))
				sc->probes[sc->n++] = all[k];
	}
}

/*
 * Reduces the array to probes that have places themselves, without the derived ones, and are made
 * of this source, or of none if it is 0.
 */
static void drop_derived(struct run *run, uint32_t source, struct probe ***probes, uint32_t *n)
{
	struct probe **plain = ARENA_NEW_N(run->arena, struct probe *, MAX(*n, 1u));
	uint32_t nplain = 0;

	for (uint32_t i = 0; i < *n; i++)
		if (!(*probes)[i]->provider->is_derived && (*probes)[i]->source == source)
			plain[nplain++] = (*probes)[i];
	if (nplain == *n)
		return;
	*probes = plain;
	*n = nplain;
}

/* Finds the probes on whose places the clause runs. */
static struct err *match_sources(struct run *run, const struct prog_clause *cl,
				 struct session_clause *sc)
{
	struct err *e;

	if (!cl->derived) {
		drop_derived(run, cl->code_source, &sc->probes, &sc->n);
		return NULL;
	}
	e = probes_match(run->probes, &cl->source, &sc->sources, &sc->nsources);
	if (!e)
		drop_derived(run, 0, &sc->sources, &sc->nsources);
	return e;
}

static struct err *match_program(struct run *run, const struct dtrace_prog *p)
{
	for (uint32_t i = 0; i < p->prog->nclauses; i++) {
		const struct prog_clause *cl = p->prog->clauses[i];
		struct session_clause *sc = &run->clauses.data[cl->index];
		struct err *e = probes_match(run->probes, &cl->desc, &sc->probes, &sc->n);

		if (!e)
			e = match_sources(run, cl, sc);
		if (e)
			return e;
		sc->is_expanded = probes_is_expanded(run->probes, &cl->desc);
		drop_doubles(run, p->prog, i);
	}
	return NULL;
}

/* Numbers all probes that some clause is enabled on. */
static void number_probes(struct run *run)
{
	CLEANUP(free) uint32_t *idx_by_id = NULL;
	uint32_t max_id = 0;

	for (uint32_t i = 0; i < run->clauses.len; i++) {
		const struct session_clause *sc = &run->clauses.data[i];

		if (sc->n)
			max_id = MAX(max_id, sc->probes[sc->n - 1]->id);
	}
	idx_by_id = xcalloc(max_id + 1, sizeof(*idx_by_id));
	for (uint32_t i = 0; i < run->clauses.len; i++)
		for (uint32_t j = 0; j < run->clauses.data[i].n; j++)
			idx_by_id[run->clauses.data[i].probes[j]->id] = 1;
	for (uint32_t id = 1; id <= max_id; id++)
		run->nenabled += idx_by_id[id];
	run->enabled = ARENA_NEW_N(run->arena, struct probe *, MAX(run->nenabled, 1u));
	for (uint32_t id = 1, idx = 0; id <= max_id; id++)
		if (idx_by_id[id]) {
			run->enabled[idx] = probes_find(run->probes, id);
			idx_by_id[id] = idx++;
		}
	for (uint32_t i = 0; i < run->clauses.len; i++) {
		struct session_clause *sc = &run->clauses.data[i];

		sc->probe_idxs = ARENA_NEW_N(run->arena, uint32_t, MAX(sc->n, 1u));
		for (uint32_t j = 0; j < sc->n; j++)
			sc->probe_idxs[j] = idx_by_id[sc->probes[j]->id];
	}
}

struct err *run_match_clauses(struct run *run)
{
	for (uint32_t i = 0; i < run->compiler->progs.len; i++) {
		struct err *e = run->compiler->progs.data[i]->is_enabled
					? match_program(run, run->compiler->progs.data[i])
					: NULL;

		if (e)
			return e;
	}
	number_probes(run);
	for (uint32_t i = 0; i < run->nenabled; i++) {
		const struct probe *pr = run->enabled[i];

		(void)strtab_adds(run->strtab, pr->prov);
		(void)strtab_adds(run->strtab, pr->mod);
		(void)strtab_adds(run->strtab, probe_func_shown(run->probes, pr));
		(void)strtab_adds(run->strtab, pr->name);
	}
	return NULL;
}

void run_number_epids(struct run *run)
{
	uint32_t next = 1;

	for (uint32_t i = 0; i < run->clauses.len; i++) {
		run->layout->clauses[i].first_epid = next;
		next += run->clauses.data[i].n;
	}
}

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

static struct session_unit *unit_create(struct run *run, const struct place *place)
{
	struct session_unit *u = xcalloc(1, sizeof(*u));

	u->traits = place_traits(place->kind);
	u->unit.name = u->traits->name;
	u->unit.place = *place;
	u->unit.is_begin_end = u->traits->is_begin_end;
	u->by_key = hashmap_create();
	u->by_call = hashmap_create();
	u->by_operands = hashmap_create();
	u->arena = run->arena;
	vec_push(&run->units, u);
	return u;
}

void run_unload_unit(struct run *run, struct session_unit *u)
{
	if (u->loaded)
		u->engine->engine->unload(u->engine, u->loaded);
	u->loaded = NULL;
}

void run_destroy_unit(struct run *run, struct session_unit *u)
{
	run_unload_unit(run, u);
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
static struct session_unit *unit_of_code(const struct run *run, const struct probe_point *pt)
{
	uint32_t key = pt->key;

	for (uint32_t i = 0; i < run->units.len && pt->code; i++) {
		struct session_unit *u = run->units.data[i];

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
static struct session_unit *unit_get(struct run *run, const struct probe_point *pt)
{
	struct session_unit *has = unit_of_code(run, pt);
	bool is_last = false;

	if (has)
		return has;
	for (uint32_t i = run->units.len; i-- > 0 && !is_last;) {
		struct session_unit *u = run->units.data[i];

		if (can_hold(u, pt, &is_last))
			return u;
	}
	return unit_create(run, &pt->place);
}

/* The string table's offset of the name of a probe's provider (struct rt_mach). */
static uint32_t prov_offset(struct run *run, const struct probe *pr)
{
	return strtab_adds(run->strtab, pr->prov) | (pr->has_pid ? RT_NAME_PID : 0);
}

static struct unit_identity probe_identity(struct run *run, const struct probe *pr, uint32_t idx)
{
	return (struct unit_identity){
		.probe = pr->id,
		.probe_idx = idx,
		.names = {prov_offset(run, pr), strtab_adds(run->strtab, pr->mod),
			  strtab_adds(run->strtab, probe_func_shown(run->probes, pr)),
			  strtab_adds(run->strtab, pr->name)},
	};
}

/* Returns the process that a clause is about, if one of its probes fires in others, too; else 0. */
static uint32_t clause_process(const struct prog_clause *cl, struct probe *const *probes,
			       uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (probes[i]->has_pid)
			return probes[i]->provider->only_in(cl->derived ? &cl->source : &cl->desc);
	return 0;
}

static struct unit_clause unit_clause_of(struct run *run, uint32_t clause)
{
	const struct session_clause *sc = &run->clauses.data[clause];
	const struct prog_clause *cl = sc->clause;
	struct unit_clause uc = {
		&run->layout->clauses[clause],
		sc->probe_idxs,
		sc->n,
		NULL,
		cl->derived ? clause_process(cl, sc->sources, sc->nsources)
			    : clause_process(cl, sc->probes, sc->n),
		NULL,
	};

	if (sc->clause->derived && sc->n) {
		struct unit_identity *as = ARENA_NEW(run->arena, struct unit_identity);

		*as = probe_identity(run, sc->probes[0], sc->probe_idxs[0]);
		uc.as = as;
	}
	return uc;
}

/* Words for a bit per clause of the session, as the number of the unit's is not known yet. */
static uint32_t mask_words(const struct run *run)
{
	return (run->clauses.len + 63) / 64;
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
static uint32_t point_get(struct run *run, struct session_unit *u, const struct probe *pr,
			  uint32_t idx, const struct probe_point *pt)
{
	uint32_t key = pt->key;
	uintptr_t at = (uintptr_t)hashmap_find(u->by_key, &key, sizeof(key));

	if (at)
		return (uint32_t)at - 1;
	vec_push(&u->points,
		 (struct unit_probe){
			 .key = key,
			 .view = pt->view,
			 .id = probe_identity(run, pr, idx),
			 .tgid = pt->tgid,
			 .spot = (enum code_spot)pt->spot,
			 .code = pt->code,
			 .timer = pt->timer,
			 .event = pt->event,
			 .kfunc = pt->kfunc,
			 .mask = ARENA_NEW_N(u->arena, uint64_t, mask_words(run)),
		 });
	hashmap_set(u->by_key, &key, sizeof(key), (void *)(uintptr_t)u->points.len);
	operands_count(u, pt->code);
	key %= RT_SYS_VARIANT;
	if (u->traits->family)
		hashmap_set(u->by_call, &key, sizeof(key), (void *)(uintptr_t)u->points.len);
	return u->points.len - 1;
}

static void enable_point(struct run *run, uint32_t clause, const struct probe *pr, uint32_t idx,
			 const struct probe_point *pt)
{
	struct session_unit *u = unit_get(run, pt);
	const struct clause_layout *cl = &run->layout->clauses[clause];
	uint32_t at, bit;

	if (!u->clauses.len || vec_last(&u->clauses)->layout != cl)
		vec_push(&u->clauses, unit_clause_of(run, clause));
	bit = u->clauses.len - 1;
	at = point_get(run, u, pr, idx, pt);
	u->points.data[at].mask[bit / 64] |= (uint64_t)1 << (bit % 64);
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

static void enable_clause(struct run *run, uint32_t clause)
{
	const struct session_clause *sc = &run->clauses.data[clause];
	placed_vec points = {0};

	find_points(sc, &points);
	widen_points(&points);
	for (uint32_t i = 0; i < points.len; i++) {
		const struct placed *p = &points.data[i];

		enable_point(run, clause, sc->probes[p->probe], sc->probe_idxs[p->probe], &p->pt);
	}
	vec_deinit(&points);
}

/* Puts the ERROR clauses, if there are any, into a unit. */
static void add_error_clauses(struct run *run, struct session_unit *su)
{
	struct unit_clause *list =
		ARENA_NEW_N(su->arena, struct unit_clause, MAX(run->clauses.len, 1u));
	struct unit *u = &su->unit;
	uint32_t n = 0, idx = 0;

	for (uint32_t i = 0; i < run->clauses.len; i++)
		if (enabled_on(&run->clauses.data[i], DTRACE_ID_ERROR))
			list[n++] = unit_clause_of(run, i);
	while (n && run->enabled[idx]->id != DTRACE_ID_ERROR)
		idx++;
	u->error_clauses = list;
	u->nerror_clauses = n;
	u->error_id = (struct unit_identity){
		.probe = DTRACE_ID_ERROR,
		.probe_idx = idx,
		.names = {[0] = strtab_adds(run->strtab, provider_dtrace.name),
			  [3] = strtab_adds(run->strtab, "ERROR")},
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

/* Returns true if another unit that updates the same aggregation can interrupt u. */
static bool can_nest(const struct run *run, const struct session_unit *u)
{
	if (!u->traits->is_interruptible)
		return false;
	if (u->traits->is_preemptible)
		return true;
	for (uint32_t i = 0; i < run->units.len; i++) {
		const struct session_unit *other = run->units.data[i];

		if (other == u || !other->traits->interrupts)
			continue;
		for (uint32_t id = 1; id <= run->layout->naggs; id++)
			if (unit_aggregates(&u->unit, id) && unit_aggregates(&other->unit, id))
				return true;
	}
	return false;
}

/* Returns the next order after `order` of a clause's derived probe; 0: there is none. */
static uint32_t next_order(const struct run *run, uint32_t order)
{
	uint32_t next = UINT32_MAX;

	for (uint32_t i = 0; i < run->clauses.len; i++)
		if (run->clauses.data[i].clause->derived > order)
			next = MIN(next, run->clauses.data[i].clause->derived);
	return next == UINT32_MAX ? 0 : next;
}

/* Fills in the members of the unit that the code generator reads. */
static void unit_finish(struct run *run, struct session_unit *u)
{
	u->unit.clauses = u->clauses.data;
	u->unit.nclauses = u->clauses.len;
	u->unit.nwords = (u->clauses.len + 63) / 64;
	u->unit.probes = u->points.data;
	u->unit.nprobes = u->points.len;
	add_error_clauses(run, u);
}

/*
 * Derived probes fire after their sources, in the order of their declaration. All clauses of one
 * derived probe are enabled before those of the next, so that they are neighbours in a unit.
 */
static void enable_derived(struct run *run)
{
	for (uint32_t order = next_order(run, 0); order; order = next_order(run, order))
		for (uint32_t i = 0; i < run->clauses.len; i++)
			if (run->clauses.data[i].clause->derived == order)
				enable_clause(run, i);
}

void run_make_units(struct run *run)
{
	for (uint32_t i = 0; i < run->clauses.len; i++)
		if (!run->clauses.data[i].clause->derived)
			enable_clause(run, i);
	enable_derived(run);
	for (uint32_t i = 0; i < run->units.len; i++) {
		unit_join_clauses(run, run->units.data[i]);
		unit_finish(run, run->units.data[i]);
	}
	for (uint32_t i = 0; i < run->units.len; i++)
		run->units.data[i]->unit.can_nest = can_nest(run, run->units.data[i]);
}

/* ---- probes that are added while the session runs -------------------------------------------- */

static int by_probe_id(const void *a, const void *b)
{
	const struct probe *const *x = a, *const *y = b;

	return ((*x)->id > (*y)->id) - ((*x)->id < (*y)->id);
}

typedef VEC(struct probe *) probe_vec;

/* Collects all probes of the clauses, each once. */
static void late_union(const struct late_clause *late, uint32_t n, probe_vec *ret)
{
	uint32_t k = 0;

	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = 0; j < late[i].list.probes.len; j++)
			vec_push(ret, late[i].list.probes.data[j]);
	qsort(ret->data, ret->len, sizeof(*ret->data), by_probe_id);
	for (uint32_t i = 0; i < ret->len; i++)
		if (!k || ret->data[k - 1] != ret->data[i])
			ret->data[k++] = ret->data[i];
	ret->len = k;
}

static uint32_t rank_of(const probe_vec *all, struct probe *pr)
{
	struct probe **at = bsearch(&pr, all->data, all->len, sizeof(*all->data), by_probe_id);

	return (uint32_t)(at - all->data); /* late_union() has put it there */
}

/* Copies the clause's layout with another first EPID; the records are the same. */
static struct clause_layout *late_layout(const struct run *run, struct session_unit *u,
					 uint32_t clause, uint32_t epid)
{
	struct clause_layout *cl = ARENA_NEW(u->arena, struct clause_layout);

	*cl = run->layout->clauses[clause];
	cl->first_epid = epid;
	return cl;
}

static void late_enable(struct run *run, struct session_unit *u, const struct late_clause *late,
			const probe_vec *all, const struct late_numbers *numbers)
{
	struct session_clause *sc = &run->clauses.data[late->clause];
	uint32_t n = late->list.probes.len, bit = u->clauses.len;
	uint32_t *idxs = ARENA_NEW_N(u->arena, uint32_t, n);
	struct probe_point pts[PROBE_MAX_POINTS];

	vec_push(&u->clauses,
		 (struct unit_clause){late_layout(run, u, late->clause, numbers->epid), idxs, n,
				      NULL, clause_process(sc->clause, late->list.probes.data, n),
				      NULL});
	for (uint32_t i = 0; i < n; i++) {
		struct probe *pr = late->list.probes.data[i];
		uint32_t npoints = pr->provider->points(pr, pts);

		idxs[i] = numbers->idx + rank_of(all, pr);
		vec_push(&sc->late, (struct late_enabling){pr->id, numbers->epid + i});
		for (uint32_t j = 0; j < npoints; j++) {
			uint32_t at = point_get(run, u, pr, idxs[i], &pts[j]);

			u->points.data[at].mask[bit / 64] |= (uint64_t)1 << (bit % 64);
		}
	}
}

/* Makes the unit of added probes: they are in code of processes, on places of one kind. */
static struct session_unit *late_create(struct run *run, const struct probe *pr,
					const struct late_numbers *numbers)
{
	struct probe_point pts[PROBE_MAX_POINTS];
	struct session_unit *u;

	(void)pr->provider->points(pr, pts); /* a probe has at least one point */
	u = unit_create(run, &pts[0].place);
	u->arena = arena_create();
	u->group = numbers->group;
	return u;
}

struct session_unit *run_make_late_unit(struct run *run, const struct late_clause *late, uint32_t n,
					struct late_numbers *numbers)
{
	struct session_unit *u;
	probe_vec all = {0};

	late_union(late, n, &all);
	u = late_create(run, all.data[0], numbers);
	for (uint32_t i = 0; i < n; i++) {
		late_enable(run, u, &late[i], &all, numbers);
		numbers->epid += late[i].list.probes.len;
	}
	numbers->idx += all.len;
	vec_deinit(&all);
	unit_finish(run, u);
	u->unit.can_nest = can_nest(run, u);
	return u;
}

/* Returns the index of a probe among the clause's, which ascend; n: it is not there. */
static uint32_t probe_index(const struct session_clause *sc, uint32_t probe)
{
	uint32_t low = 0, high = sc->n;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (sc->probes[mid]->id < probe)
			low = mid + 1;
		else
			high = mid;
	}
	return low < sc->n && sc->probes[low]->id == probe ? low : sc->n;
}

static uint32_t own_epid(const struct run *run, uint32_t clause, uint32_t probe)
{
	const struct session_clause *sc = &run->clauses.data[clause];
	uint32_t i = probe_index(sc, probe);

	if (i < sc->n)
		return run->layout->clauses[clause].first_epid + i;
	for (i = sc->late.len; i-- > 0;)
		if (sc->late.data[i].probe == probe)
			return sc->late.data[i].epid;
	return 0;
}

uint32_t run_clause_for(const struct run *run, uint32_t clause, uint32_t probe)
{
	const struct session_clause *sc = &run->clauses.data[clause];

	if (own_epid(run, clause, probe))
		return clause;
	for (uint32_t i = 0; i < sc->joined.len; i++)
		if (own_epid(run, sc->joined.data[i], probe))
			return sc->joined.data[i];
	return clause;
}

uint32_t run_epid(const struct run *run, uint32_t clause, uint32_t probe)
{
	return own_epid(run, run_clause_for(run, clause, probe), probe);
}

uint32_t run_clause_of(const struct run *run, uint32_t epid, uint32_t probe)
{
	for (uint32_t i = 0; i < run->clauses.len; i++)
		if (own_epid(run, i, probe) == epid)
			return i;
	return 0;
}

/* Removes the enablings of a unit's clause, found by their EPIDs, which only this unit has. */
static void late_disable(struct run *run, const struct unit_clause *uc)
{
	uint32_t clause = uc->layout->clause->index, first = uc->layout->first_epid, n = 0;
	struct session_clause *sc = &run->clauses.data[clause];

	for (uint32_t i = 0; i < sc->late.len; i++)
		if (sc->late.data[i].epid - first >= uc->nprobes)
			sc->late.data[n++] = sc->late.data[i];
	sc->late.len = n;
}

void run_drop_unit(struct run *run, struct session_unit *u)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < u->clauses.len; i++)
		late_disable(run, &u->clauses.data[i]);
	for (uint32_t i = 0; i < run->units.len; i++)
		if (run->units.data[i] != u)
			run->units.data[n++] = run->units.data[i];
	run->units.len = n;
	run_destroy_unit(run, u);
}
