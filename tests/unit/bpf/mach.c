/* SPDX-License-Identifier: MIT */
/* Machine states: their areas, slots of arrays, stacks of keys. */
#include "tap.h"

#include "gen_fixture.h"

static struct difo *joined(struct gx *x)
{
	struct dif_builder *b = dif_builder_create(x->arena);

	dif_emit(b, dif_idx(DIF_OP_SETS, dif_str(b, "j"), 1));
	dif_emit(b, dif_rrr(DIF_OP_PUSHTR, DIF_TUPLE_STR, 0, 1));
	dif_emit(b, dif_rrr(DIF_OP_PUSHTR, DIF_TUPLE_STR, 0, 1));
	dif_emit(b, dif_idx(DIF_OP_CALL, DIF_SUBR_STRJOIN, 1));
	dif_emit(b, dif_rrr(DIF_OP_RET, 0, 0, 1));
	return dif_builder_finish(b, gx_string);
}

static struct difo *stack_of(struct gx *x, uint32_t frames)
{
	struct dif_builder *b = dif_builder_create(x->arena);

	dif_emit(b, dif_idx(DIF_OP_SETX, dif_int(b, PROG_STACK(frames, 0)), 1));
	dif_emit(b, dif_rrr(DIF_OP_RET, 0, 0, 1));
	return dif_builder_finish(b, gx_s64);
}

/* An action that counts by keys of these kinds. */
static struct prog_act *count_by(struct gx *x, struct prog_clause *c, uint32_t nkeys,
				 const enum datum_kind *kinds, struct difo *const *keys)
{
	struct prog_agg *agg = gx_agg(x, AGGFUNC_COUNT, nkeys);
	struct prog_act *act = gx_act(x, c, ACT_AGG, keys[0], kinds[0]);

	for (uint32_t k = 0; k < nkeys; k++) {
		agg->key_kinds[k] = kinds[k];
		agg->key_types[k] = kinds[k] == DATUM_STRING ? gx_string : gx_s64;
	}
	act->agg = agg;
	act->args = ARENA_NEW_N(x->arena, struct difo *, nkeys);
	act->arg_kinds = ARENA_NEW_N(x->arena, enum datum_kind, nkeys);
	for (uint32_t k = 0; k < nkeys; k++) {
		act->args[k] = keys[k];
		act->arg_kinds[k] = kinds[k];
	}
	act->nargs = nkeys;
	return act;
}

static void test_areas(void)
{
	struct gx *x = gx_create();
	struct prog_clause *c = gx_clause(x, 2);
	const enum datum_kind kinds[] = {DATUM_STRING};
	struct difo *const keys[] = {joined(x)};
	const struct mach *m;

	gx_act(x, c, ACT_TRACE, joined(x), DATUM_STRING);
	gx_var(x, "t", DIF_SCOPE_LOCAL, gx_string);
	count_by(x, c, 1, kinds, keys);
	gx_finish(x);
	m = x->mach;
	ok(m->save_off >= sizeof(struct rt_mach) && m->save_off < m->kaddr_off &&
		   m->kaddr_off < m->spill_off &&
		   m->spill_off + 8 * m->spill_nslots <= m->key_off &&
		   m->key_off + m->key_size <= m->zero_off &&
		   m->zero_off + m->zero_size <= m->this_off &&
		   m->this_off + x->layout->this_size <= m->rec_off &&
		   m->rec_off + m->rec_size <= m->size,
	   "areas do not overlap");
	ok(m->zero_size >= elem_map_value_size(&x->layout->agg_maps[0], x->layout->opts.ncpus),
	   "enough zeros for a new element");
	ok(m->rec_size >= x->layout->clauses[0].max_size, "room for a record");
	ok(m->scratch_size >= 8192, "scratch memory");
	is_int(m->stack_nslots, 0, "no stacks");
	gx_destroy(x);
}

