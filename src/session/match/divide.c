/* SPDX-License-Identifier: MIT */
/*
 * Divides a unit of code between two engines, site by site.
 *
 * The new unit has some of the sites, the old one keeps the others. Probes and clauses keep their
 * numbers in both, so that records and keys are the same whichever of the two has fired. A clause
 * or a probe that has no site left in a unit is taken out of it.
 */
#include "session/match/impl.h"

/* ---- sites ---------------------------------------------------------------------------------- */

/* Returns the sites of a point that `takes` says are wanted (1) or not (0); NULL: none. */
static const struct place_code *code_part(struct arena *a, const struct place_code *code,
					  const uint8_t *takes, uint8_t wanted)
{
	uint32_t n = 0, k = 0;
	struct place_code *part;

	for (uint32_t i = 0; i < code->sites.len; i++)
		n += takes[i] == wanted;
	if (!n || n == code->sites.len)
		return n ? code : NULL;
	part = ARENA_NEW(a, struct place_code);
	*part = *code;
	part->sites.data = ARENA_NEW_N(a, struct place_site, n);
	part->sites.len = n;
	for (uint32_t i = 0; i < code->sites.len; i++)
		if (takes[i] == wanted)
			part->sites.data[k++] = code->sites.data[i];
	return part;
}

/* ---- clauses -------------------------------------------------------------------------------- */

static bool clause_is_enabled(const struct session_unit *u, uint32_t clause)
{
	for (uint32_t i = 0; i < u->points.len; i++)
		if (u->points.data[i].mask[clause / 64] >> (clause % 64) & 1)
			return true;
	return false;
}

static void clauses_drop_unused(struct session_unit *u)
{
	CLEANUP(free) bool *gone = xcalloc(MAX(u->clauses.len, 1u), sizeof(*gone));

	for (uint32_t i = 0; i < u->clauses.len; i++)
		gone[i] = !clause_is_enabled(u, i);
	unit_pack_clauses(u, gone);
}

/* ---- points --------------------------------------------------------------------------------- */

static void point_add(struct session_unit *u, const struct unit_probe *p,
		      const struct place_code *code, uint32_t nwords)
{
	vec_push(&u->points, *p);
	vec_last(&u->points)->code = code;
	vec_last(&u->points)->mask = ARENA_NEW_N(u->arena, uint64_t, nwords);
	memcpy(vec_last(&u->points)->mask, p->mask, nwords * sizeof(*p->mask));
	hashmap_set(u->by_key, &p->key, sizeof(p->key), (void *)(uintptr_t)u->points.len);
}

/* Leaves the sites that were not taken in the unit. */
static void points_reduce(struct session_unit *u, const uint8_t *takes)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < u->points.len; i++) {
		struct unit_probe *p = &u->points.data[i];
		const struct place_code *code = p->code;

		p->code = code_part(u->arena, code, takes, 0);
		takes += code->sites.len;
		if (p->code)
			u->points.data[n++] = *p;
	}
	u->points.len = n;
	hashmap_destroy(u->by_key);
	u->by_key = hashmap_create();
	for (uint32_t i = 0; i < n; i++)
		hashmap_set(u->by_key, &u->points.data[i].key, sizeof(u->points.data[i].key),
			    (void *)(uintptr_t)(i + 1));
}

static struct session_unit *unit_split(struct match *m, struct session_unit *u,
				       const uint8_t *takes)
{
	struct session_unit *part = unit_create(m, &u->unit.place);
	uint32_t nwords = (m->clauses.len + 63) / 64;
	const uint8_t *at = takes;

	if (u->group)
		part->arena = arena_create();
	part->group = u->group;
	for (uint32_t i = 0; i < u->clauses.len; i++)
		vec_push(&part->clauses, u->clauses.data[i]);
	for (uint32_t i = 0; i < u->points.len; i++) {
		const struct unit_probe *p = &u->points.data[i];
		const struct place_code *code = code_part(part->arena, p->code, at, 1);

		at += p->code->sites.len;
		if (code)
			point_add(part, p, code, nwords);
	}
	points_reduce(u, takes);
	return part;
}

struct session_unit *match_divide_unit(struct match *m, struct session_unit *u,
				       const uint8_t *takes, uint32_t pid)
{
	struct session_unit *part;
	uint32_t n = 0, ntaken = 0;

	for (uint32_t i = 0; i < u->points.len; i++)
		for (uint32_t k = 0; k < u->points.data[i].code->sites.len; k++)
			ntaken += takes[n++];
	if (!ntaken)
		return NULL;
	if (ntaken == n) {
		u->unit.is_inproc = true;
		u->unit.inproc_pid = pid;
		return u;
	}
	part = unit_split(m, u, takes);
	clauses_drop_unused(part);
	clauses_drop_unused(u);
	unit_finish(m, part);
	unit_finish(m, u);
	part->unit.is_inproc = true;
	part->unit.inproc_pid = pid;
	part->unit.can_nest = u->unit.can_nest;
	return part;
}

void match_make_twin(struct match *m, struct session_unit *u)
{
	struct session_unit *twin = unit_create(m, &u->unit.place);
	uint32_t nwords = (m->clauses.len + 63) / 64;

	for (uint32_t i = 0; i < u->clauses.len; i++)
		vec_push(&twin->clauses, u->clauses.data[i]);
	for (uint32_t i = 0; i < u->points.len; i++)
		point_add(twin, &u->points.data[i], u->points.data[i].code, nwords);
	unit_finish(m, twin);
	twin->unit.can_nest = u->unit.can_nest;
	twin->is_for_children = true;
	u->twin = twin;
}
