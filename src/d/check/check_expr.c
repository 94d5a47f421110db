/* SPDX-License-Identifier: MIT */
/* Expressions: checks each node by its kind; constants, conversions. */
#include "d/check/check_impl.h"

/* A deeper tree would exhaust the stack of a recursive walk; no real program comes near. */
#define DEPTH_MAX 3000

/* ---- nodes ------------------------------------------------------------------------------ */

struct expr *expr_new(struct check *c, enum expr_kind kind, struct span at, type_id type)
{
	struct expr *e = ARENA_NEW(c->arena, struct expr);

	e->kind = kind;
	e->span = at;
	e->type = type;
	return e;
}

struct expr *expr_bad(struct check *c, struct span at)
{
	c->ntrouble++;
	return expr_new(c, EXPR_BAD, at, TYPE_ERROR);
}

struct expr *expr_int(struct check *c, struct span at, uint64_t val, type_id type)
{
	struct expr *e = expr_new(c, EXPR_INT, at, type);

	e->ival.val = val;
	e->ival.lit_type = type;
	return e;
}

/* ---- reports ---------------------------------------------------------------------------- */

void check_note_tag(struct check *c, enum dtag tag)
{
	c->ntrouble++;
	if (tag == D_IDENT_UNDEF || tag == D_VAR_UNDEF)
		c->nundef++;
}

/* ---- conversions ------------------------------------------------------------------------ */

uint64_t int_convert(const struct types *t, uint64_t val, type_id type)
{
	uint32_t bits = type_size(t, type) * 8;
	uint64_t mask;

	if (bits == 0 || bits >= 64)
		return val;
	mask = (UINT64_C(1) << bits) - 1;
	val &= mask;
	if (type_is_signed(t, type) && (val >> (bits - 1)))
		val |= ~mask;
	return val;
}

struct expr *expr_cast(struct check *c, struct expr *e, type_id to)
{
	struct expr *cast;

	if (e->kind == EXPR_INT && type_is_scalar(c->types, to))
		return expr_int(c, e->span, int_convert(c->types, e->ival.val, to), to);
	cast = expr_new(c, EXPR_CAST, e->span, to);
	cast->cast.e = e;
	cast->cast.implicit = true;
	return cast;
}

#define KEPT_NAME "(operand)" /* parentheses: no program can name it */

static bool is_plain_read(const struct expr *e)
{
	while (e->kind == EXPR_CAST)
		e = e->cast.e;
	return e->kind == EXPR_INT || (e->kind == EXPR_VAR && !e->var.nkeys);
}

struct expr *expr_keep_as(struct check *c, struct expr **e, const char *name)
{
	struct ident *id = hashmap_finds(c->locals, name);
	struct expr *var, *assign;

	if (is_plain_read(*e))
		return expr_clone(c->arena, *e);
	if (!id)
		id = var_create(c, (*e)->span, SCOPE_THIS, name, TYPE_ULONG, false, NULL, 0);
	if (id->type == TYPE_ERROR)
		return *e = expr_bad(c, (*e)->span);
	var = expr_new(c, EXPR_VAR, (*e)->span, TYPE_ULONG);
	var->var.ident = id;
	var->is_lvalue = true;
	assign = expr_new(c, EXPR_ASSIGN, (*e)->span, TYPE_ULONG);
	assign->binary.op = OP_NONE;
	assign->binary.l = var;
	assign->binary.r = expr_cast(c, *e, TYPE_ULONG);
	var = expr_cast(c, expr_clone(c->arena, var), (*e)->type);
	*e = expr_cast(c, assign, (*e)->type);
	return var;
}

struct expr *expr_keep(struct check *c, struct expr **e)
{
	return expr_keep_as(c, e, KEPT_NAME);
}

/* Adds a conversion unless it changes no bit, so that DIF stays small. */
static bool convert_int(struct check *c, struct expr **e, type_id to)
{
	if (type_resolve(c->types, (*e)->type) != type_resolve(c->types, to))
		*e = expr_cast(c, *e, to);
	return true;
}

static bool convert_pointer(struct check *c, struct expr **e, type_id to)
{
	if (expr_is_zero(c, *e)) {
		*e = expr_int(c, (*e)->span, 0, to);
		return true;
	}
	if (type_is_string(c->types, (*e)->type))
		return type_is_void(c->types, type_deref(c->types, to));
	if (!type_ptr_compat(c->types, (*e)->type, to))
		return false;
	if (type_kind(c->types, (*e)->type) == TK_ARRAY)
		*e = expr_cast(c, *e, to);
	return true;
}

