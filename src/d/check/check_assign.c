/* SPDX-License-Identifier: MIT */
/* Assignments: existing and new targets, deletion, compound operators (d-language.md 2.3, 3.5). */
#include "d/check/check_impl.h"

/*
 * Creates the variable on the left. Of a translated value the variable holds the translator's
 * input, and remembers the translation.
 */
static struct expr *assign_new(struct check *c, struct expr *e)
{
	struct expr *r = e->binary.r, *l;
	type_id xlate_type = TYPE_NONE, type;

	if (r->kind == EXPR_XLATE) {
		xlate_type = r->type;
		r = r->xlate.e;
	}
	r = check_value(c, r);
	type = expr_is_bad(r) ? TYPE_ERROR : type_of_variable(c, r->type);
	if (type_is_void(c->types, type) || type_kind(c->types, type) == TK_FUNC) {
		check_error(c, D_OP_INCOMPAT, e->span, "cannot assign a value of type \"%s\"",
			    type_text(c, type));
		type = TYPE_ERROR;
	} else if (type != TYPE_ERROR && type_size(c->types, type) == 0) {
		check_error(c, D_OP_INCOMPLETE, e->span,
			    "cannot assign a value of incomplete type \"%s\"", type_text(c, type));
		type = TYPE_ERROR;
	}
	l = check_create_var(c, e->binary.l, type);
	if (!expr_is_bad(l))
		type = l->type;
	if (expr_is_bad(l) || expr_is_bad(r) || !check_convert(c, &r, type))
		return expr_bad(c, e->span);
	l->var.ident->xlate_type = xlate_type;
	e->binary.l = l;
	e->binary.r = r;
	e->type = type;
	return e;
}

/* False after reporting that nothing can be stored in l. */
static bool check_target(struct check *c, const char *op, const struct expr *l)
{
	enum type_kind kind = type_kind(c->types, l->type);

	if (!l->is_lvalue) {
		check_error(c, D_OP_LVAL, l->span, "operator %s requires an lvalue on its left",
			    op);
		return false;
	}
	if (!expr_is_writable(c, l)) {
		check_error(c, D_OP_WRITE, l->span,
			    "operator %s can only be applied to a writable D variable", op);
		return false;
	}
	if (kind == TK_ARRAY || kind == TK_FUNC) {
		check_error(c, D_OP_ARRFUN, l->span, "operator %s may not be applied to \"%s\"", op,
			    type_text(c, l->type));
		return false;
	}
	return true;
}

/* A literal 0 deletes an element of an associative array or a thread-local variable of any type. */
static bool is_deletion(struct check *c, const struct expr *l, const struct expr *r)
{
	return expr_is_zero(c, r) && l->kind == EXPR_VAR &&
	       (l->var.ident->kind == IDENT_ARRAY || l->var.ident->scope == SCOPE_SELF);
}

static struct expr *fail_assigned(struct check *c, const struct expr *e, const struct expr *l,
				  const struct expr *r)
{
	const struct ident *id = l->kind == EXPR_VAR ? l->var.ident : NULL;
	struct expr *bad = fail_incompat(c, e->span, "=", l, r);

	if (id && id->is_implied)
		diag_hint(c->diags,
			  "line %u applies an operator to %s before anything is assigned to it, "
			  "which makes it an int64_t; declare it before that line",
			  source_locate(c->session->sources, id->span.off).line,
			  var_text(c, id->scope, id->name));
	return bad;
}

static struct expr *assign_plain(struct check *c, struct expr *e)
{
	struct expr *l = e->binary.l, *r = e->binary.r;

	wide_note_value(c, l, r);
	if (is_deletion(c, l, r))
		r = expr_int(c, r->span, 0, l->type);
	else if (!check_convert(c, &r, l->type))
		return fail_assigned(c, e, l, r);
	e->binary.r = r;
	e->type = l->type;
	return e;
}

/* The argument of a probe with several sources may be made of several types. */
static struct expr *fail_made_of(struct check *c, struct span at, type_id xlate_type, type_id was,
				 type_id is)
{
	struct expr *bad =
		expr_fail(c, D_OP_INCOMPAT, at,
			  "a variable with a \"%s\" that is made of \"%s\" cannot hold one "
			  "that is made of \"%s\", as this probe also has it",
			  type_text(c, xlate_type), type_text(c, was), type_text(c, is));

	diag_hint(c->diags, "assign the members that are needed: this->x = args[0]->member");
	return bad;
}

