/* SPDX-License-Identifier: MIT */
/*
 * Sites that do nothing but count under keys which they fix: "@[probefunc, probename] = count()".
 * A stub does that by itself, without a call, in a counter of the site (native/data_counters.c).
 * Each of the elements is counted once a firing, so that one counter is enough for all of them.
 */
#include "native/counter.h"

static bool is_count(const struct prog_act *act)
{
	return act->kind == ACT_AGG && act->agg->func == AGGFUNC_COUNT &&
	       act->nargs == act->agg->nkeys;
}

/* Whether the clause always runs, and only counts. */
static bool clause_counts(const struct prog_clause *c)
{
	for (uint32_t i = 0; i < c->nacts; i++)
		if (!is_count(&c->acts[i]))
			return false;
	return !c->pred && !c->records;
}

/* The actions of all clauses of the group; 0: they do more than count, or there are too many. */
static uint32_t group_counts(const struct group *grp)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < grp->nclauses; i++) {
		const struct prog_clause *c = grp->clauses[i]->layout->clause;

		if (!clause_counts(c))
			return 0;
		n += c->nacts;
	}
	return n <= NATIVE_COUNTS_MAX ? n : 0;
}

/* The names of the probe that the clause sees: those of a declared one are its own. */
static const struct unit_identity *identity_of(const struct ngen *g, const struct unit_clause *uc,
					       uint32_t probe)
{
	return uc->as ? uc->as : &g->u->probes[probe].id;
}

/* False: the value of the field is not the same at each firing. */
static bool field_value(const struct ngen *g, const struct unit_identity *id,
			const struct key_field *f, const struct difo *d, uint64_t *ret)
{
	const char *s = f->repr == KEY_STRID ? difo_is_strconst(d) : NULL;
	int var = difo_is_builtin(d);
	uint32_t n;

	if (s) {
		if (!strtab_find(g->l->strtab, s, strlen(s), &n))
			return false;
		*ret = n;
		return true;
	}
	if (f->repr == KEY_STRID && var >= DIF_VAR_PROBEPROV && var <= DIF_VAR_PROBENAME)
		*ret = id->names[var - DIF_VAR_PROBEPROV];
	else if (f->repr == KEY_INT && var == DIF_VAR_PID && !g->t->has_children)
		*ret = g->t->pid;
	else if (f->repr == KEY_INT && var == DIF_VAR_ID)
		*ret = id->probe;
	else
		return false;
	return true;
}

/* Sets the element in which the action counts at firings of the probe; false: it is not one. */
static bool count_element(const struct ngen *g, const struct unit_identity *id,
			  const struct prog_act *act, struct arena *keys, struct native_count *ret)
{
	const struct agg_layout *al = &g->l->aggs[act->agg->id - 1];
	uint32_t size = MAX(g->t->plan->tables[al->map].key_size, 8u);
	uint8_t *key = memset(arena_alloc(keys, size), 0, size);
	uint64_t value = al->key_size ? al->owner : al->elem;

	if (value)
		memcpy(key, &value, al->key_size ? sizeof(value) : sizeof(uint32_t));
	for (uint32_t i = 0; i < al->nkeys; i++) {
		if (!field_value(g, id, &al->keys[i], act->args[i], &value))
			return false;
		memcpy(key + al->keys[i].off, &value, MIN(al->keys[i].size, 8u));
	}
	*ret = (struct native_count){.map = al->map, .key = key};
	return true;
}

const struct native_count *counts_find(const struct ngen *g, const struct group *grp,
				       uint32_t probe, struct arena *keys, uint32_t *ret_n)
{
	uint32_t n = group_counts(grp), at = 0;
	struct native_count *list;

	*ret_n = 0;
	if (!n)
		return NULL;
	list = arena_alloc(keys, n * sizeof(*list));
	for (uint32_t i = 0; i < grp->nclauses; i++) {
		const struct prog_clause *c = grp->clauses[i]->layout->clause;
		const struct unit_identity *id = identity_of(g, grp->clauses[i], probe);

		for (uint32_t k = 0; k < c->nacts; k++)
			if (!count_element(g, id, &c->acts[k], keys, &list[at++]))
				return NULL;
	}
	*ret_n = n;
	return list;
}