/*
 * A string is accepted as a 'char *', the address of its bytes. The literal 0, to which NULL
 * expands, is accepted as either.
 */
static bool convert_string(struct check *c, struct expr **e, type_id to)
{
	const struct types *t = c->types;

	if (expr_is_zero(c, *e)) {
		*e = expr_int(c, (*e)->span, 0, to);
		return true;
	}
	if (!type_is_strcompat(t, (*e)->type))
		return false;
	if (type_is_string(t, to) && !type_is_string(t, (*e)->type))
		*e = expr_cast(c, *e, to);
	return true;
}

bool check_convert(struct check *c, struct expr **e, type_id to)
{
	const struct types *t = c->types;
	type_id from = (*e)->type;

	if (from == TYPE_ERROR || to == TYPE_ERROR)
		return true;
	if (type_is_integer(t, to) && type_is_integer(t, from))
		return convert_int(c, e, to);
	if (type_is_string(t, to) || (type_is_string(t, from) && type_is_strcompat(t, to)))
		return convert_string(c, e, to);
	if (type_kind(t, to) == TK_PTR)
		return convert_pointer(c, e, to);
	if (type_is_stack(t, to) && expr_is_zero(c, *e)) {
		*e = expr_int(c, (*e)->span, 0, to);
		return true;
	}
	return !type_is_void(t, to) && type_same(t, from, to);
}

/* ---- which expressions can be stored to ------------------------------------------------- */

static bool is_user_var(const struct expr *e)
{
	return e->kind == EXPR_VAR && !e->var.ident->is_builtin;
}

static bool is_scratch_call(const struct expr *e)
{
	return e->kind == EXPR_CALL && e->call.subr &&
	       dif_subr_row((uint32_t)e->call.subr->code)->fx & FX_SIZED;
}

/* Whether the pointer or array e may lead to D's own memory; a store checks the address again. */
static bool leads_to_d_memory(struct check *c, const struct expr *e)
{
	if (is_user_var(e) || is_scratch_call(e))
		return true;
	switch ((int)e->kind) {
	case EXPR_CAST: return leads_to_d_memory(c, e->cast.e);
	case EXPR_BINARY:
		return leads_to_d_memory(c, e->binary.l) || leads_to_d_memory(c, e->binary.r);
	case EXPR_COND: return leads_to_d_memory(c, e->cond.t) || leads_to_d_memory(c, e->cond.f);
	case EXPR_ASSIGN:
	case EXPR_COMMA: return leads_to_d_memory(c, e->binary.r);
	case EXPR_UNARY: return leads_to_d_memory(c, e->unary.e);
	case EXPR_MEMBER:
	case EXPR_INDEX: return expr_is_writable(c, e);
	default: return false;
	}
}

bool expr_is_writable(struct check *c, const struct expr *e)
{
	switch ((int)e->kind) {
	case EXPR_VAR: return is_user_var(e);
	case EXPR_MEMBER:
		return e->member.arrow ? leads_to_d_memory(c, e->member.base)
				       : expr_is_writable(c, e->member.base);
	case EXPR_INDEX: return leads_to_d_memory(c, e->index.base);
	case EXPR_UNARY: return e->unary.op == OP_DEREF && leads_to_d_memory(c, e->unary.e);
	default: return false;
	}
}

/* ---- checking a node -------------------------------------------------------------------- */

/*
 * $target without -p and -c: 0 where a constant keeps the code from being executed, as in
 * "OPT_command && pid == $target" of scripts that use it with one of their options. Elsewhere it
 * is an error, because nothing fires for process 0, and the reason is hard to find.
 */
static struct expr *check_target(struct check *c, struct expr *e, bool lacks_target)
{
	if (!lacks_target || c->nuntaken)
		return e;
	if (!c->target_missed) {
		c->target_missed = true;
		check_note_tag(c, D_MACRO_UNDEF);
		macro_report_target(&c->input, e->span, e->kind == EXPR_STR);
	}
	return expr_bad(c, e->span);
}

static struct expr *check_int(struct check *c, struct expr *e)
{
	e->type = e->ival.lit_type != TYPE_NONE ? e->ival.lit_type : TYPE_INT;
	return check_target(c, e, e->ival.lacks_target);
}

static struct expr *check_str(struct check *c, struct expr *e)
{
	e->type = TYPE_STRING;
	return check_target(c, e, e->str.lacks_target);
}

static struct expr *check_agg_ref(struct check *c, struct expr *e)
{
	e->type = TYPE_DYNAMIC;
	return e;
}

