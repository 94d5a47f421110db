/* SPDX-License-Identifier: MIT */
/* Lowering of expressions: chooses by the kind of a node; arithmetic, assignment, casts. */
#include "d/lower/lower_impl.h"
#include "dtrace.h"

/* ---- arithmetic ------------------------------------------------------------------------------ */

static enum dif_op arith_op(enum expr_op op, bool is_signed)
{
	return is_signed ? op_rows[op].if_signed : op_rows[op].if_unsigned;
}

/* A string is an address, too: that of its characters. */
static bool is_address(const struct lower *l, type_id type)
{
	return type_is_pointer(l->t, type) || type_is_string(l->t, type);
}

static uint32_t target_size(const struct lower *l, type_id pointer)
{
	uint32_t size = type_size(l->t, type_deref(l->t, pointer));

	return size ? size : 1;
}

static uint32_t emit_unscale(struct lower *l, uint32_t r, uint32_t size)
{
	if (size == 1)
		return r;
	if (size & (size - 1))
		return emit_op_imm(l, DIF_OP_SDIV, r, size);
	return emit_op_imm(l, DIF_OP_SRA, r, (uint64_t)__builtin_ctz(size));
}

/* pointer + int, int + pointer, pointer - int, pointer - pointer */
static uint32_t lower_pointer_arith(struct lower *l, struct expr *e)
{
	struct expr *a = e->binary.l, *b = e->binary.r;
	enum dif_op op = e->binary.op == OP_ADD ? DIF_OP_ADD : DIF_OP_SUB;
	uint32_t ra, rb;

	lower_pair(l, lower_value, a, b, &ra, &rb);
	if (is_address(l, a->type) && is_address(l, b->type))
		return emit_unscale(l, emit_op(l, op, ra, rb), target_size(l, a->type));
	if (is_address(l, a->type))
		rb = emit_scale(l, rb, target_size(l, a->type));
	else
		ra = emit_scale(l, ra, target_size(l, b->type));
	return emit_op(l, op, ra, rb);
}

static uint32_t lower_binary(struct lower *l, struct expr *e)
{
	enum expr_op op = e->binary.op;
	uint32_t ra, rb;

	if (op_is_compare(op) || op_rows[op].rule == OPR_LOGIC)
		return lower_truth(l, e);
	if (is_address(l, e->binary.l->type) || is_address(l, e->binary.r->type))
		return lower_pointer_arith(l, e);
	lower_pair(l, lower_value, e->binary.l, e->binary.r, &ra, &rb);
	return emit_op(l, arith_op(op, e->binary.is_signed), ra, rb);
}

void lower_pair(struct lower *l, lower_fn *fn, struct expr *a, struct expr *b, uint32_t *ret_a,
		uint32_t *ret_b)
{
	if (second_goes_first(l, a, b)) {
		*ret_b = fn(l, b);
		*ret_a = fn(l, a);
	} else {
		*ret_a = fn(l, a);
		*ret_b = fn(l, b);
	}
}

/* ---- assignment ------------------------------------------------------------------------------ */

/* Cuts a value to what loading the lvalue would give: to its type or its bits. Takes r. */
static uint32_t emit_cut_lvalue(struct lower *l, const struct lvalue *v, uint32_t r)
{
	if (v->bit_size)
		return emit_cut(l, r, v->bit_size, type_is_signed(l->t, v->type));
	return emit_cut_type(l, r, v->type);
}

static uint32_t lower_compound(struct lower *l, struct expr *e)
{
	struct lvalue v = lvalue_of_target(l, e->binary.l);
	uint32_t rl = lvalue_load(l, &v), rr = lower_value(l, e->binary.r);

	if (is_address(l, v.type))
		rr = emit_scale(l, rr, target_size(l, v.type));
	rl = emit_op(l, arith_op(e->binary.op, e->binary.is_signed), rl, rr);
	rl = emit_cut_lvalue(l, &v, rl);
	lvalue_store(l, &v, rl);
	lvalue_release(l, &v);
	return rl;
}

