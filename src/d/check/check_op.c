/* SPDX-License-Identifier: MIT */
/*
 * Operators: checks operands, determines the type of the result, folds constants
 * (d-language.md 2.3, 3.3).
 */
#include "d/check/check_impl.h"

static struct expr *fail_operand(struct check *c, enum dtag tag, const char *op,
				 const struct expr *operand, const char *what)
{
	struct expr *bad = expr_fail(c, tag, operand->span,
				     "operator %s requires an operand of %s type, not \"%s\"", op,
				     what, type_text(c, operand->type));

	hint_stack(c, operand, operand);
	return bad;
}

struct expr *fail_incompat(struct check *c, struct span at, const char *op, const struct expr *l,
			   const struct expr *r)
{
	struct expr *bad = expr_fail(c, D_OP_INCOMPAT, at,
				     "operands have incompatible types: \"%s\" %s \"%s\"",
				     type_text(c, l->type), op, type_text(c, r->type));

	hint_stack(c, l, r);
	return bad;
}

/* Floating-point types describe data; D has no arithmetic on them (d-language.md 3.1). */
static struct expr *fail_float(struct check *c, struct span at, const char *op)
{
	return expr_fail(c, D_UNKNOWN, at,
			 "operator %s on floating-point operands is not available in this version",
			 op);
}

static bool is_float(struct check *c, const struct expr *e)
{
	return type_is_float(c->types, e->type);
}

static bool is_integer(struct check *c, const struct expr *e)
{
	return type_is_integer(c->types, e->type);
}

bool expr_is_address(struct check *c, const struct expr *e)
{
	return type_is_pointer(c->types, e->type) || type_is_string(c->types, e->type);
}

/* False after reporting arithmetic on a pointer to a type without a size. */
static bool check_pointee(struct check *c, const char *op, const struct expr *e)
{
	type_id to = type_deref(c->types, e->type);

	if (type_is_void(c->types, to) || type_kind(c->types, to) == TK_FUNC) {
		check_error(c, D_OP_VFPTR, e->span, "operator %s may not be applied to \"%s\"", op,
			    type_text(c, e->type));
		return false;
	}
	if (!type_complete(c->types, to) || type_size(c->types, to) == 0) {
		check_error(c, D_OP_INCOMPLETE, e->span,
			    "operator %s needs the size of \"%s\", which is not defined here", op,
			    type_text(c, to));
		return false;
	}
	return true;
}

/* ---- unary ------------------------------------------------------------------------------ */

static struct expr *unary_value(struct check *c, struct expr *e, type_id type)
{
	struct expr *o = e->unary.e;

	if (expr_is_const(c, o)) {
		uint64_t v = fold(e->unary.op, o->ival.val, 0, false);

		if (e->unary.op == OP_NEG && !type_is_signed(c->types, type))
			v = int_convert(c->types, v, type);
		return expr_int(c, e->span, v, type);
	}
	e->type = type;
	return e;
}

/*
 * The operand, checked, of an operator that reads it. As on other systems, a variable that only
 * later text assigns is an int64_t then: "/!pending[x]/" may stand before the clause with
 * "pending[x]++". A name that is assigned nowhere is an error, because it is mostly misspelled.
 */
static struct expr *check_unary_operand(struct check *c, struct expr *o, enum dtag not_value)
{
	if (!check_is_new_var(c, o) || !var_is_assigned_later(c, o))
		return check_expr_or(c, o, not_value);
	o = check_create_var(c, o, TYPE_INT64);
	if (!expr_is_bad(o))
		o->var.ident->is_implied = true;
	return o;
}

static struct expr *check_arith_unary(struct check *c, struct expr *e)
{
	struct expr *o = e->unary.e =
		check_unary_operand(c, e->unary.e,
				    e->unary.op == OP_BITNOT ? D_OP_INT : D_OP_ARITH);
	const char *op = op_text(e->unary.op);

	if (expr_is_bad(o))
		return o;
	if (e->unary.op == OP_BITNOT && !is_integer(c, o))
		return fail_operand(c, D_OP_INT, op, o, "integral");
	if (!type_is_arith(c->types, o->type))
		return fail_operand(c, D_OP_ARITH, op, o, "arithmetic");
	if (is_float(c, o))
		return fail_float(c, e->span, op);
	return unary_value(c, e, o->type);
}

static struct expr *check_not(struct check *c, struct expr *e)
{
	struct expr *o = e->unary.e = check_unary_operand(c, e->unary.e, D_OP_SCALAR);

