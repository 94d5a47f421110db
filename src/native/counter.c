/* SPDX-License-Identifier: MIT */
/*
 * Sites that do nothing but count under a key which they fix: "@[probefunc, probename] = count()".
 * A stub does that by itself, without a call, in a counter of the site (native/data_counters.c).
 */
#include "native/counter.h"

/* The only action of the group's only clause, which always runs; NULL: it is more than a count. */
static const struct prog_act *count_of(const struct group *grp)
{
	const struct prog_clause *c;

	if (grp->nclauses != 1)
		return NULL;
	c = grp->clauses[0]->layout->clause;
	if (c->pred || c->records || c->nacts != 1 || c->acts[0].kind != ACT_AGG)
		return NULL;
	return c->acts[0].agg->func == AGGFUNC_COUNT && c->acts[0].nargs == c->acts[0].agg->nkeys
		       ? &c->acts[0]
		       : NULL;
}

/* The names of the probe that the clause sees: those of a declared one are its own. */
static const struct unit_identity *identity_of(const struct ngen *g, const struct group *grp,
					       uint32_t probe)
{
	return grp->clauses[0]->as ? grp->clauses[0]->as : &g->u->probes[probe].id;
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
	else if (f->repr == KEY_INT && var == DIF_VAR_PID)
		*ret = g->t->pid;
	else if (f->repr == KEY_INT && var == DIF_VAR_ID)
		*ret = id->probe;
	else
		return false;
	return true;
}

bool counter_key(const struct ngen *g, const struct group *grp, uint32_t probe, uint32_t *ret_map,
		 uint8_t *key)
{
	const struct prog_act *act = count_of(grp);
	const struct unit_identity *id;
	const struct agg_layout *al;
	uint64_t value;

	if (!act)
		return false;
	id = identity_of(g, grp, probe);
	al = &g->l->aggs[act->agg->id - 1];
	*ret_map = al->map;
	value = al->key_size ? al->owner : al->elem;
	if (value)
		memcpy(key, &value, al->key_size ? sizeof(value) : sizeof(uint32_t));
	for (uint32_t i = 0; i < al->nkeys; i++) {
		if (!field_value(g, id, &al->keys[i], act->args[i], &value))
			return false;
		memcpy(key + al->keys[i].off, &value, MIN(al->keys[i].size, 8u));
	}
	return true;
}
