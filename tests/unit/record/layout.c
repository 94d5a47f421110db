/* SPDX-License-Identifier: MIT */
/* Layout: records, keys, variables, and how they share maps. */
#include "tap.h"

#include "../bpf/gen_fixture.h"

static struct difo *only(struct gx *x, const char *insn, struct dif_type ret)
{
	struct dif_builder *b = dif_builder_create(x->arena);

	if (strcmp(insn, "execname") == 0)
		dif_emit(b, dif_idx(DIF_OP_LDGS, DIF_VAR_EXECNAME, 1));
	else if (strcmp(insn, "probefunc") == 0)
		dif_emit(b, dif_idx(DIF_OP_LDGS, DIF_VAR_PROBEFUNC, 1));
	else if (strcmp(insn, "pid") == 0)
		dif_emit(b, dif_idx(DIF_OP_LDGS, DIF_VAR_PID, 1));
	else
		dif_emit(b, dif_idx(DIF_OP_SETS, dif_str(b, insn), 1));
	dif_emit(b, dif_rrr(DIF_OP_RET, 0, 0, 1));
	return dif_builder_finish(b, ret);
}

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

static struct layout *make(struct gx *x)
{
	struct prog_vars vars = {x->vars.data, x->vars.len};
	struct prog_aggs aggs = {x->aggs.data, x->aggs.len};

	return layout_create(x->arena, x->clauses.data, x->clauses.len, &vars, &aggs, x->strtab,
			     &x->opts);
}

static void test_difos(struct gx *x)
{
	is_int(difo_is_builtin(only(x, "execname", gx_string)), DIF_VAR_EXECNAME, "execname alone");
	is_int(difo_is_builtin(joined(x)), -1, "a call is not a built-in");
	is_str(difo_is_strconst(only(x, "text", gx_string)), "text", "a constant alone");
	ok(!difo_is_strconst(joined(x)), "a call is not a constant");
}

static void field_is(const struct layout *l, uint32_t act, enum rec_kind kind, uint32_t off,
		     uint32_t size, const char *name)
{
	const struct rec_field *f = &l->clauses[0].acts[act].fields[0];

	ok(f->kind == kind && f->off == off && f->size == size, "%s: kind %d at %u, %u bytes", name,
	   f->kind, f->off, f->size);
}

static void test_records(void)
{
	struct gx *x = gx_create();
	struct prog_clause *c = gx_clause(x, 8);
	struct layout *l;

	test_difos(x);
	gx_act(x, c, ACT_TRACE, only(x, "pid", gx_s8), DATUM_INT);
	gx_act(x, c, ACT_TRACE, only(x, "pid", gx_s64), DATUM_INT);
	gx_act(x, c, ACT_TRACE, only(x, "execname", gx_string), DATUM_STRING);
	gx_act(x, c, ACT_TRACE, only(x, "literal", gx_string), DATUM_STRING);
	gx_act(x, c, ACT_TRACE, joined(x), DATUM_STRING);
	gx_act(x, c, ACT_TRACEMEM, only(x, "pid", gx_s64), DATUM_MEMORY)->memory.size = 20;
	gx_act(x, c, ACT_EXPR, only(x, "pid", gx_s64), DATUM_INT);
	l = make(x);
	field_is(l, 0, REC_INT, 16, 1, "a char comes after the header");
	field_is(l, 1, REC_INT, 24, 8, "8 bytes are aligned");
	field_is(l, 2, REC_COMM, 32, 16, "execname has its natural size");
	field_is(l, 3, REC_STRID, 48, 4, "a literal is an offset in the string table");
	field_is(l, 4, REC_STR, 56, 256, "other strings are in the heap");
	field_is(l, 5, REC_BYTES, 64, 20, "tracemem");
	is_int(l->clauses[0].acts[6].nfields, 0, "an expression records nothing");
	is_int(l->clauses[0].executed_off, 0, "without if everything is executed");
	is_int(l->clauses[0].heap_off, 88, "the heap follows");
	is_int(l->clauses[0].max_size, 88 + 256, "room for every string");
	is_int(l->facts.nstrings, 1, "one of them is made while the probe fires");
	is_int(l->facts.max_tuple, 2, "of two parts");
	ok(strtab_find(l->strtab, "literal", 7, &(uint32_t){0}),
	   "constants are in the string table");
	gx_destroy(x);

	x = gx_create();
	c = gx_clause(x, 80);
	for (int i = 0; i < 70; i++)
		gx_act(x, c, i == 3 ? ACT_BRZ : ACT_TRACE, only(x, "pid", gx_s64), DATUM_INT)
			->target = 70;
	l = make(x);
	is_int(l->clauses[0].executed_off, 16, "if: bits of executed actions");
	field_is(l, 0, REC_INT, 32, 8, "two words for 70 actions");
	gx_destroy(x);
}

