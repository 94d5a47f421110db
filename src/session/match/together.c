/* SPDX-License-Identifier: MIT */
/* Which units of a session must run in one engine. */
#include "session/match/together.h"

/* Sets of units, each with the number of the first one as its root. */
struct sets {
	uint32_t *parent;
	/* By variable of the layout, then speculations, what is alive: 1 + a unit that uses it. */
	uint32_t *owner;
	const struct layout *layout;
	/*
	 * The unit whose clauses are noted runs in one process: its thread-locals are its own, and
	 * what is alive there.
	 */
	bool is_in_process;
};

#define NSHARED		2u /* what is shared beside variables */
#define SPECULATIONS(l) ((l)->nvars)
#define ALIVE(l)	((l)->nvars + 1)

static uint32_t root_find(struct sets *s, uint32_t unit)
{
	while (s->parent[unit] != unit)
		unit = s->parent[unit] = s->parent[s->parent[unit]];
	return unit;
}

static void sets_unite(struct sets *s, uint32_t a, uint32_t b)
{
	a = root_find(s, a);
	b = root_find(s, b);
	s->parent[MAX(a, b)] = MIN(a, b);
}

/* Notes that the unit uses what has this number. */
static void use_note(struct sets *s, uint32_t unit, uint32_t what)
{
	if (s->owner[what])
		sets_unite(s, s->owner[what] - 1, unit);
	s->owner[what] = unit + 1;
}

static void difo_note(struct sets *s, uint32_t unit, const struct difo *d)
{
	for (uint32_t i = 0; d && i < d->code_len; i++)
		if (DIF_INSN_OP(d->code[i]) == DIF_OP_CALL &&
		    DIF_INSN_INDEX(d->code[i]) == DIF_SUBR_SPECULATION)
			use_note(s, unit, SPECULATIONS(s->layout));
	for (uint32_t i = 0; d && i < d->vars_len; i++) {
		const struct var_layout *vl =
			d->vars[i].scope == DIF_SCOPE_LOCAL
				? NULL
				: layout_var(s->layout, (enum dif_scope)d->vars[i].scope,
					     d->vars[i].id);

		if (vl && !(s->is_in_process && d->vars[i].scope == DIF_SCOPE_THREAD))
			use_note(s, unit, (uint32_t)(vl - s->layout->vars));
	}
}

static bool act_is_about_alive(const struct prog_act *act)
{
	return act->kind == ACT_DEAD || (act->kind == ACT_AGG && act->agg->func == AGGFUNC_LIVE);
}

bool clause_is_about_alive(const struct prog_clause *c)
{
	bool is_about = false;

	for (uint32_t i = 0; i < c->nacts; i++)
		is_about |= act_is_about_alive(&c->acts[i]);
	return is_about;
}

static void clause_note(struct sets *s, uint32_t unit, const struct prog_clause *c)
{
	difo_note(s, unit, c->pred);
	for (uint32_t i = 0; i < c->nacts; i++) {
		enum act_kind kind = c->acts[i].kind;

		if (kind == ACT_SPECULATE || kind == ACT_COMMIT || kind == ACT_DISCARD)
			use_note(s, unit, SPECULATIONS(s->layout));
		if (act_is_about_alive(&c->acts[i]) && !s->is_in_process)
			use_note(s, unit, ALIVE(s->layout));
		for (uint32_t k = 0; k < c->acts[i].nargs; k++)
			difo_note(s, unit, c->acts[i].args[k]);
	}
}

/*
 * Whether the clause uses a speculation, or a variable; what belongs to one process, its threads'
 * variables and what is alive there, only if has_own.
 */
static bool clause_uses(const struct prog_clause *c, const struct layout *l, bool has_own)
{
	CLEANUP(free) uint32_t *owner = xcalloc(l->nvars + NSHARED, sizeof(*owner));
	uint32_t parent = 0;
	struct sets s = {&parent, owner, l, false};
	bool uses = false;

	clause_note(&s, 0, c);
	for (uint32_t i = 0; i < l->nvars + NSHARED; i++) {
		bool is_own =
			i < l->nvars ? l->vars[i].var->scope == DIF_SCOPE_THREAD : i == ALIVE(l);

		uses |= owner[i] && (has_own || !is_own);
	}
	return uses;
}

bool clause_shares(const struct prog_clause *c, const struct layout *l)
{
	return clause_uses(c, l, true);
}

bool clause_shares_globals(const struct prog_clause *c, const struct layout *l)
{
	return clause_uses(c, l, false);
}

void units_find_groups(const struct unit *const *units, uint32_t n, const struct layout *l,
		       uint32_t *ret)
{
	CLEANUP(free) uint32_t *owner = xcalloc(l->nvars + NSHARED, sizeof(*owner));
	struct sets s = {ret, owner, l, false};

	for (uint32_t i = 0; i < n; i++)
		ret[i] = i;
	for (uint32_t i = 0; i < n; i++) {
		if (units[i]->is_relay) /* another unit runs its clauses */
			continue;
		s.is_in_process = units[i]->is_inproc;
		for (uint32_t k = 0; k < units[i]->nclauses; k++)
			clause_note(&s, i, units[i]->clauses[k].layout->clause);
		for (uint32_t k = 0; k < units[i]->nerror_clauses; k++)
			clause_note(&s, i, units[i]->error_clauses[k].layout->clause);
	}
	for (uint32_t i = 0; i < n; i++)
		ret[i] = root_find(&s, i);
}