/* An assignment to a variable that holds a translated value. */
static struct expr *assign_translated(struct check *c, struct expr *e, struct expr *l)
{
	struct expr *r = e->binary.r;
	struct expr *var = l->xlate.e;

	if (r->kind == EXPR_XLATE && type_same(c->types, l->type, r->type)) {
		r = r->xlate.e;
		if (!expr_is_bad(r) && !check_convert(c, &r, var->type)) {
			if (!c->source || var->var.ident->scope != SCOPE_THIS)
				return fail_made_of(c, e->span, l->type, var->type, r->type);
			var = local_of_source(c, var, type_of_variable(c, r->type), l->type);
		}
	} else if (!is_deletion(c, var, r))
		return fail_incompat(c, e->span, "=", l, r);
	e->binary.l = var;
	e->binary.r = r;
	return assign_plain(c, e);
}

static struct expr *assign_compound(struct check *c, struct expr *e)
{
	struct arith a = {.op = arena_printf(c->arena, "%s=", op_text(e->binary.op)),
			  .at = e->span,
			  .l = e->binary.l,
			  .r = e->binary.r};
	struct expr *l = e->binary.l;

	if (type_is_string(c->types, l->type) || type_is_string(c->types, e->binary.r->type))
		return fail_incompat(c, e->span, a.op, l, e->binary.r);
	if (!arith_check(c, &a, e->binary.op))
		return a.bad;
	if (type_is_integer(c->types, l->type) != type_is_integer(c->types, a.type) ||
	    (expr_is_address(c, l) && expr_is_address(c, e->binary.r)))
		return fail_incompat(c, e->span, a.op, l, e->binary.r);
	if (!check_divisor(c, e->binary.op, a.r))
		return expr_bad(c, e->span);
	if (op_rows[e->binary.op].rule != OPR_SHIFT)
		wide_note_value(c, l, e->binary.r);
	e->binary.is_signed = a.is_signed;
	e->type = l->type;
	return e;
}

static struct expr *assign_existing(struct check *c, struct expr *e)
{
	bool compound = e->binary.op != OP_NONE;
	const char *op = compound ? arena_printf(c->arena, "%s=", op_text(e->binary.op)) : "=";
	struct expr *l = check_any(c, e->binary.l), *r = e->binary.r;

	if (l->kind == EXPR_XLATE && l->xlate.e->kind == EXPR_VAR && !compound)
		return expr_is_bad(r) ? r : assign_translated(c, e, l);
	e->binary.l = l = check_value(c, l);
	e->binary.r = r = check_value(c, r);
	if (expr_is_bad(l) || expr_is_bad(r) || !check_target(c, op, l))
		return expr_bad(c, e->span);
	return compound ? assign_compound(c, e) : assign_plain(c, e);
}

/* The variable e (see check_is_new_var()) as messages show it: "x", "self->x", "x[ ]". */
static const char *new_var_text(struct check *c, const struct expr *e)
{
	const struct expr *name = e->kind == EXPR_INDEX ? e->index.base : e;

	return arena_printf(c->arena, "%s%s", var_text(c, name->ident.scope, name->ident.name),
			    e->kind == EXPR_INDEX ? "[ ]" : "");
}

static bool is_agg(const struct expr *e)
{
	while (e->kind == EXPR_INDEX)
		e = e->index.base;
	return e->kind == EXPR_AGG;
}

struct expr *check_assign(struct check *c, struct expr *e)
{
	if (is_agg(e->binary.l))
		return expr_fail(c, D_AGG_FUNC, e->span,
				 "an aggregation can only be assigned an aggregating function, "
				 "in a statement of its own");
	if (check_is_new_var(c, e->binary.l) && e->binary.op != OP_NONE)
		return expr_fail(c, D_VAR_UNDEF, e->binary.l->span,
				 "%s has not yet been declared or assigned",
				 new_var_text(c, e->binary.l));
	/* the right side first: it may create the variable on the left */
	e->binary.r = check_any(c, e->binary.r);
	return check_is_new_var(c, e->binary.l) ? assign_new(c, e) : assign_existing(c, e);
}