static struct difo *stack_of(struct gx *x, uint32_t frames)
{
	struct dif_builder *b = dif_builder_create(x->arena);

	dif_emit(b, dif_idx(DIF_OP_SETX, dif_int(b, PROG_STACK(frames, 0)), 1));
	dif_emit(b, dif_rrr(DIF_OP_RET, 0, 0, 1));
	return dif_builder_finish(b, gx_s64);
}

static void test_stacks(void)
{
	struct gx *x = gx_create();
	struct prog_clause *c = gx_clause(x, 4);
	struct prog_agg *agg = gx_agg(x, AGGFUNC_COUNT, 2);
	struct prog_act *act;
	struct layout *l;

	agg->key_kinds[0] = DATUM_STACK;
	agg->key_kinds[1] = DATUM_USTACK;
	agg->key_types[0] = agg->key_types[1] = gx_s64;
	gx_act(x, c, ACT_STACK, stack_of(x, 5), DATUM_STACK);
	gx_act(x, c, ACT_USTACK, stack_of(x, 1000000), DATUM_USTACK);
	act = gx_act(x, c, ACT_AGG, stack_of(x, 7), DATUM_STACK);
	act->agg = agg;
	act->args = ARENA_NEW_N(x->arena, struct difo *, 2);
	act->args[0] = stack_of(x, 7);
	act->args[1] = stack_of(x, 30);
	act->nargs = 2;
	l = make(x);
	field_is(l, 0, REC_STACK, 16, stack_bytes(5), "a stack is in the heap");
	field_is(l, 1, REC_STACK, 24, stack_bytes(STACK_FRAMES_DEFAULT),
		 "never deeper than the kernel walks");
	is_int(l->clauses[0].max_size,
	       l->clauses[0].heap_off + stack_bytes(5) + stack_bytes(STACK_FRAMES_DEFAULT),
	       "room for both");
	is_int(l->aggs[0].key_size, 16, "two hashes");
	gx_destroy(x);
}

static struct prog_agg *agg_used(struct gx *x, const char *const *keys)
{
	struct prog_agg *agg = gx_agg(x, AGGFUNC_COUNT, 1);

	agg->key_kinds[0] = DATUM_STRING;
	agg->key_types[0] = gx_string;
	for (; *keys; keys++) {
		struct prog_clause *c = gx_clause(x, 1);
		bool is_call = strcmp(*keys, "call") == 0;

		gx_act(x, c, ACT_AGG, is_call ? joined(x) : only(x, *keys, gx_string), DATUM_STRING)
			->agg = agg;
	}
	return agg;
}

static void test_keys(void)
{
	static const struct {
		const char *uses[4];
		enum key_repr repr;
		uint32_t size;
	} cases[] = {
		{{"execname"}, KEY_COMM, 16},	      {{"execname", "execname"}, KEY_COMM, 16},
		{{"probefunc"}, KEY_STRID, 4},	      {{"probefunc", "literal"}, KEY_STRID, 4},
		{{"literal", "other"}, KEY_STRID, 4}, {{"execname", "literal"}, KEY_STRHASH, 8},
		{{"call"}, KEY_STRHASH, 8},	      {{"literal", "call"}, KEY_STRHASH, 8},
	};
	struct gx *x = gx_create();
	struct layout *l;

	for (uint32_t i = 0; i < ARRAY_LEN(cases); i++)
		agg_used(x, cases[i].uses);
	l = make(x);
	for (uint32_t i = 0; i < ARRAY_LEN(cases); i++)
		ok(l->aggs[i].keys[0].repr == cases[i].repr && l->aggs[i].key_size == cases[i].size,
		   "key %s %s", cases[i].uses[0], cases[i].uses[1] ? cases[i].uses[1] : "");
	gx_destroy(x);
}

