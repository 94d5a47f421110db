/* SPDX-License-Identifier: MIT */
/* Lowering of conditions: comparisons and logic as branches, and as values. */
#include "d/lower/lower_impl.h"

/* Branches for a comparison. DIF branches go forward only: a label follows its branches. */
static void branch_compare(struct lower *l, struct expr *e, uint32_t label, bool when)
{
	const struct op_row *row = &op_rows[e->binary.op];
	bool is_str = e->binary.is_strcmp;
	uint32_t r1, r2;

	if (!when)
		row = &op_rows[row->negated];
	lower_pair(l, is_str ? lower_string : lower_value, e->binary.l, e->binary.r, &r1, &r2);
	emit(l, is_str ? DIF_OP_SCMP : DIF_OP_CMP, r1, r2, 0);
	reg_free(l, r1);
	reg_free(l, r2);
	/* scmp sets the flags of a signed result: less, equal, greater */
	dif_emit_branch(l->b, e->binary.is_signed || is_str ? row->if_signed : row->if_unsigned,
			label);
}

/*
 * A branch for a && b: when a is false, b is not evaluated. A branch for a || b is the same with
 * true and false exchanged.
 */
static void branch_logical(struct lower *l, struct expr *e, uint32_t label, bool when)
{
	bool decided_by = e->binary.op == OP_LOR; /* an operand of this value decides alone */
	uint32_t skip;

	if (when == decided_by) {
		lower_branch(l, e->binary.l, label, when);
		lower_branch(l, e->binary.r, label, when);
		return;
	}
	skip = dif_label_create(l->b);
	lower_branch(l, e->binary.l, skip, decided_by);
	lower_branch(l, e->binary.r, label, when);
	dif_label_here(l->b, skip);
}

/* A branch for c ? t : f. */
static void branch_cond(struct lower *l, struct expr *e, uint32_t label, bool when)
{
	uint32_t on_false = dif_label_create(l->b), end = dif_label_create(l->b);

	lower_branch(l, e->cond.c, on_false, false);
	lower_branch(l, e->cond.t, label, when);
	dif_emit_branch(l->b, DIF_OP_BA, end);
	dif_label_here(l->b, on_false);
	lower_branch(l, e->cond.f, label, when);
	dif_label_here(l->b, end);
}

/* Branches by the parts of the expression; false: it has none, and is a value. */
static bool branch_parts(struct lower *l, struct expr *e, uint32_t label, bool when)
{
	if (e->kind == EXPR_CAST && cast_keeps_value(l, e))
		lower_branch(l, e->cast.e, label, when);
	else if (e->kind == EXPR_COMMA) {
		lower_discard(l, e->binary.l);
		lower_branch(l, e->binary.r, label, when);
	} else if (e->kind == EXPR_COND)
		branch_cond(l, e, label, when);
	else if (e->kind == EXPR_UNARY && e->unary.op == OP_NOT)
		lower_branch(l, e->unary.e, label, !when);
	else if (e->kind == EXPR_BINARY && (e->binary.op == OP_LAND || e->binary.op == OP_LOR))
		branch_logical(l, e, label, when);
	else if (e->kind == EXPR_BINARY && op_is_compare(e->binary.op))
		branch_compare(l, e, label, when);
	else
		return false;
	return true;
}

static void branch_node(struct lower *l, struct expr *e, uint32_t label, bool when)
{
	uint32_t r;

	/* lower_value() knows whether the code of a node is trusted */
	if (!e->is_own && !e->is_given && !e->is_input && branch_parts(l, e, label, when))
		return;
	r = lower_value(l, e);
	emit(l, DIF_OP_TST, r, 0, 0);
	reg_free(l, r);
	dif_emit_branch(l->b, when ? DIF_OP_BNE : DIF_OP_BE, label);
}

void lower_branch(struct lower *l, struct expr *e, uint32_t label, bool when)
{
	struct span outer = span_enter(l, e->span);

	branch_node(l, e, label, when);
	if (e->is_trusted)
		dif_trust(l->b);
	span_leave(l, outer);
}

static uint32_t lower_lxor(struct lower *l, struct expr *e)
{
	uint32_t r1, r2;

	lower_pair(l, lower_truth, e->binary.l, e->binary.r, &r1, &r2);
	return emit_op(l, DIF_OP_XOR, r1, r2);
}

uint32_t lower_truth(struct lower *l, struct expr *e)
{
	uint32_t is_false, end, rd;

	if (e->kind == EXPR_BINARY && e->binary.op == OP_LXOR)
		return lower_lxor(l, e);
	if (e->kind == EXPR_INT)
		return emit_const(l, e->ival.val != 0);
	is_false = dif_label_create(l->b);
	end = dif_label_create(l->b);
	lower_branch(l, e, is_false, false);
	rd = emit_const(l, 1);
	dif_emit_branch(l->b, DIF_OP_BA, end);
	dif_label_here(l->b, is_false);
	emit(l, DIF_OP_MOV, 0, 0, rd);
	dif_label_here(l->b, end);
	return rd;
}

/*
 * c ? t : f. Both operands leave their value in one register: that in which the first one ends,
 * which is free while the second one is evaluated.
 */
uint32_t lower_cond(struct lower *l, struct expr *e)
{
	uint32_t on_false = dif_label_create(l->b), end = dif_label_create(l->b), rd, r;

	lower_branch(l, e->cond.c, on_false, false);
	rd = emit_writable(l, lower_value(l, e->cond.t));
	reg_free(l, rd);
	dif_emit_branch(l->b, DIF_OP_BA, end);
	dif_label_here(l->b, on_false);
	r = lower_value(l, e->cond.f);
	if (r != rd) {
		emit(l, DIF_OP_MOV, r, 0, rd);
		reg_free(l, r);
		reg_take(l, rd);
	}
	dif_label_here(l->b, end);
	return rd;
}
