/* SPDX-License-Identifier: MIT */
/*
 * Names that are undefined only because their declaration or their clause had an error.
 *
 * One mistake is one message: such a name counts as poison, and its later uses are silent. The
 * compile fails in any case, so poison never outlives it.
 */
#include "d/check/check_impl.h"

/* ---- types ------------------------------------------------------------------------------ */

void type_poison(struct check *c, const char *name)
{
	hashmap_sets(c->poisoned_types, arena_strdup(c->arena, name), c);
}

bool type_is_poisoned(struct check *c, const char *name)
{
	return hashmap_finds(c->poisoned_types, name);
}

/* ---- variables and aggregations --------------------------------------------------------- */

void agg_poison(struct check *c, const char *name, struct span at)
{
	struct ident *id;

	if (hashmap_finds(c->session->agg_idents, name))
		return;
	id = ident_create(c, IDENT_AGG, name, at, TYPE_ERROR);
	session_bind(c->session, c->session->agg_idents, id->name, id);
}

static void target_poison(struct check *c, const struct expr *target)
{
	const struct expr *name = target;

	while (name->kind == EXPR_INDEX)
		name = name->index.base;
	if (name->kind == EXPR_AGG)
		agg_poison(c, name->agg.name, name->span);
	else if (check_is_new_var(c, target))
		ident_poison(c, name->ident.scope, name->ident.name, name->span);
}

static void assignments_poison(struct expr **e, void *arg)
{
	if ((*e)->kind == EXPR_ASSIGN)
		target_poison(arg, (*e)->binary.l);
	else if ((*e)->kind == EXPR_UNARY) /* x++ creates a variable, too */
		target_poison(arg, (*e)->unary.e);
	expr_each_child(*e, assignments_poison, arg);
}

static void stmts_poison(struct check *c, struct stmt *const *stmts, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (stmts[i]->e)
			assignments_poison(&stmts[i]->e, c);
		if (stmts[i]->most)
			assignments_poison(&stmts[i]->most, c);
		stmts_poison(c, stmts[i]->then_body, stmts[i]->nthen);
		stmts_poison(c, stmts[i]->else_body, stmts[i]->nelse);
	}
}

void clause_poison(struct check *c, const struct decl *d)
{
	struct expr *pred = d->clause.pred;

	if (pred)
		assignments_poison(&pred, c);
	stmts_poison(c, d->clause.body, d->clause.nbody);
}