static struct expr *check_node(struct check *c, struct expr *e)
{
	switch (e->kind) {
	case EXPR_BAD: e->type = TYPE_ERROR; return e;
	case EXPR_INT: return check_int(c, e);
	case EXPR_STR: return check_str(c, e);
	case EXPR_IDENT: return check_ident(c, e);
	case EXPR_AGG: return check_agg_ref(c, e);
	case EXPR_UNARY: return check_unary(c, e);
	case EXPR_BINARY: return check_binary(c, e);
	case EXPR_ASSIGN: return check_assign(c, e);
	case EXPR_COND: return check_cond(c, e);
	case EXPR_COMMA: return check_comma(c, e);
	case EXPR_CALL: return check_call(c, e);
	case EXPR_INDEX: return check_index(c, e);
	case EXPR_MEMBER: return check_member(c, e);
	case EXPR_CAST: return check_cast(c, e);
	case EXPR_SIZEOF_TYPE: return check_sizeof_type(c, e);
	case EXPR_SIZEOF: return check_sizeof(c, e);
	case EXPR_OFFSETOF: return check_offsetof(c, e);
	case EXPR_STRINGOF: return check_stringof(c, e);
	case EXPR_XLATE: return check_xlate(c, e);
	case EXPR_VAR: break; /* always has a type */
	}
	BUG("expression kind %d without a type", (int)e->kind);
}

struct expr *check_any(struct check *c, struct expr *e)
{
	struct expr *checked;

	if (e->type != TYPE_NONE)
		return e;
	if (c->depth >= DEPTH_MAX)
		return expr_fail(c, D_SYNTAX, e->span,
				 "expression is nested more than %d levels deep", DEPTH_MAX);
	c->depth++;
	checked = check_node(c, e);
	c->depth--;
	assert(checked->type != TYPE_NONE);
	return checked;
}

void hint_dynamic(struct check *c, const struct expr *e)
{
	if (e->kind == EXPR_AGG)
		diag_hint(c->diags,
			  "@%s = count() counts, printa(@%s) prints; a value to compute with goes "
			  "into a variable",
			  e->agg.name, e->agg.name);
	else
		diag_hint(c->diags, "name the member that is wanted: value%smember",
			  type_is_pointer(c->types, e->type) ? "->" : ".");
}

struct expr *check_value_or(struct check *c, struct expr *e, enum dtag not_value)
{
	e = xlate_address(c, e);
	if (e->kind == EXPR_AGG)
		check_error(c, not_value, e->span,
			    "aggregation @%s has no value that an expression could use",
			    e->agg.name);
	else if (e->kind == EXPR_XLATE)
		check_error(c, not_value, e->span,
			    "translated value of type \"%s\" can only be used through its members",
			    type_text(c, e->type));
	if (expr_is_dynamic(e)) {
		hint_dynamic(c, e);
		return expr_bad(c, e->span);
	}
	if (type_is_float(c->types, e->type) && type_size(c->types, e->type) > sizeof(uint64_t))
		return expr_fail(c, D_UNKNOWN, e->span,
				 "values of type \"%s\" are not available in this version",
				 type_text(c, e->type));
	return e;
}

struct expr *check_value(struct check *c, struct expr *e)
{
	return check_value_or(c, e, D_CG_DYN);
}

struct expr *check_expr(struct check *c, struct expr *e)
{
	return check_value(c, check_any(c, e));
}

struct expr *check_expr_or(struct check *c, struct expr *e, enum dtag not_value)
{
	return check_value_or(c, check_any(c, e), not_value);
}

bool check_const(struct check *c, struct expr *e, int64_t *ret_val)
{
	struct attempt attempt = attempt_begin(c);
	struct expr *v = check_expr(c, expr_clone(c->arena, e));

	attempt_undo(c, &attempt); /* a constant declares nothing */
	if (!expr_is_const(c, v))
		return false;
	*ret_val = (int64_t)v->ival.val;
	return true;
}

/* ---- types for back ends ---------------------------------------------------------------- */

struct dif_type dif_type_of(const struct types *t, type_id id)
{
	bool is_byref = type_is_byref(t, id);

	return (struct dif_type){
		.kind = type_is_string(t, id) ? DIF_KIND_STRING : DIF_KIND_CTF,
		.ckind = (uint8_t)type_kind(t, id),
		.flags = (is_byref ? DIF_TF_BYREF : 0) |
			 (is_byref && type_is_userland(t, id) ? DIF_TF_BYUREF : 0) |
			 (type_is_stack(t, id) ? DIF_TF_STACK : 0),
		.is_signed = type_is_signed(t, id),
		.size = type_size(t, id),
	};
}