static void test_aggs(void)
{
	static const struct {
		enum aggfunc func;
		int64_t param[4];
		uint32_t val_size, nbuckets;
		bool is_sparse;
	} cases[] = {
		{AGGFUNC_COUNT, {0}, 8, 0, false},
		{AGGFUNC_AVG, {0}, 16, 0, false},
		{AGGFUNC_STDDEV, {0}, 32, 0, false},
		{AGGFUNC_QUANTIZE, {0}, 127 * 8, 127, false},
		{AGGFUNC_LQUANTIZE, {0, 10, 1}, 12 * 8, 12, false},
		{AGGFUNC_LQUANTIZE, {0, 60000, 1}, 8, 60002, true},
		{AGGFUNC_LLQUANTIZE, {10, 0, 1, 10}, 39 * 8, 39, false},
	};
	struct gx *x = gx_create();
	struct layout *l;

	for (uint32_t i = 0; i < 2 * ARRAY_LEN(cases); i++) {
		struct prog_agg *agg = gx_agg(x, cases[i / 2].func, i % 2);

		memcpy(agg->param, cases[i / 2].param, sizeof(agg->param));
	}
	l = make(x);
	for (uint32_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct agg_layout *k0 = &l->aggs[2 * i], *k1 = &l->aggs[2 * i + 1];

		is_int(k1->val_size, cases[i].val_size, "value");
		is_int(k1->nbuckets, cases[i].nbuckets, "buckets");
		is_int(k1->is_sparse, cases[i].is_sparse, "sparse");
		is_int(k1->key_size, cases[i].is_sparse ? 12 : 8, "key");
		is_int(k0->key_size, cases[i].is_sparse ? 4 : 0, "no key");
		if (!cases[i].is_sparse)
			is_int(k0->touched_off, cases[i].val_size, "touched follows the value");
	}
	gx_destroy(x);
}

static void test_vars(void)
{
	struct gx *x = gx_create();
	const struct dif_type keys[] = {gx_s32, gx_string};
	struct prog_var *a = gx_var(x, "a", DIF_SCOPE_GLOBAL, gx_s8);
	struct prog_var *b = gx_var(x, "b", DIF_SCOPE_GLOBAL, gx_string);
	struct prog_var *c = gx_var(x, "c", DIF_SCOPE_THREAD, gx_s64);
	struct prog_var *d = gx_var(x, "d", DIF_SCOPE_THREAD, gx_string);
	struct prog_var *e = gx_array(x, "e", DIF_SCOPE_THREAD, gx_s32, 2, keys);
	const struct var_layout *vl;
	struct layout *l = make(x);

	is_int(layout_var(l, DIF_SCOPE_GLOBAL, a->id)->off, 0, "a char");
	is_int(layout_var(l, DIF_SCOPE_GLOBAL, b->id)->off, 16, "a string");
	is_int(l->gvars_size, 8 + 8 + 256, "global variables");
	is_int(layout_var(l, DIF_SCOPE_THREAD, c->id)->off, 0, "thread-local number");
	is_int(layout_var(l, DIF_SCOPE_THREAD, d->id)->off, 16,
	       "thread-local string, after its flag");
	is_int(l->tls_size, 16 + 256, "thread-local block");
	vl = layout_var(l, DIF_SCOPE_THREAD, e->id);
	ok(vl->keys[0].off == 8 && vl->keys[1].off == 16 && vl->key_size == 24,
	   "array: thread, number, hash of a string");
	is_int(vl->val_size, 8, "array element");
	ok(!layout_var(l, DIF_SCOPE_GLOBAL, c->id), "ids belong to a scope");
	gx_destroy(x);
}

