/* SPDX-License-Identifier: MIT */
/*
 * Aggregations: builds the key, looks the element up, updates it in place (layout.h).
 *
 * Registers while the value is updated: r0 the value in the map, r6 the argument or bucket number,
 * r8 the increment when there is one.
 */
#include "bpf/gen.h"

#define UNKNOWN_OFFSET UINT32_MAX /* -1 */

static const struct agg_layout *agg_layout_of(const struct gen *g, const struct prog_act *act)
{
	return &g->l->aggs[act->agg->id - 1];
}

/* ---- key ------------------------------------------------------------------------------------ */

static void rt_check(struct gen *g, uint32_t action)
{
	struct ra_loc none = {0};

	gen_mach_load(g, 4, R1, offsetof(struct rt_mach, fault) + offsetof(struct rt_fault, kind));
	em_jmp_imm(&g->e, BPF_JNE, R1, 0, gen_fault(g, 0, action, UNKNOWN_OFFSET, none));
}

static void key_strhash(struct gen *g, uint32_t off, uint32_t k, const struct difo *d,
			uint32_t action)
{
	gen_difo(g, d, action);
	/* the text is needed again if the key is new */
	gen_mach_store(g, 8, g->mach->kaddr_off + 8 * k, R0);
	em_mov(&g->e, R2, R0);
	gen_rt(g, "rt_strhash");
	rt_check(g, action);
	gen_mach_store(g, 8, off, R0);
}

/* The slot of the stack area that key k uses. */
static uint32_t stack_slot(const struct agg_layout *al, uint32_t k)
{
	uint32_t slot = 0;

	for (uint32_t i = 0; i < k; i++)
		slot += al->keys[i].repr == KEY_STACK;
	return slot;
}

static void key_part(struct gen *g, const struct agg_layout *al, uint32_t k,
		     const struct prog_act *act)
{
	const struct key_field *f = &al->keys[k];
	const struct difo *d = act->args[k];
	uint32_t off = g->mach->key_off + f->off, action = act->number + k;

	switch (f->repr) {
	case KEY_COMM: gen_comm(g, off); break;
	case KEY_STRID: gen_strid(g, off, d); break;
	case KEY_STRHASH: key_strhash(g, off, k, d, action); break;
	case KEY_STACK:
		if (act->arg_kinds[k] == DATUM_STACKID)
			gen_difo(g, d, action);
		else
			gen_key_stack(g, d, act->arg_kinds[k], stack_slot(al, k));
		gen_mach_store(g, 8, off, R0);
		break;
	case KEY_INT:
		gen_difo(g, d, action);
		gen_mach_store(g, f->size, off, R0);
		break;
	case KEY_BYTES:
		gen_difo(g, d, action);
		if (f->datum == DATUM_BYTES || f->datum == DATUM_STRUCT)
			gen_read_bytes(g, off, f->size, d->ret.flags & DIF_TF_BYUREF, f->size,
				       action);
		else
			gen_user_addr(g, off);
		break;
	}
}

static void key_build(struct gen *g, const struct agg_layout *al, const struct prog_act *act)
{
	uint32_t key_off = g->mach->key_off, pos = 0, end = al->key_size - (al->is_sparse ? 4 : 0);

	if (al->owner) {
		em_store_imm(&g->e, 8, R9, (int32_t)key_off, (int32_t)al->owner);
		pos = 8;
	}
	for (uint32_t k = 0; k < al->nkeys; k++) {
		const struct key_field *f = &al->keys[k];

		gen_key_pad(g, key_off + pos, key_off + f->off);
		key_part(g, al, k, act);
		pos = f->off + f->size;
	}
	gen_key_pad(g, key_off + pos, key_off + end);
	gen_key_pad(g, key_off + al->key_size, key_off + g->l->agg_maps[al->map].key_size);
}

/* ---- argument -> bucket --------------------------------------------------------------------- */