static uint32_t lower_assign(struct lower *l, struct expr *e)
{
	struct lvalue v;
	uint32_t r;

	if (e->binary.op != OP_NONE)
		return lower_compound(l, e);
	/* the value first: its registers are free again when the lvalue is evaluated */
	r = lower_arg(l, e->binary.r);
	v = lvalue_of_target(l, e->binary.l);
	lvalue_store(l, &v, r);
	if (v.bit_size)
		r = emit_cut_lvalue(l, &v, r);
	lvalue_release(l, &v);
	return r;
}

static uint32_t lower_incdec(struct lower *l, struct expr *e)
{
	enum expr_op op = e->unary.op;
	bool is_inc = op == OP_PREINC || op == OP_POSTINC, is_post = op_is_postfix(op);
	struct lvalue v = lvalue_of_target(l, e->unary.e);
	uint32_t step = is_address(l, v.type) ? target_size(l, v.type) : 1;
	uint32_t old = lvalue_load(l, &v), val = emit_const(l, step);

	emit(l, is_inc ? DIF_OP_ADD : DIF_OP_SUB, old, val, val);
	val = emit_cut_lvalue(l, &v, val);
	lvalue_store(l, &v, val);
	lvalue_release(l, &v);
	reg_free(l, is_post ? val : old);
	return is_post ? old : val;
}

/* ---- unary operators, casts ------------------------------------------------------------------ */

static uint32_t lower_unary(struct lower *l, struct expr *e)
{
	uint32_t r;

	switch (e->unary.op) {
	case OP_PLUS: return lower_value(l, e->unary.e);
	case OP_NEG:
		r = emit_op(l, DIF_OP_SUB, 0, lower_value(l, e->unary.e));
		return type_is_signed(l->t, e->type) ? r : emit_cut_type(l, r, e->type);
	case OP_BITNOT:
		r = emit_writable(l, lower_value(l, e->unary.e));
		emit(l, DIF_OP_NOT, r, 0, r);
		return r;
	case OP_NOT: return lower_truth(l, e);
	case OP_DEREF: return lower_lvalue(l, e);
	case OP_ADDROF: return lower_address(l, e->unary.e);
	case OP_PREINC:
	case OP_PREDEC:
	case OP_POSTINC:
	case OP_POSTDEC: return lower_incdec(l, e);
	case OP_NONE:
#define OP_BINARY(id, ...) case OP_##id:
#include "d/parse/ops.def"
#undef OP_BINARY
		break;
	}
	BUG("unary operator %d", (int)e->unary.op);
}

/* Whether every canonical value of type from is also a canonical value of type to. */
static bool is_widening(const struct lower *l, type_id from, type_id to)
{
	uint32_t from_size = type_size(l->t, from), to_size = type_size(l->t, to);
	bool from_signed = type_is_signed(l->t, from), to_signed = type_is_signed(l->t, to);

	if (to_size >= 8)
		return true;
	if (from_signed == to_signed)
		return from_size <= to_size;
	return to_signed && from_size < to_size;
}

bool cast_keeps_value(const struct lower *l, const struct expr *e)
{
	const struct expr *from = e->cast.e;

	return !type_is_void(l->t, e->type) && !type_is_string(l->t, e->type) &&
	       is_canonical(l, from) && is_widening(l, from->type, e->type);
}

static uint32_t lower_cast(struct lower *l, struct expr *e)
{
	struct expr *from = e->cast.e;

	if (type_is_void(l->t, e->type)) {
		lower_discard(l, from);
		return 0;
	}
	if (type_is_string(l->t, e->type))
		return lower_string(l, from);
	/* a cast converts the 64 bits of an arithmetic result, not first the bits of its type */
	if (cast_keeps_value(l, e))
		return lower_value(l, from);
	return emit_cut_type(l, lower_value(l, from), e->type);
}

/* ---- canonical values ------------------------------------------------------------------------ */

/* Whether two integer types have the same values: the same size and sign. */
static bool type_same_range(const struct lower *l, type_id a, type_id b)
{
	return type_size(l->t, a) == type_size(l->t, b) &&
	       type_is_signed(l->t, a) == type_is_signed(l->t, b);
}