	if (expr_is_bad(o))
		return o;
	if (!type_is_condition(c->types, o->type))
		return fail_operand(c, D_OP_SCALAR, "!", o, "scalar");
	return unary_value(c, e, TYPE_INT);
}

/* *s of a string is its first byte, s[0]. */
static struct expr *check_string_deref(struct check *c, struct expr *e)
{
	struct expr *element = expr_new(c, EXPR_INDEX, e->span, TYPE_NONE);

	element->index.base = e->unary.e;
	element->index.subs = ARENA_NEW_N(c->arena, struct expr *, 1);
	element->index.subs[0] = expr_int(c, e->span, 0, TYPE_INT);
	element->index.nsubs = 1;
	return check_element(c, element);
}

/* *p of a pointer to a translated value is the translated value. */
static struct expr *xlate_deref(struct check *c, const struct expr *o, struct span at)
{
	struct expr *x = expr_new(c, EXPR_XLATE, at, xlate_output(c, o));

	x->xlate = o->xlate;
	x->is_own = o->is_own;
	return x;
}

static struct expr *check_deref(struct check *c, struct expr *e)
{
	struct expr *o = xlate_address(c, check_any(c, e->unary.e));
	type_id to;

	if (o->kind == EXPR_XLATE && type_kind(c->types, o->type) == TK_PTR)
		return xlate_deref(c, o, e->span);
	o = e->unary.e = check_value(c, o);

	if (expr_is_bad(o))
		return o;
	if (type_is_string(c->types, o->type))
		return check_string_deref(c, e);
	if (!type_is_pointer(c->types, o->type))
		return expr_fail(c, D_DEREF_NONPTR, e->span,
				 "cannot dereference \"%s\": not a pointer", type_text(c, o->type));
	to = type_deref(c->types, o->type);
	if (type_is_void(c->types, to))
		return expr_fail(c, D_DEREF_VOID, e->span, "cannot dereference a pointer to void");
	if (type_kind(c->types, to) == TK_FUNC)
		return expr_fail(c, D_DEREF_FUNC, e->span,
				 "cannot dereference a pointer to a function");
	(void)type_complete(c->types, to); /* a use of the value checks that it has a size */
	e->type = to;
	e->is_lvalue = true;
	return e;
}

static struct expr *check_addrof(struct check *c, struct expr *e)
{
	struct expr *o = e->unary.e;

	if (o->kind == EXPR_IDENT && o->type == TYPE_NONE && strchr(o->ident.name, '`'))
		return symbol_address(c, o);
	o = e->unary.e = check_any(c, o);
	if (o->kind == EXPR_AGG || o->kind == EXPR_XLATE)
		o = check_value(c, o);
	if (expr_is_bad(o))
		return o;
	if (o->kind == EXPR_VAR)
		return expr_fail(c, D_ADDROF_VAR, e->span,
				 "cannot take the address of a D variable");
	if (o->kind == EXPR_MEMBER && o->member.member->bit_size)
		return expr_fail(c, D_ADDROF_BITFIELD, e->span,
				 "cannot take the address of bit-field '%s'", o->member.name);
	if (!o->is_lvalue)
		return expr_fail(c, D_ADDROF_LVAL, e->span,
				 "operand of unary & has no address: not an lvalue");
	e->type = type_pointer(c->types, o->type);
	return e;
}

static struct expr *check_incdec(struct check *c, struct expr *e)
{
	const char *op = op_text(e->unary.op);
	struct expr *o = e->unary.e;

	o = e->unary.e = check_is_new_var(c, o) ? check_create_var(c, o, TYPE_INT64)
						: check_expr_or(c, o, D_OP_SCALAR);
	if (expr_is_bad(o))
		return o;
	if (!type_is_scalar(c->types, o->type))
		return fail_operand(c, D_OP_SCALAR, op, o, "scalar");
	if (type_is_pointer(c->types, o->type) && !check_pointee(c, op, o))
		return expr_bad(c, e->span);
	if (!o->is_lvalue)
		return expr_fail(c, D_OP_LVAL, o->span, "operator %s requires an lvalue", op);
	if (!expr_is_writable(c, o))
		return expr_fail(c, D_OP_WRITE, o->span,
				 "operator %s can only be applied to a writable D variable", op);
	e->type = o->type;
	return e;
}