/* r6 = the bucket of the value in r6 */
static void bucket_rt(struct gen *g, const struct prog_agg *agg)
{
	if (agg->func == AGGFUNC_LLQUANTIZE)
		for (uint32_t k = 0; k < ARRAY_LEN(agg->param); k++)
			em_store_imm(&g->e, 8, R9, (int32_t)(offsetof(struct rt_mach, tmp) + 8 * k),
				     (int32_t)agg->param[k]);
	em_mov(&g->e, R2, R6);
	gen_rt(g, agg->func == AGGFUNC_QUANTIZE ? "rt_quantize" : "rt_llquantize");
	em_mov(&g->e, R6, R0);
}

static void bucket_linear(struct gen *g, const struct prog_agg *agg)
{
	struct emitter *e = &g->e;
	int64_t base = agg->param[0], levels = agg->param[1], step = agg->param[2];
	uint32_t low = em_label(e), high = em_label(e), done = em_label(e);

	em_jmp_imm(e, BPF_JSLT, R6, (int32_t)base, low);
	em_imm(e, R1, (uint64_t)(base + levels * step));
	em_jmp_reg(e, BPF_JSGE, R6, R1, high);
	em_alu_imm(e, BPF_SUB, R6, (int32_t)base);
	if (step != 1)
		em_alu_imm(e, BPF_DIV, R6, (int32_t)step);
	em_alu_imm(e, BPF_ADD, R6, 1);
	em_ja(e, done);
	em_here(e, high);
	em_imm(e, R6, (uint64_t)levels + 1);
	em_ja(e, done);
	em_here(e, low);
	em_imm(e, R6, 0);
	em_here(e, done);
}

/* ---- updates: r0 = address of the value ----------------------------------------------------- */

struct update {
	int32_t off;
	int reg; /* the register to add, 0 = imm */
	int32_t imm;
};

/* *(u64 *)(r0 + off) += reg or imm; destroys r1 */
static void value_add(struct gen *g, struct update u)
{
	struct emitter *e = &g->e;

	if (g->u->can_nest) {
		if (!u.reg)
			em_imm(e, R1, (uint64_t)u.imm);
		em_atomic(e, BPF_ADD, R0, (int16_t)u.off, u.reg ? u.reg : R1);
		return;
	}
	em_load(e, 8, R1, R0, u.off);
	if (u.reg)
		em_alu_reg(e, BPF_ADD, R1, u.reg);
	else
		em_alu_imm(e, BPF_ADD, R1, u.imm);
	em_store(e, 8, R0, u.off, R1);
}

static void update_count(struct gen *g, const struct agg_layout *al)
{
	value_add(g, (struct update){.imm = 1});
}

static void update_sum(struct gen *g, const struct agg_layout *al)
{
	value_add(g, (struct update){.reg = R6});
}

static void update_avg(struct gen *g, const struct agg_layout *al)
{
	value_add(g, (struct update){.imm = 1});
	value_add(g, (struct update){.off = 8, .reg = R6});
}

/*
 * Minimum or maximum, stored xor the neutral element, so that zero bytes mean no value. An
 * interrupt may change the value in between: it is exchanged only if it is still the compared one,
 * and once more if not.
 */
static void extreme_update(struct gen *g, uint64_t neutral, int keep)
{
	struct emitter *e = &g->e;
	uint32_t done = em_label(e);

	em_imm(e, R3, neutral);
	em_mov(e, R4, R6);
	em_alu_reg(e, BPF_XOR, R4, R3);
	em_mov(e, R5, R0);
	for (uint32_t try = 0; try < (g->u->can_nest ? 2 : 1); try++) {
		em_load(e, 8, R0, R5, 0);
		em_mov(e, R1, R0);
		em_alu_reg(e, BPF_XOR, R1, R3);
		em_jmp_reg(e, keep, R1, R6, done);
		if (!g->u->can_nest) {
			em_store(e, 8, R5, 0, R4);
			break;
		}
		em_mov(e, R2, R0);
		em_atomic(e, BPF_CMPXCHG, R5, 0, R4);
		em_jmp_reg(e, BPF_JEQ, R0, R2, done);
	}
	em_here(e, done);
}

static void update_min(struct gen *g, const struct agg_layout *al)
{
	extreme_update(g, INT64_MAX, BPF_JSLE);
}

static void update_max(struct gen *g, const struct agg_layout *al)
{
	extreme_update(g, (uint64_t)INT64_MIN, BPF_JSGE);
}

