/* SPDX-License-Identifier: MIT */
/* Makes units of probes that are added while the session runs, and drops them. */
#include "session/match/impl.h"

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
static struct clause_layout *late_layout(const struct match *m, struct session_unit *u,
					 uint32_t clause, uint32_t epid)
{
	struct clause_layout *cl = ARENA_NEW(u->arena, struct clause_layout);

	*cl = m->layout->clauses[clause];
	cl->first_epid = epid;
	return cl;
}

static void late_enable(struct match *m, struct session_unit *u, const struct late_clause *late,
			const probe_vec *all, const struct late_numbers *numbers)
{
	struct session_clause *sc = &m->clauses.data[late->clause];
	uint32_t n = late->list.probes.len;
	uint32_t *idxs = ARENA_NEW_N(u->arena, uint32_t, n);
	struct probe_point pts[PROBE_MAX_POINTS];

	vec_push(&u->clauses,
		 (struct unit_clause){late_layout(m, u, late->clause, numbers->epid), idxs, n, NULL,
				      clause_process(sc->clause, late->list.probes.data, n), NULL});
	for (uint32_t i = 0; i < n; i++) {
		struct probe *pr = late->list.probes.data[i];
		uint32_t npoints = pr->provider->points(pr, pts);

		idxs[i] = numbers->idx + rank_of(all, pr);
		vec_push(&sc->late, (struct late_enabling){pr->id, numbers->epid + i});
		for (uint32_t j = 0; j < npoints; j++)
			unit_enable(m, u, pr, idxs[i], &pts[j]);
	}
}

static struct session_unit *late_create(struct match *m, const struct probe *pr,
					const struct late_numbers *numbers)
{
	struct probe_point pts[PROBE_MAX_POINTS];
	struct session_unit *u;

	(void)pr->provider->points(pr, pts); /* a probe has at least one point */
	u = unit_create(m, &pts[0].place);
	u->arena = arena_create();
	u->group = numbers->group;
	return u;
}

struct session_unit *match_make_late_unit(struct match *m, const struct late_clause *late,
					  uint32_t n, struct late_numbers *numbers)
{
	struct session_unit *u;
	probe_vec all = {0};

	late_union(late, n, &all);
	u = late_create(m, all.data[0], numbers);
	for (uint32_t i = 0; i < n; i++) {
		late_enable(m, u, &late[i], &all, numbers);
		numbers->epid += late[i].list.probes.len;
	}
	numbers->idx += all.len;
	vec_deinit(&all);
	unit_finish(m, u);
	u->unit.can_nest = unit_can_nest(m, u);
	return u;
}

/* Removes the enablings of a unit's clause, found by their EPIDs, which only this unit has. */
static void late_disable(struct match *m, const struct unit_clause *uc)
{
	uint32_t clause = uc->layout->clause->index, first = uc->layout->first_epid, n = 0;
	struct session_clause *sc = &m->clauses.data[clause];

	for (uint32_t i = 0; i < sc->late.len; i++)
		if (sc->late.data[i].epid - first >= uc->nprobes)
			sc->late.data[n++] = sc->late.data[i];
	sc->late.len = n;
}

void match_drop_unit(struct match *m, struct session_unit *u)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < u->clauses.len; i++)
		late_disable(m, &u->clauses.data[i]);
	for (uint32_t i = 0; i < m->units.len; i++)
		if (m->units.data[i] != u)
			m->units.data[n++] = m->units.data[i];
	m->units.len = n;
	unit_destroy(u);
}