static void test_stacks(void)
{
	struct gx *x = gx_create();
	const enum datum_kind kinds[] = {DATUM_STACK, DATUM_USTACK};
	struct difo *const keys[] = {stack_of(x, 7), stack_of(x, 30)};
	const struct mach *m;

	count_by(x, gx_clause(x, 1), 2, kinds, keys);
	gx_finish(x);
	m = x->mach;
	is_int(m->stack_nslots, 2, "a slot for each stack of a key");
	is_int(m->stack_size, sizeof(struct rt_stack) + stack_bytes(30), "as large as the largest");
	ok(m->stack_stride >= m->stack_size + RT_STACK_BLOCK &&
		   m->stack_stride % RT_STACK_BLOCK == 0,
	   "whole blocks, one to spare");
	ok(m->stack_off + 2 * m->stack_stride <= m->size, "in the machine state");
	gx_destroy(x);
}

static uint32_t slots_of(const struct gx *x, const struct prog_var *v)
{
	return mach_slots_off(x->mach, x->layout, layout_var(x->layout, v->scope, v->id));
}

static void removes(struct gx *x, const struct prog_var *v)
{
	struct dif_builder *b = dif_builder_create(x->arena);
	enum dif_op op = v->scope == DIF_SCOPE_THREAD ? DIF_OP_STTAA : DIF_OP_STGAA;

	for (uint32_t k = 0; k < v->nkeys; k++)
		dif_emit(b, dif_rrr(DIF_OP_PUSHTV, 0, 0, 0));
	dif_emit(b, dif_idx(op, v->id, 0));
	dif_emit(b, dif_rrr(DIF_OP_RET, 0, 0, 0));
	gx_note(b, v);
	(void)gx_act(x, gx_clause(x, 1), ACT_EXPR, dif_builder_finish(b, gx_s64), DATUM_INT);
}

/* Slots are for arrays of numbers with short keys of which elements are removed. */
static void test_slots(void)
{
	struct gx *x = gx_create();
	const struct dif_type keys[] = {gx_s64, gx_s64, gx_s64};
	struct prog_var *kept = gx_array(x, "kept", DIF_SCOPE_GLOBAL, gx_s64, 1, keys);
	struct prog_var *one = gx_array(x, "one", DIF_SCOPE_GLOBAL, gx_s32, 1, keys);
	struct prog_var *two = gx_array(x, "two", DIF_SCOPE_GLOBAL, gx_s64, 2, keys);
	struct prog_var *three = gx_array(x, "three", DIF_SCOPE_GLOBAL, gx_s64, 3, keys);
	struct prog_var *own = gx_array(x, "own", DIF_SCOPE_THREAD, gx_s64, 1, keys);
	struct prog_var *text = gx_array(x, "text", DIF_SCOPE_GLOBAL, gx_string, 1, keys);

	removes(x, one);
	removes(x, two);
	removes(x, three);
	removes(x, own);
	removes(x, text);
	gx_finish(x);
	ok(!slots_of(x, kept), "no element is removed");
	ok(!slots_of(x, three), "long keys");
	ok(!slots_of(x, text), "strings");
	is_int(slots_of(x, one), 64, "a number as key");
	is_int(slots_of(x, two), 64 + RT_SLOTS_SIZE, "two");
	is_int(slots_of(x, own), 64 + 2 * RT_SLOTS_SIZE, "a thread and a number");
	is_int(x->mach->slots_end, 64 + 3 * RT_SLOTS_SIZE, "their end");
	gx_destroy(x);
}

/* An array that dynvarsize makes small has none: its elements are as many as the option says. */
static void test_small(void)
{
	struct gx *x = gx_create();
	const struct dif_type keys[] = {gx_s64};
	struct prog_var *one = gx_array(x, "one", DIF_SCOPE_GLOBAL, gx_s32, 1, keys);

	removes(x, one);
	x->opts.dynvarsize = 1 << 16;
	gx_finish(x);
	is_int(x->mach->slots_end, 0, "small arrays");
	gx_destroy(x);
}

int main(void)
{
	test_areas();
	test_stacks();
	test_slots();
	test_small();
	return tap_done();
}