struct expr *check_unary(struct check *c, struct expr *e)
{
	switch (e->unary.op) {
	case OP_PLUS:
	case OP_NEG:
	case OP_BITNOT: return check_arith_unary(c, e);
	case OP_NOT: return check_not(c, e);
	case OP_DEREF: return check_deref(c, e);
	case OP_ADDROF: return check_addrof(c, e);
	case OP_PREINC:
	case OP_PREDEC:
	case OP_POSTINC:
	case OP_POSTDEC: return check_incdec(c, e);
	case OP_NONE:
#define OP_BINARY(id, ...) case OP_##id:
#include "d/parse/ops.def"
#undef OP_BINARY
		break;
	}
	BUG("operator %d is not unary", (int)e->unary.op);
}

/* ---- binary ----------------------------------------------------------------------------- */

bool check_divisor(struct check *c, enum expr_op op, const struct expr *divisor)
{
	if ((op != OP_DIV && op != OP_MOD) || !expr_is_zero(c, divisor))
		return true;
	check_error(c, D_DIV_ZERO, divisor->span, "expression contains division by zero");
	return false;
}

static bool arith_fail(struct arith *a, struct expr *bad)
{
	a->bad = bad;
	return false;
}

static bool arith_numbers(struct check *c, struct arith *a, bool integers)
{
	struct expr *const operands[] = {a->l, a->r};

	for (int i = 0; i < 2; i++) {
		if (integers && !is_integer(c, operands[i]))
			return arith_fail(a, fail_operand(c, D_OP_INT, a->op, operands[i],
							  "integral"));
		if (!type_is_arith(c->types, operands[i]->type))
			return arith_fail(a, fail_operand(c, D_OP_ARITH, a->op, operands[i],
							  "arithmetic"));
	}
	if (is_float(c, a->l) || is_float(c, a->r))
		return arith_fail(a, fail_float(c, a->at, a->op));
	a->type = type_promote(c->types, a->l->type, a->r->type);
	a->is_signed = type_is_signed(c->types, a->type);
	return true;
}

static bool arith_shift(struct check *c, struct arith *a)
{
	if (!arith_numbers(c, a, true))
		return false;
	a->type = a->l->type;
	a->is_signed = type_is_signed(c->types, a->type);
	return true;
}

static type_id address_type(struct check *c, const struct expr *e)
{
	if (type_is_string(c->types, e->type))
		return TYPE_CHAR_PTR;
	if (type_kind(c->types, e->type) == TK_ARRAY)
		return type_of_variable(c, e->type);
	return e->type;
}

static bool arith_address(struct check *c, struct arith *a, const struct expr *p)
{
	if (!check_pointee(c, a->op, p))
		return arith_fail(a, expr_bad(c, a->at));
	a->type = address_type(c, p);
	return true;
}

static bool arith_add(struct check *c, struct arith *a, enum expr_op op)
{
	if (is_float(c, a->l) || is_float(c, a->r))
		return arith_fail(a, fail_float(c, a->at, a->op));
	if (is_integer(c, a->l) && is_integer(c, a->r))
		return arith_numbers(c, a, true);
	if (expr_is_address(c, a->l) && is_integer(c, a->r))
		return arith_address(c, a, a->l);
	if (op == OP_ADD && is_integer(c, a->l) && expr_is_address(c, a->r))
		return arith_address(c, a, a->r);
	if (op == OP_SUB && type_ptr_compat(c->types, a->l->type, a->r->type)) {
		if (!arith_address(c, a, a->l) || !arith_address(c, a, a->r))
			return false;
		a->type = TYPE_PTRDIFF;
		return true;
	}
	return arith_fail(a, fail_incompat(c, a->at, a->op, a->l, a->r));
}

bool arith_check(struct check *c, struct arith *a, enum expr_op op)
{
	switch (op_rows[op].rule) {
	case OPR_ADDRESS: return arith_add(c, a, op);
	case OPR_ARITH: return arith_numbers(c, a, false);
	case OPR_SHIFT: return arith_shift(c, a);
	case OPR_INTEGER:
	case OPR_BITS: return arith_numbers(c, a, true);
	case OPR_NONE:
	case OPR_PREFIX:
	case OPR_POSTFIX:
	case OPR_COMPARE:
	case OPR_LOGIC: break;
	}
	BUG("operator %d is not arithmetic", (int)op);
}

static struct expr *binary_done(struct check *c, struct expr *e, type_id type, bool is_signed)
{
	struct expr *l = e->binary.l, *r = e->binary.r;

	e->type = type;
	e->binary.is_signed = is_signed;
	if (expr_is_const(c, l) && expr_is_const(c, r))
		return expr_int(c, e->span, fold(e->binary.op, l->ival.val, r->ival.val, is_signed),
				type);
	return e;
}

