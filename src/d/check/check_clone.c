/* SPDX-License-Identifier: MIT */
/* Copies of trees: a body is checked once for each description, an inline once for each use. */
#include "d/check/check_impl.h"

static void exprs_each(struct expr **exprs, uint32_t n, expr_child_f *f, void *arg)
{
	for (uint32_t i = 0; i < n; i++)
		f(&exprs[i], arg);
}

void expr_each_child(struct expr *e, expr_child_f *f, void *arg)
{
	switch (e->kind) {
	case EXPR_BAD:
	case EXPR_INT:
	case EXPR_STR:
	case EXPR_IDENT:
	case EXPR_SIZEOF_TYPE:
	case EXPR_OFFSETOF: return;
	case EXPR_AGG: exprs_each(e->agg.keys, e->agg.nkeys, f, arg); return;
	case EXPR_UNARY:
	case EXPR_SIZEOF:
	case EXPR_STRINGOF: f(&e->unary.e, arg); return;
	case EXPR_BINARY:
	case EXPR_ASSIGN:
	case EXPR_COMMA:
		f(&e->binary.l, arg);
		f(&e->binary.r, arg);
		return;
	case EXPR_COND:
		f(&e->cond.c, arg);
		f(&e->cond.t, arg);
		f(&e->cond.f, arg);
		return;
	case EXPR_CALL:
		f(&e->call.fn, arg);
		exprs_each(e->call.args, e->call.nargs, f, arg);
		return;
	case EXPR_INDEX:
		f(&e->index.base, arg);
		exprs_each(e->index.subs, e->index.nsubs, f, arg);
		return;
	case EXPR_MEMBER: f(&e->member.base, arg); return;
	case EXPR_CAST: f(&e->cast.e, arg); return;
	case EXPR_XLATE: f(&e->xlate.e, arg); return;
	case EXPR_VAR: exprs_each(e->var.keys, e->var.nkeys, f, arg); return;
	}
	BUG("expression kind %d", (int)e->kind);
}

static struct expr **list_clone(struct arena *a, struct expr **list, uint32_t n)
{
	return n ? arena_memdup(a, list, n * sizeof(struct expr *)) : NULL;
}

/* Gives the copied node n its own copies of the lists that it points to. */
static void lists_clone(struct arena *a, struct expr *n)
{
	if (n->kind == EXPR_AGG)
		n->agg.keys = list_clone(a, n->agg.keys, n->agg.nkeys);
	else if (n->kind == EXPR_CALL)
		n->call.args = list_clone(a, n->call.args, n->call.nargs);
	else if (n->kind == EXPR_INDEX)
		n->index.subs = list_clone(a, n->index.subs, n->index.nsubs);
	else if (n->kind == EXPR_VAR)
		n->var.keys = list_clone(a, n->var.keys, n->var.nkeys);
}

static void child_clone(struct expr **child, void *arg)
{
	*child = expr_clone(arg, *child);
}

/*
 * The copy shares types as written with the original: resolving one of them twice gives the same
 * type and declares its body once. The copy is checked if the original is.
 */
struct expr *expr_clone(struct arena *a, const struct expr *e)
{
	struct expr *n;

	if (!e)
		return NULL;
	n = arena_memdup(a, e, sizeof(*e));
	lists_clone(a, n);
	expr_each_child(n, child_clone, a);
	return n;
}

struct stmt **stmts_clone(struct arena *a, struct stmt *const *stmts, uint32_t n)
{
	struct stmt **copy = n ? ARENA_NEW_N(a, struct stmt *, n) : NULL;

	for (uint32_t i = 0; i < n; i++) {
		copy[i] = arena_memdup(a, stmts[i], sizeof(*stmts[i]));
		copy[i]->e = expr_clone(a, stmts[i]->e);
		copy[i]->most = expr_clone(a, stmts[i]->most);
		copy[i]->then_body = stmts_clone(a, stmts[i]->then_body, stmts[i]->nthen);
		copy[i]->else_body = stmts_clone(a, stmts[i]->else_body, stmts[i]->nelse);
	}
	return copy;
}
