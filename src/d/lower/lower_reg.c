/* SPDX-License-Identifier: MIT */
/* Registers of the lowering: allocation, small instruction sequences, order of evaluation. */
#include "d/lower/lower_impl.h"

/* ---- registers ------------------------------------------------------------------------------- */

uint32_t reg_alloc(struct lower *l)
{
	for (uint32_t r = 1; r < DIF_MAX_REGS; r++)
		if (!(l->used[r / 64] >> r % 64 & 1)) {
			reg_take(l, r);
			return r;
		}
	if (!l->has_failed)
		diag_error(l->c->diags, D_NOREG, l->span,
			   "expression is too complex: it needs more than %d registers",
			   DIF_MAX_REGS - 1);
	l->has_failed = true;
	return 1;
}

void reg_take(struct lower *l, uint32_t r)
{
	l->used[r / 64] |= 1ull << r % 64;
}

void reg_free(struct lower *l, uint32_t r)
{
	if (r)
		l->used[r / 64] &= ~(1ull << r % 64);
}

/* ---- instructions ---------------------------------------------------------------------------- */

void emit(struct lower *l, enum dif_op op, uint32_t r1, uint32_t r2, uint32_t rd)
{
	dif_emit(l->b, dif_rrr(op, r1, r2, rd));
}

uint32_t emit_const(struct lower *l, uint64_t val)
{
	uint32_t r;

	if (val == 0)
		return 0;
	r = reg_alloc(l);
	dif_emit(l->b, dif_idx(DIF_OP_SETX, dif_int(l->b, val) & UINT16_MAX, r));
	return r;
}

uint32_t emit_writable(struct lower *l, uint32_t r)
{
	if (r)
		return r;
	r = reg_alloc(l);
	emit(l, DIF_OP_MOV, 0, 0, r);
	return r;
}

uint32_t emit_op(struct lower *l, enum dif_op op, uint32_t r1, uint32_t r2)
{
	uint32_t rd = r1 ? r1 : r2 ? r2 : reg_alloc(l);

	emit(l, op, r1, r2, rd);
	if (r2 != rd)
		reg_free(l, r2);
	return rd;
}

uint32_t emit_op_imm(struct lower *l, enum dif_op op, uint32_t r1, uint64_t imm)
{
	return emit_op(l, op, r1, emit_const(l, imm));
}

uint32_t emit_cut(struct lower *l, uint32_t r, uint32_t bits, bool is_signed)
{
	uint32_t shift;

	if (bits >= 64 || !r)
		return r;
	if (!is_signed)
		return emit_op_imm(l, DIF_OP_AND, r, (1ull << bits) - 1);
	shift = emit_const(l, 64 - bits);
	emit(l, DIF_OP_SLL, r, shift, r);
	return emit_op(l, DIF_OP_SRA, r, shift);
}

uint32_t emit_cut_type(struct lower *l, uint32_t r, type_id type)
{
	if (!type_is_integer(l->t, type))
		return r;
	return emit_cut(l, r, type_size(l->t, type) * 8, type_is_signed(l->t, type));
}

uint32_t emit_scale(struct lower *l, uint32_t r, uint32_t size)
{
	if (size <= 1)
		return r;
	if (size & (size - 1))
		return emit_op_imm(l, DIF_OP_MUL, r, size);
	return emit_op_imm(l, DIF_OP_SLL, r, (uint64_t)__builtin_ctz(size));
}

/* ---- order of evaluation --------------------------------------------------------------------- */

/*
 * Of two operands without effects, the one that needs more registers is evaluated first: all but
 * one of its registers are free again when the other is evaluated (Sethi and Ullman). An expression
 * of n operands then needs about log2(n) registers instead of n, on whichever side it is nested.
 */
struct weight {
	uint32_t need;
	bool has_effects; /* assigns or calls: must be evaluated in the order of the text */
};