static struct expr *check_arith(struct check *c, struct expr *e)
{
	struct arith a = {.op = op_text(e->binary.op),
			  .at = e->span,
			  .l = e->binary.l,
			  .r = e->binary.r};

	if (!arith_check(c, &a, e->binary.op))
		return a.bad;
	if (!check_divisor(c, e->binary.op, a.r))
		return expr_bad(c, e->span);
	return binary_done(c, e, a.type, a.is_signed);
}

static struct expr *check_logical(struct check *c, struct expr *e)
{
	struct expr *const operands[] = {e->binary.l, e->binary.r};

	for (int i = 0; i < 2; i++)
		if (!type_is_condition(c->types, operands[i]->type))
			return fail_operand(c, D_OP_SCALAR, op_text(e->binary.op), operands[i],
					    "scalar");
	return binary_done(c, e, TYPE_INT, false);
}

/* By which rule two values can be compared or be the operands of ?: */
enum pairing { PAIR_NONE, PAIR_INTEGERS, PAIR_STRINGS, PAIR_ADDRESSES, PAIR_STACKS };

static enum pairing pairing_of(struct check *c, struct expr **l, struct expr **r)
{
	const struct types *t = c->types;
	bool l_string = type_is_string(t, (*l)->type), r_string = type_is_string(t, (*r)->type);

	if (is_integer(c, *l) && is_integer(c, *r))
		return PAIR_INTEGERS;
	if (type_is_stack(t, (*l)->type) || type_is_stack(t, (*r)->type))
		return check_convert(c, l, TYPE_STACK) && check_convert(c, r, TYPE_STACK)
			       ? PAIR_STACKS
			       : PAIR_NONE;
	if ((l_string || r_string) && type_is_strcompat(t, (*l)->type) &&
	    type_is_strcompat(t, (*r)->type))
		return PAIR_STRINGS;
	if (expr_is_address(c, *l) && expr_is_zero(c, *r)) {
		*r = expr_int(c, (*r)->span, 0, (*l)->type);
		return PAIR_ADDRESSES;
	}
	if (expr_is_address(c, *r) && expr_is_zero(c, *l)) {
		*l = expr_int(c, (*l)->span, 0, (*r)->type);
		return PAIR_ADDRESSES;
	}
	return type_ptr_compat(t, (*l)->type, (*r)->type) ? PAIR_ADDRESSES : PAIR_NONE;
}

static struct expr *check_compare(struct check *c, struct expr *e)
{
	switch (pairing_of(c, &e->binary.l, &e->binary.r)) {
	case PAIR_INTEGERS: {
		type_id type = type_promote(c->types, e->binary.l->type, e->binary.r->type);

		return binary_done(c, e, TYPE_INT, type_is_signed(c->types, type));
	}
	case PAIR_STRINGS: e->binary.is_strcmp = true; return binary_done(c, e, TYPE_INT, true);
	case PAIR_ADDRESSES: return binary_done(c, e, TYPE_INT, false);
	case PAIR_STACKS:
		if (e->binary.op == OP_EQ || e->binary.op == OP_NE)
			return binary_done(c, e, TYPE_INT, false);
		return fail_incompat(c, e->span, op_text(e->binary.op), e->binary.l, e->binary.r);
	case PAIR_NONE: break;
	}
	if (is_float(c, e->binary.l) || is_float(c, e->binary.r))
		return fail_float(c, e->span, op_text(e->binary.op));
	(void)fail_incompat(c, e->span, op_text(e->binary.op), e->binary.l, e->binary.r);
	if (type_is_strcompat(c->types, e->binary.l->type))
		hint_char_text(c, e->binary.r);
	else if (type_is_strcompat(c->types, e->binary.r->type))
		hint_char_text(c, e->binary.l);
	return expr_bad(c, e->span);
}

/*
 * On the right of a comparison with an enumeration, its constants may be written without a scope.
 */
static struct expr *enum_tag(struct check *c, const struct expr *l, struct expr *r)
{
	const struct type_info *info = type_get(c->types, type_resolve(c->types, l->type));
	struct ident *id;