static bool binary_is_canonical(const struct lower *l, const struct expr *e)
{
	const struct expr *a = e->binary.l, *b = e->binary.r;

	switch (op_rows[e->binary.op].rule) {
	case OPR_BITS:
		return type_same_range(l, a->type, e->type) &&
		       type_same_range(l, b->type, e->type) && is_canonical(l, a) &&
		       is_canonical(l, b);
	case OPR_SHIFT:
		return e->binary.op == OP_SHR && type_same_range(l, a->type, e->type) &&
		       is_canonical(l, a);
	case OPR_ARITH:
	case OPR_ADDRESS:
	case OPR_INTEGER: return false;
	case OPR_COMPARE:
	case OPR_LOGIC: return true;
	case OPR_NONE:
	case OPR_PREFIX:
	case OPR_POSTFIX: break;
	}
	BUG("binary operator %d", (int)e->binary.op);
}

bool is_canonical(const struct lower *l, const struct expr *e)
{
	if (!type_is_integer(l->t, e->type) || type_size(l->t, e->type) >= 8)
		return true;
	switch (e->kind) {
	case EXPR_UNARY:
		if (e->unary.op == OP_PLUS)
			return is_canonical(l, e->unary.e);
		if (e->unary.op == OP_NEG)
			return !type_is_signed(l->t, e->type);
		return e->unary.op != OP_BITNOT;
	case EXPR_BINARY: return binary_is_canonical(l, e);
	case EXPR_COND:
		return is_canonical(l, e->cond.t) && type_same_range(l, e->cond.t->type, e->type) &&
		       is_canonical(l, e->cond.f) && type_same_range(l, e->cond.f->type, e->type);
	case EXPR_COMMA: return is_canonical(l, e->binary.r);
	case EXPR_INT: /* int_canonical() */
	case EXPR_VAR: /* loads extend */
	case EXPR_INDEX:
	case EXPR_MEMBER:
	case EXPR_ASSIGN: /* the value is cut before it is stored */
	case EXPR_CALL:	  /* a subroutine returns a value of its type */
	case EXPR_CAST:
	case EXPR_STR:
	case EXPR_STRINGOF: return true;
	case EXPR_BAD:
	case EXPR_IDENT:
	case EXPR_AGG:
	case EXPR_SIZEOF_TYPE:
	case EXPR_SIZEOF:
	case EXPR_OFFSETOF:
	case EXPR_XLATE: break;
	}
	BUG("expression kind %d reached lowering", (int)e->kind);
}

uint32_t lower_canonical(struct lower *l, struct expr *e)
{
	uint32_t r = lower_value(l, e);

	return is_canonical(l, e) ? r : emit_cut_type(l, r, e->type);
}

/* ---- values ---------------------------------------------------------------------------------- */

static uint64_t int_canonical(const struct lower *l, const struct expr *e)
{
	uint32_t shift = 64 - MIN(type_size(l->t, e->type), 8u) * 8;

	if (!type_is_integer(l->t, e->type) || shift == 64)
		return e->ival.val;
	if (type_is_signed(l->t, e->type))
		return (uint64_t)((int64_t)(e->ival.val << shift) >> shift);
	return e->ival.val << shift >> shift;
}

static uint32_t lower_str(struct lower *l, const struct expr *e)
{
	/* a NUL within the constant ends the string, as it does in C */
	uint32_t off = dif_str(l->b, arena_strndup(l->c->arena, e->str.p, e->str.len)),
		 r = reg_alloc(l);

	/* when there are more than 64 KiB of strings, difo_verify() refuses the whole object */
	dif_emit(l->b, dif_idx(DIF_OP_SETS, off & UINT16_MAX, r));
	return r;
}