static struct weight weight_of(struct lower *l, const struct expr *e);

/* n values, all of which are held in registers until the last one is evaluated. */
static struct weight weight_of_list(struct lower *l, struct expr *const *e, uint32_t n)
{
	struct weight w = {.need = 1};

	for (uint32_t i = 0; i < n; i++) {
		struct weight wi = weight_of(l, e[i]);

		w.need = MAX(w.need, i + wi.need);
		w.has_effects |= wi.has_effects;
	}
	return w;
}

/* One operand, and a constant (an offset, a mask, a scale) beside it. */
static struct weight weight_of_unary(struct lower *l, const struct expr *e)
{
	struct weight w = weight_of(l, e);

	w.need = MAX(w.need, 2);
	return w;
}

static struct weight weight_of_binary(struct lower *l, const struct expr *a, const struct expr *b)
{
	struct weight wa = weight_of(l, a), wb = weight_of(l, b);
	uint32_t need = MAX(wa.need, wb.need);

	if (wa.need == wb.need || wa.has_effects || wb.has_effects)
		need = MAX(wa.need, wb.need + 1);
	return (struct weight){need, wa.has_effects || wb.has_effects};
}

static struct weight weight_compute(struct lower *l, const struct expr *e)
{
	struct weight w = {.need = 1};

	switch (e->kind) {
	case EXPR_INT:
	case EXPR_STR: return w;
	case EXPR_VAR: return weight_of_list(l, e->var.keys, e->var.nkeys);
	case EXPR_UNARY:
		w = weight_of_unary(l, e->unary.e);
		w.has_effects |= e->unary.op >= OP_PREINC && e->unary.op <= OP_POSTDEC;
		return w;
	case EXPR_BINARY:
	case EXPR_COMMA: return weight_of_binary(l, e->binary.l, e->binary.r);
	case EXPR_ASSIGN:
		w = weight_of_binary(l, e->binary.l, e->binary.r);
		w.has_effects = true;
		return w;
	case EXPR_COND:
		return weight_of_list(l, (struct expr *const[]){e->cond.c, e->cond.t, e->cond.f},
				      3);
	case EXPR_CALL:
		w = weight_of_list(l, e->call.args, e->call.nargs);
		w.has_effects = true;
		return w;
	case EXPR_INDEX:
		w = weight_of_binary(l, e->index.base, e->index.subs[0]);
		w.need++;
		return w;
	case EXPR_MEMBER: return weight_of_unary(l, e->member.base);
	case EXPR_CAST: return weight_of_unary(l, e->cast.e);
	case EXPR_STRINGOF: return weight_of_unary(l, e->unary.e);
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

/* Results are remembered, so that the recursion visits each node once. */
static struct weight weight_of(struct lower *l, const struct expr *e)
{
	struct weight w;
	uintptr_t known;

	if (e->kind == EXPR_INT || e->kind == EXPR_STR)
		return (struct weight){.need = 1};
	if (!l->weights)
		l->weights = hashmap_create();
	known = (uintptr_t)hashmap_find(l->weights, &e, sizeof(e));
	if (known)
		return (struct weight){(uint32_t)(known >> 1), known & 1};
	w = weight_compute(l, e);
	known = (uintptr_t)w.need << 1 | w.has_effects;
	hashmap_set(l->weights, &e, sizeof(e), (void *)known);
	return w;
}

static bool is_leaf(const struct expr *e)
{
	return e->kind == EXPR_INT || e->kind == EXPR_STR || (e->kind == EXPR_VAR && !e->var.nkeys);
}

bool second_goes_first(struct lower *l, struct expr *a, struct expr *b)
{
	struct weight wa, wb;

	if (is_leaf(b)) /* the usual a + b + c is decided without a look at a */
		return false;
	wa = weight_of(l, a);
	wb = weight_of(l, b);
	return wb.need > wa.need && !wa.has_effects && !wb.has_effects;
}