	if (r->kind != EXPR_IDENT || r->type != TYPE_NONE || r->ident.scope != SCOPE_GLOBAL ||
	    info->kind != TK_ENUM)
		return r;
	for (uint32_t i = 0; i < info->nenums; i++) {
		if (strcmp(info->enums[i].name, r->ident.name) != 0)
			continue;
		id = ident_find(c, SCOPE_GLOBAL, r->ident.name);
		if (id && (id->kind != IDENT_ENUMERATOR || id->ival != info->enums[i].val))
			return expr_fail(c, D_IDENT_AMBIG, r->span,
					 "ambiguous use of %s: a global name and a tag of \"%s\"",
					 r->ident.name, type_text(c, l->type));
		return expr_int(c, r->span, (uint64_t)info->enums[i].val, l->type);
	}
	return r;
}

/* The tag under which an operand of a wrong type is reported. */
static enum dtag operand_tag(enum expr_op op)
{
	switch (op_rows[op].rule) {
	case OPR_ADDRESS:
	case OPR_COMPARE: return D_OP_INCOMPAT;
	case OPR_ARITH: return D_OP_ARITH;
	case OPR_INTEGER:
	case OPR_BITS:
	case OPR_SHIFT: return D_OP_INT;
	case OPR_LOGIC: return D_OP_SCALAR;
	case OPR_NONE:
	case OPR_PREFIX:
	case OPR_POSTFIX: break;
	}
	BUG("operator %d is not binary", (int)op);
}

static void check_compared(struct check *c, struct expr *e)
{
	struct expr **l = &e->binary.l, **r = &e->binary.r;

	if (expr_is_unquoted(c, *l)) { /* bash == execname */
		*r = check_expr_or(c, *r, D_OP_INCOMPAT);
		*l = check_value_or(c, check_any_as(c, *l, (*r)->type), D_OP_INCOMPAT);
		return;
	}
	*l = check_expr_or(c, *l, D_OP_INCOMPAT);
	*r = enum_tag(c, *l, *r);
	*r = check_value_or(c, check_any_as(c, *r, (*l)->type), D_OP_INCOMPAT);
}

static bool is_logic(enum expr_op op)
{
	return op == OP_LAND || op == OP_LOR;
}

static bool is_deciding(struct check *c, enum expr_op op, const struct expr *e)
{
	return expr_is_const(c, e) && (op == OP_LAND ? !e->ival.val : e->ival.val != 0);
}

/* Whether e, unchecked, is a name, a number, or an operator on one, and decides an && or ||. */
static bool is_plain_deciding(struct check *c, enum expr_op op, struct expr *e)
{
	const struct expr *plain = e;
	int64_t val;

	while (plain->kind == EXPR_UNARY)
		plain = plain->unary.e;
	return (plain->kind == EXPR_IDENT || plain->kind == EXPR_INT) && check_const(c, e, &val) &&
	       (op == OP_LAND ? !val : val != 0);
}

/*
 * Checks the operands of && or || in a program with a $target that there is not: an operand makes
 * no difference when a constant on the other side decides, before or behind it.
 */
static void check_decided(struct check *c, struct expr *e, enum dtag tag)
{
	bool is_untaken = is_plain_deciding(c, e->binary.op, e->binary.r);

	c->nuntaken += is_untaken;
	e->binary.l = check_expr_or(c, e->binary.l, tag);
	c->nuntaken -= is_untaken;
	is_untaken = is_deciding(c, e->binary.op, e->binary.l);
	c->nuntaken += is_untaken;
	e->binary.r = check_expr_or(c, e->binary.r, tag);
	c->nuntaken -= is_untaken;
}

struct expr *check_binary(struct check *c, struct expr *e)
{
	enum dtag tag = operand_tag(e->binary.op);

	if (op_is_compare(e->binary.op)) {
		check_compared(c, e);
	} else if (c->lacks_target && is_logic(e->binary.op)) {
		check_decided(c, e, tag);
	} else {
		e->binary.l = check_expr_or(c, e->binary.l, tag);
		if (c->opts->skips_excluded && is_logic(e->binary.op) &&
		    is_deciding(c, e->binary.op, e->binary.l))
			return expr_int(c, e->span, e->binary.op == OP_LOR, TYPE_INT);
		e->binary.r = check_expr_or(c, e->binary.r, tag);
	}
	if (expr_is_bad(e->binary.l) || expr_is_bad(e->binary.r))
		return expr_bad(c, e->span);
	if (op_is_compare(e->binary.op))
		return check_compare(c, e);
	if (op_rows[e->binary.op].rule == OPR_LOGIC)
		return check_logical(c, e);
	return check_arith(c, e);
}

/* ---- ?: and comma ----------------------------------------------------------------------- */

/* Checks an operand of ?: or a comma, which must be a value: no action, no aggregation. */
static struct expr *check_operand(struct check *c, const char *op, struct expr *e)
{
	const struct subr *subr = e->type == TYPE_NONE ? call_subr(c, e) : NULL;