/*
 * r3 = low half, r2 = high half of r6 squared; destroys r1, r4:
 * (a * 2^32 + b)^2 = a^2 * 2^64 + 2ab * 2^32 + b^2
 */
static void value_square(struct gen *g)
{
	struct emitter *e = &g->e;
	uint32_t positive = em_label(e), no_carry = em_label(e);

	em_mov(e, R1, R6);
	em_jmp_imm(e, BPF_JSGE, R1, 0, positive);
	em_neg(e, R1);
	em_here(e, positive);
	em_mov(e, R2, R1);
	em_alu_imm(e, BPF_RSH, R2, 32); /* a, at most 2^31 */
	em_mov32(e, R1, R1);		/* b */
	em_mov(e, R4, R2);
	em_alu_reg(e, BPF_MUL, R4, R1);
	em_alu_imm(e, BPF_LSH, R4, 1); /* 2ab, below 2^64 */
	em_alu_reg(e, BPF_MUL, R2, R2);
	em_alu_reg(e, BPF_MUL, R1, R1);
	em_mov(e, R3, R4);
	em_alu_imm(e, BPF_RSH, R4, 32);
	em_alu_reg(e, BPF_ADD, R2, R4);
	em_alu_imm(e, BPF_LSH, R3, 32);
	em_alu_reg(e, BPF_ADD, R3, R1);
	em_jmp_reg(e, BPF_JGE, R3, R1, no_carry);
	em_alu_imm(e, BPF_ADD, R2, 1);
	em_here(e, no_carry);
}

static void update_stddev(struct gen *g, const struct agg_layout *al)
{
	struct emitter *e = &g->e;
	uint32_t no_carry = em_label(e);

	update_avg(g, al);
	value_square(g);
	if (g->u->can_nest) {
		em_mov(e, R1, R3);
		em_atomic(e, BPF_ADD | BPF_FETCH, R0, 16, R1); /* r1 = the earlier value */
		em_alu_reg(e, BPF_ADD, R1, R3);
	} else {
		em_load(e, 8, R1, R0, 16);
		em_alu_reg(e, BPF_ADD, R1, R3);
		em_store(e, 8, R0, 16, R1);
	}
	em_jmp_reg(e, BPF_JGE, R1, R3, no_carry);
	em_alu_imm(e, BPF_ADD, R2, 1);
	em_here(e, no_carry);
	value_add(g, (struct update){.off = 24, .reg = R2});
}

static void update_histogram(struct gen *g, const struct agg_layout *al)
{
	struct emitter *e = &g->e;

	if (!al->is_sparse) {
		em_mov(e, R1, R6);
		em_alu_imm(e, BPF_LSH, R1, 3);
		em_alu_reg(e, BPF_ADD, R0, R1);
	}
}

static void update_live(struct gen *g, const struct agg_layout *al)
{
	gen_live_follow(g, al);
}

static void bucket_none(struct gen *g, const struct prog_agg *agg)
{
}

