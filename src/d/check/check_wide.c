/* SPDX-License-Identifier: MIT */
/*
 * What is known of a variable before the text that assigns it: that it is assigned at all, and how
 * many bits it needs (d-language.md 3.5).
 *
 * The first assignment of the text gives a variable its type, but must not cut what later ones
 * assign: "self->p = *(uint32_t *)copyin(arg1, 4)" in a clause for 32-bit programs may stand before
 * the same with uint64_t, and "last = 0" before "last = timestamp". Other DTraces keep 64 bits of
 * every integer variable and of every key of an associative array. Here a variable has 64 bits if
 * the program assigns it an integer that its first type cannot hold. Whether it does is known when
 * the whole program has been checked, so such a program is compiled again (dsession_compile()):
 *
 *     1st compile   x = (uint32_t)1;  x is a uint32_t    x = arg0;  does not fit: x is noted
 *     2nd compile   x = (uint32_t)1;  x is an int64_t    x = arg0;  fits
 *
 * Each compile notes more variables than the one before, or is the last one. The wide type is
 * uint64_t when everything that is assigned is unsigned, else int64_t, which has room for smaller
 * unsigned types. Keys of arrays and aggregations are treated in the same way. Declared variables
 * keep their types, with one exception: "int last[int];" is seen in old scripts with
 * "last[x] = timestamp".
 */
#include "d/check/check_impl.h"

/* A variable or key with 64 bits. */
struct wide {
	bool is_signed;
};

static char prefix_of_scope(enum ident_scope scope)
{
	return scope == SCOPE_SELF ? 's' : scope == SCOPE_THIS ? 't' : 'g';
}

static char prefix_of_ident(const struct ident *id)
{
	return id->kind == IDENT_AGG ? '@' : prefix_of_scope(id->scope);
}

static const char *value_text(struct check *c, char prefix, const char *name)
{
	return arena_printf(c->arena, "%c%s", prefix, name);
}

static const char *key_text(struct check *c, char prefix, const char *name, uint32_t index)
{
	return arena_printf(c->arena, "%c%s#%u", prefix, name, index); /* no name has a '#' */
}

/* ---- what is assigned somewhere ---------------------------------------------------------- */

/* The name in an unchecked 'name' or 'name[...]'; NULL when e is something else. */
static const struct expr *name_of(const struct expr *e)
{
	if (e->kind == EXPR_INDEX)
		e = e->index.base;
	return e->kind == EXPR_IDENT ? e : NULL;
}

static const char *name_text(struct check *c, const struct expr *name)
{
	return value_text(c, prefix_of_scope(name->ident.scope), name->ident.name);
}

