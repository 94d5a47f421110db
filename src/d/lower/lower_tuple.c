/* SPDX-License-Identifier: MIT */
/* Lowering of keys and calls: everything that is pushed on DIF's tuple stack. */
#include "d/lower/lower_impl.h"

/* A call empties the tuple stack; loads and stores of array elements leave their keys on it. */
static void tuple_begin(struct lower *l)
{
	if (l->is_tuple_used)
		emit(l, DIF_OP_FLUSHTS, 0, 0, 0);
}

static void push_int(struct lower *l, uint32_t r)
{
	emit(l, DIF_OP_PUSHTV, DIF_TUPLE_INT, 0, r);
}

static uint32_t emit_call(struct lower *l, enum dif_subr subr)
{
	uint32_t rd = reg_alloc(l);

	dif_emit(l->b, dif_idx(DIF_OP_CALL, subr, rd));
	return rd;
}

/* Takes addr, returns a copy in scratch memory. */
static uint32_t emit_copyin(struct lower *l, uint32_t addr, uint32_t size)
{
	uint32_t rsize = emit_const(l, size);

	tuple_begin(l);
	push_int(l, addr);
	push_int(l, rsize);
	reg_free(l, addr);
	reg_free(l, rsize);
	return emit_call(l, DIF_SUBR_COPYIN);
}

static uint32_t emit_copyinstr(struct lower *l, uint32_t addr)
{
	tuple_begin(l);
	push_int(l, addr);
	reg_free(l, addr);
	return emit_call(l, DIF_SUBR_COPYINSTR);
}

uint32_t emit_strsize(struct lower *l, uint32_t addr)
{
	tuple_begin(l);
	emit(l, DIF_OP_PUSHTR, DIF_TUPLE_STR, 0, addr);
	return emit_op_imm(l, DIF_OP_ADD, emit_call(l, DIF_SUBR_STRLEN), 1);
}

uint32_t lower_string(struct lower *l, struct expr *e)
{
	bool is_user = type_is_string(l->t, e->type) ? mem_is_user(l, e) : ptr_is_user(l, e);
	uint32_t r = lower_value(l, e);

	return is_user ? emit_copyinstr(l, r) : r;
}

uint32_t lower_arg(struct lower *l, struct expr *e)
{
	if (type_is_string(l->t, e->type))
		return lower_string(l, e);
	if (type_is_byref(l->t, e->type) && mem_is_user(l, e))
		return emit_copyin(l, lower_value(l, e), type_size(l->t, e->type));
	return lower_canonical(l, e);
}

uint32_t *lower_keys(struct lower *l, struct expr **e, uint32_t n)
{
	uint32_t *regs = ARENA_NEW_N(l->c->arena, uint32_t, n);

	if (n > DIF_MAX_TUPLE && !l->has_failed) {
		diag_error(
			l->c->diags, D_NOREG, l->span,
			"expression is too complex: %u keys or arguments, at most %d are possible",
			n, DIF_MAX_TUPLE);
		l->has_failed = true;
	}
	if (l->has_failed)
		return regs;
	for (uint32_t i = 0; i < n; i++)
		regs[i] = lower_arg(l, e[i]);
	return regs;
}

static void push_key(struct lower *l, const struct expr *e, uint32_t r)
{
	uint32_t size;

	if (type_is_string(l->t, e->type)) {
		emit(l, DIF_OP_PUSHTR, DIF_TUPLE_STR, 0, r);
	} else if (type_is_byref(l->t, e->type)) {
		size = emit_const(l, type_size(l->t, e->type));
		emit(l, DIF_OP_PUSHTR, DIF_TUPLE_INT, size, r);
		reg_free(l, size);
	} else {
		push_int(l, r);
	}
}

void push_keys(struct lower *l, struct expr **e, const uint32_t *regs, uint32_t n)
{
	tuple_begin(l);
	for (uint32_t i = 0; i < n; i++)
		push_key(l, e[i], regs[i]);
	l->is_tuple_used = true;
}

void free_keys(struct lower *l, const uint32_t *regs, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		reg_free(l, regs[i]);
}

uint32_t lower_call(struct lower *l, struct expr *e)
{
	const struct subr *subr = e->call.subr;
	uint32_t *regs = lower_keys(l, e->call.args, e->call.nargs);

	tuple_begin(l);
	for (uint32_t i = 0; i < e->call.nargs; i++)
		push_key(l, e->call.args[i], regs[i]);
	free_keys(l, regs, e->call.nargs);
	return emit_call(l, (enum dif_subr)subr->code);
}