static const struct agg_gen {
	void (*bucket)(struct gen *g, const struct prog_agg *agg);
	void (*update)(struct gen *g, const struct agg_layout *al);
} agg_gens[] = {
#define AGGFUNC(id, name, proto, words, update, bucket, ...)                                       \
	[AGGFUNC_##id] = {bucket_##bucket, update_##update},
#include "dif/aggfuncs.def"
};

/* ---- lookup --------------------------------------------------------------------------------- */

/* For the first use of a key: inserts a zeroed element, and returns with its address in r0. */
static void emit_insert(struct gen *g, const struct cold *c)
{
	struct emitter *e = &g->e;
	const struct prog_act *act = c->arg;
	const struct agg_layout *al = agg_layout_of(g, act);
	uint32_t drop = em_label(e), map = MAP_REF(MAP_AGG, al->map);

	for (uint32_t k = 0; k < al->nkeys; k++) {
		bool is_stack = al->keys[k].repr == KEY_STACK;

		if (!is_stack && al->keys[k].repr != KEY_STRHASH)
			continue;
		if (is_stack && act->arg_kinds[k] == DATUM_STACKID)
			continue; /* it was stored when it became a value */
		if (is_stack)
			em_imm(e, R2, stack_slot(al, k));
		else
			gen_mach_load(g, 8, R2, g->mach->kaddr_off + 8 * k);
		gen_mach_load(g, 8, R3, g->mach->key_off + al->keys[k].off);
		gen_rt(g, is_stack ? "rt_keystack" : "rt_keystr");
		if (!is_stack)
			rt_check(g, act->number + k);
		em_jmp_imm(e, BPF_JEQ, R0, 0, drop);
	}
	gen_map_and_key(g, map);
	em_addr(e, R3, R9, g->mach->zero_off);
	em_imm(e, R4, BPF_NOEXIST);
	em_helper(e, BPF_FUNC_map_update_elem);
	gen_lookup(g, map);
	em_jmp_imm(e, BPF_JNE, R0, 0, c->back);
	em_here(e, drop);
	if (act->agg->func == AGGFUNC_LIVE)
		gen_live_replaced(g);
	gen_count(g, offsetof(struct rt_cpu, agg_drops));
	em_ja(e, c->action);
}

/* r0 = this CPU's state in the value at r0; destroys r1 */
static void slot_find(struct gen *g, const struct elem_map *m, uint32_t done)
{
	struct emitter *e = &g->e;

	gen_mach_load(g, 4, R1, offsetof(struct rt_mach, cpu));
	em_jmp_imm(e, BPF_JGE, R1, (int32_t)g->env->ncpus, done);
	em_alu_imm(e, BPF_MUL, R1, (int32_t)m->slot_size);
	em_alu_reg(e, BPF_ADD, R0, R1);
	if (m->slot_off)
		em_alu_imm(e, BPF_ADD, R0, (int32_t)m->slot_off);
}

/* r0 = the state to which this CPU adds; jumps to done when there is none. */
static void agg_lookup(struct gen *g, const struct agg_layout *al, const struct prog_act *act,
		       uint32_t done)
{
	struct emitter *e = &g->e;
	uint32_t have = em_label(e), map = MAP_REF(MAP_AGG, al->map);

	if (!al->key_size) {
		gen_lookup_index(g, map, al->elem);
		em_jmp_imm(e, BPF_JEQ, R0, 0, done);
		return;
	}
	gen_lookup(g, map);
	em_jmp_imm(e, BPF_JEQ, R0, 0,
		   gen_cold(g, (struct cold){.emit = emit_insert,
					     .back = have,
					     .action = done,
					     .arg = act}));
	em_here(e, have);
	if (g->l->agg_maps[al->map].slot_size)
		slot_find(g, &g->l->agg_maps[al->map], done);
}

/* r6 = the value, r8 = the increment; true if there is an increment */
static bool args_evaluate(struct gen *g, const struct prog_act *act)
{
	uint32_t k = act->agg->nkeys;
	bool has_incr = act->nargs > k + 1;

	gen_difo(g, act->args[k], act->number + k);
	if (!has_incr) {
		em_mov(&g->e, R6, R0);
		return false;
	}
	em_store(&g->e, 8, R10, FRAME_VAL, R0);
	gen_difo(g, act->args[k + 1], act->number + k + 1);
	em_mov(&g->e, R8, R0);
	em_load(&g->e, 8, R6, R10, FRAME_VAL);
	return true;
}

/* r0-r8: as at the top; jumps to done when there is no room. */
static void agg_update(struct gen *g, const struct prog_act *act, bool has_incr, uint32_t done)
{
	const struct agg_layout *al = agg_layout_of(g, act);
	const struct agg_gen *ag = &agg_gens[act->agg->func];

	agg_lookup(g, al, act, done);
	if (!al->key_size)
		em_store_imm(&g->e, 8, R0, (int32_t)al->touched_off, 1);
	ag->update(g, al);
	if (!aggfunc_words(act->agg->func))
		value_add(g, (struct update){.reg = has_incr ? R8 : 0, .imm = 1});
}

/* ---- in a function -------------------------------------------------------------------------- */

/*
 * The update of a keyed aggregation takes some 40 instructions, half of which are for keys that are
 * new. When several clauses of a unit update it, a global function does, which the kernel verifies
 * once:
 *
 *     u64 update(slot, value, increment)      the key is in the machine state of the slot
 *
 * The function has no machine state that the kernel would take as the key of a map (entry.c), so it
 * looks it up again, in 2 ns.
 */
#define FUNCTION_MIN 3 /* least number of updates in a unit */

bool agg_has_function(const struct gen *g, const struct agg_layout *al)
{
	if (!al->key_size || g->nupdates[al - g->l->aggs] < FUNCTION_MIN)
		return false;
	for (uint32_t k = 0; k < al->nkeys; k++) /* new ones of these may fault */
		if (al->keys[k].repr == KEY_STRHASH || al->keys[k].repr == KEY_STACK)
			return false;
	return true;
}

/* The first action of a clause that updates the aggregation; NULL: none does. */
static const struct prog_act *act_find(const struct unit_clause *ucs, uint32_t n, uint32_t agg_id)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct prog_clause *c = ucs[i].layout->clause;

		for (uint32_t k = 0; k < c->nacts; k++)
			if (c->acts[k].kind == ACT_AGG && c->acts[k].agg->id == agg_id)
				return &c->acts[k];
	}
	return NULL;
}