static void note_expr(struct expr **child, void *arg)
{
	struct check *c = arg;
	struct expr *e = *child;
	const struct expr *name = NULL;

	expr_each_child(e, note_expr, c);
	if (e->kind == EXPR_ASSIGN)
		name = name_of(e->binary.l);
	else if (e->kind == EXPR_UNARY && op_is_incdec(e->unary.op))
		name = name_of(e->unary.e);
	if (name)
		hashmap_sets(c->assigned, name_text(c, name), c);
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

void check_note_assigned(struct check *c, const struct ast *ast)
{
	for (uint32_t i = 0; i < ast->ndecls; i++) {
		struct decl *d = ast->decls[i];

		if (d->kind == DECL_BLOCK)
			note_stmts(c, d->block.body, d->block.nbody);
		if (d->kind != DECL_CLAUSE)
			continue;
		if (d->clause.pred)
			note_expr(&d->clause.pred, c);
		note_stmts(c, d->clause.body, d->clause.nbody);
	}
}

bool var_is_assigned_later(struct check *c, const struct expr *e)
{
	const struct expr *name = name_of(e);

	return name && hashmap_finds(c->assigned, name_text(c, name));
}

/* ---- which values need 64 bits ----------------------------------------------------------- */

static bool type_holds(const struct types *t, type_id type, type_id other)
{
	uint32_t size = type_size(t, type), needed = type_size(t, other);

	if (type_is_signed(t, type) == type_is_signed(t, other))
		return needed <= size;
	return type_is_signed(t, type) && needed < size;
}

/*
 * Whether each value of e is a value of the integer type, as far as the tree shows it. The result
 * of arithmetic counts as fitting when its operands fit, so that "n = n * 2 + 1" widens nothing.
 */
static bool value_fits(struct check *c, type_id type, const struct expr *e)
{
	if (expr_is_const(c, e))
		return int_convert(c->types, e->ival.val, type) == e->ival.val;
	if (!type_is_integer(c->types, e->type) || type_holds(c->types, type, e->type))
		return true;
	switch ((int)e->kind) {
	case EXPR_CAST: return e->cast.implicit && value_fits(c, type, e->cast.e);
	case EXPR_COND: return value_fits(c, type, e->cond.t) && value_fits(c, type, e->cond.f);
	case EXPR_ASSIGN: return false;
	case EXPR_COMMA: return value_fits(c, type, e->binary.r);
	case EXPR_UNARY:
		return e->unary.op == OP_NOT || ((e->unary.op == OP_NEG || e->unary.op == OP_PLUS ||
						  e->unary.op == OP_BITNOT) &&
						 value_fits(c, type, e->unary.e));
	case EXPR_BINARY:
		if (op_is_compare(e->binary.op) || op_rows[e->binary.op].rule == OPR_LOGIC)
			return true;
		return value_fits(c, type, e->binary.l) && value_fits(c, type, e->binary.r);
	default: return false;
	}
}

static void wide_note(struct check *c, const char *text, bool is_signed)
{
	struct wide *w = hashmap_finds(c->wide, text);

	if (w && (w->is_signed || !is_signed))
		return;
	if (!w) {
		w = ARENA_NEW(c->session->arena, struct wide);
		hashmap_sets(c->wide, arena_strdup(c->session->arena, text), w);
	}
	w->is_signed |= is_signed;
	c->has_widened = true;
}

/* Whether another compile of the program can give the identifier another type. */
static bool is_of_program(const struct check *c, const struct ident *id)
{
	return c->wide && c->opts->layer == LAYER_PROGRAM && !id->is_builtin &&
	       (id->scope == SCOPE_THIS || id->span.off >= c->first_off);
}

static bool is_narrow(struct check *c, type_id type)
{
	return type_is_integer(c->types, type) && type_size(c->types, type) < sizeof(uint64_t);
}

static bool is_time(const struct expr *e)
{
	return e->kind == EXPR_VAR && e->var.ident->builtin &&
	       (e->var.ident->id == DIF_VAR_TIMESTAMP || e->var.ident->id == DIF_VAR_VTIMESTAMP ||
		e->var.ident->id == DIF_VAR_WALLTIMESTAMP);
}

void wide_note_value(struct check *c, const struct expr *l, const struct expr *r)
{
	const struct ident *id = l->kind == EXPR_VAR ? l->var.ident : NULL;

	if (!id || id->xlate_type != TYPE_NONE || !is_of_program(c, id) || !is_narrow(c, id->type))
		return;
	if (id->is_declared) {
		if (type_resolve(c->types, id->type) == type_resolve(c->types, TYPE_INT) &&
		    is_time(r))
			wide_note(c, value_text(c, prefix_of_ident(id), id->name), true);
	} else if (!value_fits(c, id->type, r)) {
		wide_note(c, value_text(c, prefix_of_ident(id), id->name),
			  type_is_signed(c->types, id->type) || type_is_signed(c->types, r->type));
	}
}

void wide_note_key(struct check *c, const struct ident *id, uint32_t index, const struct expr *key)
{
	type_id type = id->keys[index];

	if (is_of_program(c, id) && is_narrow(c, type) && !value_fits(c, type, key))
		wide_note(c, key_text(c, prefix_of_ident(id), id->name, index),
			  type_is_signed(c->types, type) || type_is_signed(c->types, key->type));
}

/* ---- what an earlier compile of the program has noted ------------------------------------ */

static type_id wide_or(struct check *c, const char *text, type_id type)
{
	const struct wide *w = c->wide && is_narrow(c, type) ? hashmap_finds(c->wide, text) : NULL;

	if (!w)
		return type;
	return w->is_signed ? TYPE_INT64 : TYPE_UINT64;
}

type_id wide_var_type(struct check *c, enum ident_scope scope, const char *name, type_id type)
{
	return wide_or(c, value_text(c, prefix_of_scope(scope), name), type);
}

void wide_key_types(struct check *c, enum ident_scope scope, const char *name, type_id *keys,
		    uint32_t nkeys)
{
	for (uint32_t i = 0; i < nkeys; i++)
		keys[i] = wide_or(c, key_text(c, prefix_of_scope(scope), name, i), keys[i]);
}

static void keys_convert(struct check *c, char prefix, const char *name, struct expr **keys,
			 uint32_t nkeys)
{
	for (uint32_t i = 0; i < nkeys; i++) {
		type_id type = wide_or(c, key_text(c, prefix, name, i), keys[i]->type);

		if (type != keys[i]->type)
			keys[i] = expr_cast(c, keys[i], type);
	}
}

void wide_array_keys(struct check *c, enum ident_scope scope, const char *name, struct expr **keys,
		     uint32_t nkeys)
{
	keys_convert(c, prefix_of_scope(scope), name, keys, nkeys);
}

void wide_agg_keys(struct check *c, const char *name, struct expr **keys, uint32_t nkeys)
{
	keys_convert(c, '@', name, keys, nkeys);
}