/* Removes an element of the array: stgaa, or sttaa, of the constant 0. */
/* Elements of one value size are in one array, whatever else there is. */
static void test_keyless(void)
{
	struct gx *x = gx_create();
	static const enum aggfunc funcs[] = {AGGFUNC_COUNT, AGGFUNC_AVG, AGGFUNC_SUM, AGGFUNC_MAX};
	struct layout *l;

	for (uint32_t i = 0; i < ARRAY_LEN(funcs); i++)
		(void)gx_agg(x, funcs[i], 0);
	l = make(x);
	is_int(l->nagg_maps, 2, "two sizes of values");
	ok(l->aggs[0].map == l->aggs[2].map && l->aggs[0].map == l->aggs[3].map &&
		   l->aggs[1].map != l->aggs[0].map,
	   "by size");
	ok(l->aggs[0].elem == 0 && l->aggs[2].elem == 1 && l->aggs[3].elem == 2 &&
		   l->aggs[1].elem == 0,
	   "one element each");
	is_int(l->agg_maps[l->aggs[0].map].nmembers, 3, "as many as there are");
	gx_destroy(x);
}

/* Who shares a hash map is told apart by the first word of the key, and only who shares has it. */
static void test_shared(uint32_t naggs, uint32_t narrays, bool is_any)
{
	struct gx *x = gx_create();
	const struct dif_type keys[] = {gx_s32, gx_string};
	uint32_t bad = 0, nshared = 0;
	struct layout *l;

	for (uint32_t i = 0; i < naggs; i++)
		(void)gx_agg(x, i % 3 ? AGGFUNC_COUNT : AGGFUNC_AVG, 1 + i % 2);
	for (uint32_t i = 0; i < narrays; i++)
		(void)gx_array(x, "a", i % 2 ? DIF_SCOPE_THREAD : DIF_SCOPE_GLOBAL, gx_s32,
			       1 + i % 2, keys);
	l = make(x);
	for (uint32_t i = 0; i < naggs; i++) {
		const struct agg_layout *al = &l->aggs[i];
		const struct elem_map *m = &l->agg_maps[al->map];
		uint32_t from = al->owner ? 8 : 0;

		nshared += al->owner != 0;
		bad += m->key_size < al->key_size || m->val_size < al->val_size ||
		       m->max_entries < al->max_entries || al->keys[0].off != from ||
		       (al->owner != 0) != (m->nmembers > 1) ||
		       m->members[al->owner ? al->owner - 1 : 0] != i;
	}
	for (uint32_t i = 0; i < narrays; i++) {
		const struct var_layout *vl = &l->vars[i];
		const struct elem_map *m = &l->arr_maps[vl->map];

		nshared += vl->owner != 0;
		bad += m->key_size < vl->key_size || m->val_size < vl->val_size ||
		       vl->keys[0].off != (vl->owner ? 8u : 0u) + (i % 2 ? 8 : 0) ||
		       m->members[vl->owner ? vl->owner - 1 : 0] != i;
	}
	ok(!bad, "%u aggregations, %u arrays: places", naggs, narrays);
	ok((nshared > 0) == is_any, "%u share a map", nshared);
	ok(l->nagg_maps + l->narr_maps <= 50, "%u maps", l->nagg_maps + l->narr_maps);
	gx_destroy(x);
}

/* What does not fit in a thread's block is an array without keys, the largest first. */
static void test_thread_block(void)
{
	struct gx *x = gx_create();
	uint32_t nelems = 0;
	struct layout *l;

	for (uint32_t i = 0; i < 300; i++)
		(void)gx_var(x, "s", DIF_SCOPE_THREAD, i % 2 ? gx_string : gx_s64);
	l = make(x);
	is_int(l->vars[1].is_elem, false, "all fit");
	for (uint32_t i = 0; i < 300; i++)
		(void)gx_var(x, "s", DIF_SCOPE_THREAD, i % 2 ? gx_string : gx_s64);
	l = make(x);
	for (uint32_t i = 0; i < l->nvars; i++) {
		nelems += l->vars[i].is_elem;
		if (l->vars[i].is_elem && l->vars[i].var->type.kind != DIF_KIND_STRING)
			nelems += 1000;
	}
	ok(nelems > 50 && nelems < 100, "%u strings do not", nelems);
	ok(l->tls_size > 55000 && l->tls_size < 65280, "the block has %u bytes", l->tls_size);
	gx_destroy(x);
}

int main(void)
{
	test_records();
	test_stacks();
	test_keys();
	test_aggs();
	test_vars();
	test_keyless();
	test_shared(16, 10, false);
	test_shared(100, 0, true);
	test_shared(0, 100, true);
	test_shared(200, 150, true);
	test_thread_block();
	return tap_done();
}
