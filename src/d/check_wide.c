/*
 * Variables that get more than an int. The first assignment of the text decides on a variable's
 * type, and in many scripts that is "last = 0" in BEGIN, before "last = timestamp". Such a variable
 * holds 64 bits. What a program assigns is looked at before its first clause is checked.
 */
#include "d/check_impl.h"

/* Assignments to a variable of what may need more than an int. */
struct written {
	uint32_t n;
	struct span first;
	bool has_time; /* one of them is of nanoseconds */
};

static const char *key_of(struct arena *a, const struct expr *name)
{
	return arena_printf(a, "%d%s", (int)name->ident.scope, name->ident.name);
}

/* The name to which e assigns; NULL: e is none, and no element of an array. */
static const struct expr *name_of(const struct expr *e)
{
	if (e->kind == EXPR_INDEX)
		e = e->index.base;
	return e->kind == EXPR_IDENT ? e : NULL;
}

static bool is_one_of(const char *const *names, const char *name)
{
	for (; *names; names++)
		if (strcmp(*names, name) == 0)
			return true;
	return false;
}

static bool is_time(const struct expr *e)
{
	static const char *const times[] = {"timestamp", "vtimestamp", "walltimestamp", NULL};

	return e->kind == EXPR_IDENT && e->ident.scope == SCOPE_GLOBAL &&
	       is_one_of(times, e->ident.name);
}

/*
 * Whether every value of e fits into an int, as far as the text alone shows it;
 * the variable itself, target, does not count.
 */
static bool is_int(const struct expr *e, const struct expr *target)
{
	static const char *const ints[] = {"pid", "ppid", "tid", "uid",	  "gid", "cpu",
					   "id",  "epid", "ipl", "errno", NULL};

	switch (e->kind) {
	case EXPR_INT: return e->ival.lit_type == TYPE_INT || e->ival.is_char;
	case EXPR_STR: return true; /* no number */
	case EXPR_IDENT:
		if (e->ident.scope == target->ident.scope &&
		    strcmp(e->ident.name, target->ident.name) == 0)
			return true;
		return e->ident.scope == SCOPE_GLOBAL && is_one_of(ints, e->ident.name);
	case EXPR_INDEX: return name_of(e) && is_int(e->index.base, target);
	case EXPR_UNARY:
		return e->unary.op == OP_NOT ||
		       (e->unary.op != OP_DEREF && e->unary.op != OP_ADDROF &&
			is_int(e->unary.e, target));
	case EXPR_BINARY:
		if ((e->binary.op >= OP_LT && e->binary.op <= OP_NE) ||
		    (e->binary.op >= OP_LAND && e->binary.op <= OP_LOR))
			return true;
		return is_int(e->binary.l, target) && is_int(e->binary.r, target);
	case EXPR_ASSIGN:
	case EXPR_COMMA: return is_int(e->binary.r, target);
	case EXPR_COND: return is_int(e->cond.t, target) && is_int(e->cond.f, target);
	case EXPR_CAST:
		return !e->cast.to->nderivs &&
		       (e->cast.to->specs->flags & (SPEC_CHAR | SPEC_SHORT | SPEC_INT)) &&
		       !(e->cast.to->specs->flags & (SPEC_LONG | SPEC_LONGLONG));
	case EXPR_BAD:
	case EXPR_AGG:
	case EXPR_CALL:
	case EXPR_MEMBER:
	case EXPR_SIZEOF_TYPE:
	case EXPR_SIZEOF:
	case EXPR_OFFSETOF:
	case EXPR_STRINGOF:
	case EXPR_XLATE:
	case EXPR_VAR: return false;
	}
	BUG("expression kind %d", (int)e->kind);
}

static void note_expr(struct expr **child, void *arg)
{
	struct check *c = arg;
	struct expr *e = *child;
	const struct expr *name = e->kind == EXPR_ASSIGN ? name_of(e->binary.l) : NULL;

	expr_each_child(e, note_expr, c);
	if (name && !is_int(e->binary.r, name)) {
		const char *key = key_of(c->arena, name);
		struct written *w = hashmap_finds(c->written, key);

		if (!w) {
			w = ARENA_NEW(c->arena, struct written);
			w->first = e->span;
			hashmap_sets(c->written, key, w);
		}
		w->n++;
		w->has_time |= is_time(e->binary.r);
	}
}

static void note_stmts(struct check *c, struct stmt *const *stmts, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (stmts[i]->e)
			note_expr(&stmts[i]->e, c);
		note_stmts(c, stmts[i]->then_body, stmts[i]->nthen);
		note_stmts(c, stmts[i]->else_body, stmts[i]->nelse);
	}
}

void check_note_written(struct check *c, const struct ast *ast)
{
	for (uint32_t i = 0; i < ast->ndecls; i++) {
		struct decl *d = ast->decls[i];

		if (d->kind != DECL_CLAUSE)
			continue;
		if (d->clause.pred)
			note_expr(&d->clause.pred, c);
		note_stmts(c, d->clause.body, d->clause.nbody);
	}
}

type_id type_of_first(struct check *c, const struct expr *e, const struct expr *r, type_id type)
{
	const struct expr *name = name_of(e->binary.l);
	const struct written *w;

	if (r->kind != EXPR_INT || type != TYPE_INT || !name)
		return type;
	w = hashmap_finds(c->written, key_of(c->arena, name));
	/* what e assigns has turned out to be a small number */
	if (!w || (w->n == 1 && w->first.off == e->span.off && w->first.len == e->span.len))
		return type;
	return TYPE_INT64;
}

type_id type_of_declared(struct check *c, enum ident_scope scope, const char *name, type_id type)
{
	const struct written *w =
		hashmap_finds(c->written, arena_printf(c->arena, "%d%s", (int)scope, name));

	return type == TYPE_INT && w && w->has_time ? TYPE_INT64 : type;
}