static uint32_t lower_node(struct lower *l, struct expr *e)
{
	switch (e->kind) {
	case EXPR_INT: return emit_const(l, int_canonical(l, e));
	case EXPR_STR: return lower_str(l, e);
	case EXPR_VAR:
	case EXPR_INDEX:
	case EXPR_MEMBER: return lower_lvalue(l, e);
	case EXPR_UNARY: return lower_unary(l, e);
	case EXPR_BINARY: return lower_binary(l, e);
	case EXPR_ASSIGN: return lower_assign(l, e);
	case EXPR_COND: return lower_cond(l, e);
	case EXPR_COMMA: lower_discard(l, e->binary.l); return lower_value(l, e->binary.r);
	case EXPR_CALL: return lower_call(l, e);
	case EXPR_CAST: return lower_cast(l, e);
	case EXPR_STRINGOF: return lower_string(l, e->unary.e);
	case EXPR_BAD:
	case EXPR_IDENT:
	case EXPR_AGG:
	case EXPR_SIZEOF_TYPE:
	case EXPR_SIZEOF:
	case EXPR_OFFSETOF:
	case EXPR_XLATE: break;
	}
	BUG("expression kind %d reached lowering", (int)e->kind);
}

/*
 * Says whether the code of the node is trusted; returns what was so before. What only a trusted
 * text may use is an error elsewhere, whatever way it has come there.
 */
static bool trust_enter(struct lower *l, const struct expr *e)
{
	bool before = dif_set_trust(l->b, false), now = !e->is_given && (before || e->is_own);

	(void)dif_set_trust(l->b, now);
	if (e->is_input && (!before || e->is_given) && !l->has_failed) {
		privilege_fail_input(l->c, e->span);
		l->has_failed = true;
	}
	return before;
}

uint32_t lower_value(struct lower *l, struct expr *e)
{
	struct span outer;
	bool is_trusted;
	uint32_t r;

	if (l->has_failed)
		return 0;
	outer = span_enter(l, e->span);
	is_trusted = trust_enter(l, e);
	r = lower_node(l, e);
	(void)dif_set_trust(l->b, is_trusted);
	if (e->is_trusted)
		dif_trust(l->b);
	span_leave(l, outer);
	return r;
}

void lower_discard(struct lower *l, struct expr *e)
{
	reg_free(l, lower_value(l, e));
}

/* ---- the pass -------------------------------------------------------------------------------- */

/* The type of the recorded value; for a by-reference one it says in which memory the value lies. */
static struct dif_type result_type(const struct lower *l, const struct expr *e)
{
	struct dif_type type = dif_type_of(l->t, e->type);

	if (type.flags & DIF_TF_BYREF && !type_is_string(l->t, e->type) && mem_is_user(l, e))
		type.flags = DIF_TF_BYUREF;
	return type;
}

/*
 * Our verifier runs on every object. A program can exceed the limits of DIF's tables; every other
 * refusal is a mistake of ours, and is reported as such.
 */
static bool difo_verify_lowered(struct lower *l, const struct expr *e, const struct difo *d)
{
	struct err *err = difo_verify(d, DIF_MAX_REGS);
	int code = err ? err_get_code(err) : 0;

	if (!err)
		return true;
	if (code == EDT_INT2BIG || code == EDT_STR2BIG || code == EDT_BPFSIZE)
		diag_error(l->c->diags, D_NOREG, e->span, "expression is too complex: %s",
			   err_text(err));
	else
		diag_error(l->c->diags, D_UNKNOWN, e->span,
			   "internal error: the code of this expression is not valid: %s",
			   err_text(err));
	err_destroy(err);
	return false;
}

struct difo *lower_expr(struct check *c, struct expr *e)
{
	struct lower l = {.c = c, .t = c->types, .span = e->span};
	struct difo *d;
	uint32_t r;

	if (!lower_type_fits(&l, e->type, e->span))
		return NULL;
	l.b = dif_builder_create(c->arena);
	dif_set_span(l.b, e->span.off);
	r = type_is_string(l.t, e->type) ? lower_string(&l, e) : lower_value(&l, e);
	dif_set_span(l.b, e->span.off);
	emit(&l, DIF_OP_RET, 0, 0, r);
	d = dif_builder_finish(l.b, result_type(&l, e));
	hashmap_destroy(l.weights);
	return !l.has_failed && difo_verify_lowered(&l, e, d) ? d : NULL;
}