	if (subr && subr->class != SUBR_FUNC && !subr_is_stack(subr))
		return expr_fail(c, D_OP_ACT, e->span,
				 "operator %s cannot have %s( ) as an operand", op, subr->name);
	e = xlate_address(c, check_any(c, e));
	if (e->kind == EXPR_AGG || e->kind == EXPR_XLATE)
		return expr_fail(c, D_OP_DYN, e->span,
				 "operator %s cannot have an operand of dynamic type", op);
	return check_value(c, e);
}

static struct expr *cond_done(struct check *c, struct expr *e, type_id type)
{
	struct expr *chosen;

	if (type_is_string(c->types, type)) {
		if (expr_is_zero(c, e->cond.t))
			e->cond.t = expr_int(c, e->cond.t->span, 0, type);
		if (expr_is_zero(c, e->cond.f))
			e->cond.f = expr_int(c, e->cond.f->span, 0, type);
	}
	if (e->cond.t->type != type && !check_convert(c, &e->cond.t, type))
		return fail_incompat(c, e->span, "?:", e->cond.t, e->cond.f);
	if (e->cond.f->type != type && !check_convert(c, &e->cond.f, type))
		return fail_incompat(c, e->span, "?:", e->cond.t, e->cond.f);
	e->type = type;
	if (!expr_is_const(c, e->cond.c))
		return e;
	chosen = e->cond.c->ival.val ? e->cond.t : e->cond.f;
	chosen->is_lvalue = false;
	return chosen;
}

/* The type of ?: on addresses: when one operand is a void *, the type of the other one. */
static type_id address_cond_type(struct check *c, const struct expr *t, const struct expr *f)
{
	type_id type = address_type(c, t);

	if (type_is_void(c->types, type_deref(c->types, type)))
		type = address_type(c, f);
	return type;
}

struct expr *check_cond_const(struct check *c, struct expr *e)
{
	e->cond.c = check_expr(c, e->cond.c);
	if (!expr_is_const(c, e->cond.c))
		return NULL;
	return e->cond.c->ival.val ? e->cond.t : e->cond.f;
}

static struct expr *check_arm(struct check *c, struct expr *e, bool is_untaken)
{
	c->nuntaken += is_untaken;
	e = check_operand(c, "?:", e);
	c->nuntaken -= is_untaken;
	return e;
}

struct expr *check_cond(struct check *c, struct expr *e)
{
	struct expr *t, *f;

	e->cond.c = check_expr_or(c, e->cond.c, D_OP_SCALAR);
	e->cond.t = t = check_arm(c, e->cond.t, expr_is_zero(c, e->cond.c));
	e->cond.f = f = check_arm(c, e->cond.f, expr_is_const(c, e->cond.c) && e->cond.c->ival.val);
	if (expr_is_bad(e->cond.c) || expr_is_bad(t) || expr_is_bad(f))
		return expr_bad(c, e->span);
	if (!type_is_condition(c->types, e->cond.c->type))
		return fail_operand(c, D_OP_SCALAR, "?:", e->cond.c, "scalar");
	switch (pairing_of(c, &e->cond.t, &e->cond.f)) {
	case PAIR_INTEGERS:
		return cond_done(c, e,
				 type_same(c->types, t->type, f->type)
					 ? t->type
					 : type_promote(c->types, t->type, f->type));
	case PAIR_STRINGS: return cond_done(c, e, TYPE_STRING);
	case PAIR_ADDRESSES:
		if (type_is_string(c->types, e->cond.t->type) ||
		    type_is_string(c->types, e->cond.f->type))
			return cond_done(c, e, TYPE_STRING);
		return cond_done(c, e, address_cond_type(c, e->cond.t, e->cond.f));
	case PAIR_STACKS: return cond_done(c, e, TYPE_STACK);
	case PAIR_NONE: break;
	}
	if (type_same(c->types, t->type, f->type) && !type_is_void(c->types, t->type))
		return cond_done(c, e, t->type);
	return fail_incompat(c, e->span, "?:", t, f);
}

struct expr *check_comma(struct check *c, struct expr *e)
{
	e->binary.l = check_operand(c, ",", e->binary.l);
	e->binary.r = check_operand(c, ",", e->binary.r);
	if (expr_is_bad(e->binary.l) || expr_is_bad(e->binary.r))
		return expr_bad(c, e->span);
	e->type = e->binary.r->type;
	return e;
}