#define UPDATE_OF(id, has_incr) ((id) << 1 | (has_incr))

static void emit_update(struct gen *g, uint32_t which)
{
	const struct prog_act *act = act_find(g->u->clauses, g->u->nclauses, which >> 1);
	struct emitter *e = &g->e;
	uint32_t done = em_label(e);
	const struct agg_layout *al;

	if (!act)
		act = act_find(g->u->error_clauses, g->u->nerror_clauses, which >> 1);
	al = agg_layout_of(g, act);
	vec_last(&e->code->funcs)->is_global = true;
	vec_last(&e->code->funcs)->nnumbers = 3;
	em_mov(e, R6, R2);
	em_mov(e, R8, R3);
	em_store(e, 4, R10, FRAME_KEY, R1);
	em_addr(e, R2, R10, (uint32_t)FRAME_KEY);
	em_map(e, R1, MAP_REF(MAP_MACH, 0));
	em_helper(e, BPF_FUNC_map_lookup_elem);
	em_jmp_imm(e, BPF_JEQ, R0, 0, done);
	em_mov(e, R9, R0);
	if (!aggfunc_words(act->agg->func) && !al->is_sparse)
		em_jmp_imm(e, BPF_JGE, R6, (int32_t)al->nbuckets, done);
	agg_update(g, act, which & 1, done);
	em_here(e, done);
	em_imm(e, R0, 0);
	em_exit(e);
	gen_flush_cold(g, 0);
}

static void update_call(struct gen *g, const struct prog_act *act, bool has_value, bool has_incr)
{
	struct emitter *e = &g->e;

	gen_mach_load(g, 4, R1, offsetof(struct rt_mach, slot));
	if (has_value)
		em_mov(e, R2, R6);
	else
		em_imm(e, R2, 0);
	if (has_incr)
		em_mov(e, R3, R8);
	else
		em_imm(e, R3, 0);
	em_call_func(e, gen_func(g, "update", emit_update, UPDATE_OF(act->agg->id, has_incr)));
}

void gen_agg(struct gen *g, const struct prog_act *act)
{
	const struct agg_layout *al = agg_layout_of(g, act);
	const struct agg_gen *ag = &agg_gens[act->agg->func];
	struct emitter *e = &g->e;
	uint32_t done = em_label(e);
	bool has_incr = false, has_value = act->nargs > act->agg->nkeys; /* count() has none */

	key_build(g, al, act);
	if (has_value)
		has_incr = args_evaluate(g, act);
	if (!aggfunc_words(act->agg->func)) {
		ag->bucket(g, act->agg);
		em_jmp_imm(e, BPF_JGE, R6, (int32_t)al->nbuckets, done);
		if (al->is_sparse)
			gen_mach_store(g, 4, g->mach->key_off + al->key_size - 4, R6);
	}
	if (agg_has_function(g, al))
		update_call(g, act, has_value, has_incr);
	else
		agg_update(g, act, has_incr, done);
	em_here(e, done);
}
