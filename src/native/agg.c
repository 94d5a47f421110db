/* SPDX-License-Identifier: MIT */
/*
 * Code generation: aggregations. Builds the key on the stack, finds the value, updates it in place.
 *
 * While the value is updated: rax is its address, rdx the argument or the bucket's number, rcx the
 * increment if there is one.
 */
#include "native/gen.h"

static const struct agg_layout *agg_layout_of(const struct ngen *g, const struct prog_act *act)
{
	return &g->l->aggs[act->agg->id - 1];
}

/* ---- keys ------------------------------------------------------------------------------------ */

void ngen_strid(struct ngen *g, const struct difo *d)
{
	const char *s = difo_is_strconst(d);
	struct ra_loc name;
	uint32_t id;

	if (!s) {
		name = builtin_home(g, (uint32_t)difo_is_builtin(d));
		loc_load(g, RAX, &name);
		return;
	}
	if (!strtab_find(g->l->strtab, s, strlen(s), &id))
		BUG("a string constant is not in the session's table");
	x86_imm(&g->x, RAX, id);
}

void ngen_user_addr(struct ngen *g, uint32_t off, const struct difo *d, uint32_t action)
{
	ngen_difo(g, d, action);
	x86_store(&g->x, 8, on_stack(off + 8), RAX);
	ngen_pid_load(g, RAX);
	x86_store(&g->x, 8, on_stack(off), RAX);
}

/* Finds the place of the innermost frame of a language, for the fields of the key. */
static void site_find(struct ngen *g)
{
	x86_load(&g->x, 8, false, RSI, x86_at_fs(0));
	x86_lea(&g->x, RDX, on_stack(g->stack.site));
	ngen_call(g, BLOB_SITE);
}

/* A field that has a part of that place. */
static uint32_t site_part(struct ngen *g, const struct key_field *f, int var, uint32_t next)
{
	uint32_t word = var == DIF_VAR_LFILE ? 0 : 8;

	x86_load(&g->x, 8, false, RAX, on_stack(g->stack.site + word));
	return ngen_key_store(g, g->stack.key, f->off, f->size, next);
}

/* next: where the next field begins. Returns how far the key is written. */
static uint32_t key_part(struct ngen *g, const struct key_field *f, const struct difo *d,
			 uint32_t action, uint32_t next)
{
	int var = difo_is_builtin(d);

	if (var_is_site(var))
		return site_part(g, f, var, next);
	switch (f->repr) {
	case KEY_STRID:
	case KEY_INT:
		if (f->repr == KEY_STRID)
			ngen_strid(g, d);
		else
			ngen_difo(g, d, action);
		return ngen_key_store(g, g->stack.key, f->off, f->size, next);
	case KEY_BYTES:
		ngen_user_addr(g, g->stack.key + f->off, d, action);
		return f->off + f->size;
	case KEY_COMM:
	case KEY_STRHASH:
	case KEY_STACK: break;
	}
	BUG("key of kind %d in the process", (int)f->repr);
}

static void key_build(struct ngen *g, const struct agg_layout *al, const struct prog_act *act)
{
	uint32_t at = g->stack.key, pos = 0;
	uint32_t end = ngen_table_key(g, al->map, g->l->agg_maps[al->map].key_size);

	if (ngen_act_has_site(act))
		site_find(g);
	if (al->owner) {
		x86_store_imm(&g->x, 8, on_stack(at), (int32_t)al->owner);
		pos = 8;
	}
	for (uint32_t k = 0; k < al->nkeys; k++) {
		const struct key_field *f = &al->keys[k];

		ngen_zero(g, at + pos, at + f->off);
		pos = key_part(g, f, act->args[k], act->number + k,
			       k + 1 < al->nkeys ? f[1].off : end);
	}
	/* the number of a sparse histogram's bucket is stored when it is known */
	ngen_zero(g, at + pos, at + end);
}

/* ---- argument -> bucket: rax = the bucket of the value in rax -------------------------------- */

/* The numbers of d-language.md 5.5: 63 is for zero, 64 + k for 2^k, and 62 - k for -2^k. */
static void bucket_power(struct ngen *g)
{
	uint32_t zero = x86_label(&g->x), negative = x86_label(&g->x), done = x86_label(&g->x);

	x86_test(&g->x, RAX, RAX);
	x86_jcc(&g->x, X86_E, zero);
	x86_jcc(&g->x, X86_S, negative);
	x86_bsr(&g->x, RCX, RAX);
	x86_lea(&g->x, RAX, x86_at(RCX, 64));
	x86_jmp(&g->x, done);
	x86_here(&g->x, negative);
	x86_neg(&g->x, RAX);
	x86_bsr(&g->x, RCX, RAX);
	x86_imm(&g->x, RAX, 62);
	x86_alu(&g->x, X86_SUB, RAX, RCX);
	x86_jcc(&g->x, X86_NS, done);
	x86_imm(&g->x, RAX, 0); /* -2^63 */
	x86_jmp(&g->x, done);
	x86_here(&g->x, zero);
	x86_imm(&g->x, RAX, 63);
	x86_here(&g->x, done);
}

static void compare_imm(struct ngen *g, int64_t value)
{
	if (value == (int32_t)value) {
		x86_alu_imm(&g->x, X86_CMP, RAX, (int32_t)value);
		return;
	}
	x86_imm(&g->x, RCX, (uint64_t)value);
	x86_alu(&g->x, X86_CMP, RAX, RCX);
}

static void bucket_linear(struct ngen *g, const int64_t *param)
{
	int64_t base = param[0], levels = param[1], step = param[2];
	uint32_t low = x86_label(&g->x), high = x86_label(&g->x), done = x86_label(&g->x);

	compare_imm(g, base);
	x86_jcc(&g->x, X86_L, low);
	compare_imm(g, base + levels * step);
	x86_jcc(&g->x, X86_GE, high);
	x86_alu_imm(&g->x, X86_SUB, RAX, (int32_t)base);
	if ((step & (step - 1)) == 0) {
		x86_shift(&g->x, X86_SHR, RAX, (uint32_t)__builtin_ctzll((uint64_t)step));
	} else {
		x86_imm(&g->x, RDX, 0);
		x86_imm(&g->x, RCX, (uint64_t)step);
		x86_div(&g->x, RCX, false);
	}
	x86_alu_imm(&g->x, X86_ADD, RAX, 1);
	x86_jmp(&g->x, done);
	x86_here(&g->x, high);
	x86_imm(&g->x, RAX, (uint64_t)levels + 1);
	x86_jmp(&g->x, done);
	x86_here(&g->x, low);
	x86_imm(&g->x, RAX, 0);
	x86_here(&g->x, done);
}

static void bucket_log_linear(struct ngen *g, const int64_t *param)
{
	static const enum x86_reg regs[] = {RSI, RDX, RCX, R8};

	for (uint32_t k = 0; k < ARRAY_LEN(regs); k++)
		x86_imm(&g->x, regs[k], (uint64_t)param[k]);
	x86_mov(&g->x, RDI, RAX);
	x86_call(&g->x, g->t->blob + blob_entries[BLOB_LLQUANTIZE]);
}

static void bucket_find(struct ngen *g, const struct prog_agg *agg)
{
	if (agg->func == AGGFUNC_QUANTIZE)
		bucket_power(g);
	else if (agg->func == AGGFUNC_LQUANTIZE)
		bucket_linear(g, agg->param);
	else
		bucket_log_linear(g, agg->param);
}

/* ---- updates --------------------------------------------------------------------------------- */

/*
 * Minimum or maximum, stored xor the neutral element, so that zero bytes mean no value. It is
 * exchanged if it is still the compared one; else another thread has made progress.
 */
static void extreme_update(struct ngen *g, uint64_t neutral, enum x86_cond keep)
{
	uint32_t again = x86_label(&g->x), done = x86_label(&g->x);

	x86_mov(&g->x, RSI, RAX);
	x86_imm(&g->x, RDI, neutral);
	x86_mov(&g->x, R11, RDX);
	x86_alu(&g->x, X86_XOR, R11, RDI);
	x86_load(&g->x, 8, false, RAX, x86_at(RSI, 0));
	x86_here(&g->x, again);
	x86_mov(&g->x, RCX, RAX);
	x86_alu(&g->x, X86_XOR, RCX, RDI);
	x86_alu(&g->x, X86_CMP, RCX, RDX);
	x86_jcc(&g->x, keep, done);
	x86_lock_cmpxchg(&g->x, 8, x86_at(RSI, 0), R11); /* rax = what was there */
	x86_jcc(&g->x, X86_NE, again);
	x86_here(&g->x, done);
}

static void average_update(struct ngen *g)
{
	x86_lock_add_imm(&g->x, x86_at(RAX, 0), 1);
	x86_lock_add(&g->x, x86_at(RAX, 8), RDX);
}

/* The square has 128 bits: the carry out of the lower half is that of the exchanged addition. */
static void deviation_update(struct ngen *g)
{
	uint32_t positive = x86_label(&g->x), no_carry = x86_label(&g->x);

	average_update(g);
	x86_mov(&g->x, RCX, RAX);
	x86_mov(&g->x, RAX, RDX);
	x86_test(&g->x, RAX, RAX);
	x86_jcc(&g->x, X86_NS, positive);
	x86_neg(&g->x, RAX);
	x86_here(&g->x, positive);
	x86_mul_wide(&g->x, RAX);
	x86_mov(&g->x, RSI, RAX);
	x86_lock_xadd(&g->x, x86_at(RCX, 16), RSI); /* rsi = the word before */
	x86_alu(&g->x, X86_ADD, RSI, RAX);
	x86_jcc(&g->x, X86_AE, no_carry);
	x86_alu_imm(&g->x, X86_ADD, RDX, 1);
	x86_here(&g->x, no_carry);
	x86_lock_add(&g->x, x86_at(RCX, 24), RDX);
}

/* The slot of live() that the address in rsi may own: rcx; its word if it does: rdx. */
static void own_slot_find(struct ngen *g)
{
	const struct blob_plan *p = g->t->plan;
	uint32_t bits = (uint32_t)__builtin_ctz(p->own_slots);

	/* blob_live_own() */
	x86_mov(&g->x, RAX, RSI);
	x86_shift(&g->x, X86_ROR, RAX, 4);
	x86_mov(&g->x, RCX, RAX);
	x86_shift(&g->x, X86_SHR, RCX, 8);
	x86_imm(&g->x, RDX, BLOB_HASH_FACTOR);
	x86_mul(&g->x, RCX, RDX);
	x86_shift(&g->x, X86_SHR, RCX, 64 - bits);
	_Static_assert(BLOB_LIVE_OWN_MIN == 256, "a byte has the number in 4 KB");
	x86_extend(&g->x, 1, false, RAX, RAX);
	x86_alu(&g->x, X86_XOR, RCX, RAX);
	_Static_assert(sizeof(struct blob_live) == 32, "as is shifted");
	x86_shift(&g->x, X86_SHL, RCX, 5);
	x86_lea(&g->x, RCX, x86_at_index(R14, RCX, 1, (int64_t)p->own_off));
	x86_imm(&g->x, RDX, BLOB_LIVE_XOR);
	x86_alu(&g->x, X86_XOR, RDX, RSI);
}

static struct x86_mem slot_field(size_t off)
{
	return x86_at(RCX, (int64_t)off);
}

/* The time of an entry of live(). */
static void live_time_load(struct ngen *g, enum x86_reg dst)
{
	if (!g->l->opts.liveorder) {
		x86_load(&g->x, 8, false, dst, on_stack(g->stack.time));
		return;
	}
	/* behind all times that clauses have read, and before all that they will */
	x86_load(&g->x, 8, false, dst, in_data(offsetof(struct blob_data, order)));
	x86_alu_imm(&g->x, X86_ADD, dst, 1);
}

/* The address owns no slot, or not alone. */
static void live_call_emit(struct ngen *g, const struct ngen_cold *c)
{
	x86_mov(&g->x, R8, R11);
	x86_load(&g->x, 8, false, RDX, on_stack(g->stack.incr));
	live_time_load(g, RCX);
	x86_load(&g->x, 4, false, R9, on_stack(g->stack.cpu));
	ngen_call_rarely(g, BLOB_LIVE);
	x86_jmp(&g->x, c->back);
}

/*
 * Follows the address in the argument as one of the element whose value is at rax: as blob_live(),
 * of which all but the filling of an own slot is left to the function.
 */
static void live_follow(struct ngen *g)
{
	struct ngen_cold call = {.emit = live_call_emit, .back = x86_label(&g->x)};
	uint32_t other = ngen_cold(g, call);

	x86_mov(&g->x, R11, RAX);
	x86_load(&g->x, 8, false, RSI, on_stack(g->stack.val));
	own_slot_find(g);
	x86_alu_imm(&g->x, X86_CMP, RDX, BLOB_LIVE_BUSY);
	x86_jcc(&g->x, X86_BE, other);
	/* the time before the word: of a slot that was taken since then the comparison fails */
	x86_load(&g->x, 8, false, RAX, slot_field(offsetof(struct blob_live, time)));
	x86_alu_load(&g->x, X86_CMP, RDX, slot_field(offsetof(struct blob_live, word)));
	x86_jcc(&g->x, X86_NE, other);
	x86_imm(&g->x, RDI, BLOB_LIVE_WANTED);
	x86_alu(&g->x, X86_CMP, RAX, RDI);
	x86_jcc(&g->x, X86_AE, other);
	x86_imm(&g->x, RDI, BLOB_LIVE_FILLING);
	x86_cmpxchg(&g->x, 8, slot_field(offsetof(struct blob_live, time)), RDI);
	x86_jcc(&g->x, X86_NE, other);
	x86_load(&g->x, 8, false, RDI, on_stack(g->stack.incr));
	x86_store(&g->x, 8, slot_field(offsetof(struct blob_live, bytes)), RDI);
	x86_alu(&g->x, X86_SUB, R11, R14);
	x86_shift(&g->x, X86_SHR, R11, 3);
	x86_store(&g->x, 4, slot_field(offsetof(struct blob_live, elem)), R11);
	live_time_load(g, RDI);
	x86_store(&g->x, 8, slot_field(offsetof(struct blob_live, time)), RDI);
	x86_here(&g->x, call.back);
}

/* There is no room for the element: what was at the address before is not there any more. */
static void live_lost_emit(struct ngen *g, const struct ngen_cold *c)
{
	x86_load(&g->x, 8, false, RSI, on_stack(g->stack.val));
	x86_imm(&g->x, RDX, UINT64_MAX);
	ngen_call_rarely(g, BLOB_DEAD);
	x86_jmp(&g->x, c->back);
}

static void dead_call_emit(struct ngen *g, const struct ngen_cold *c)
{
	x86_imm(&g->x, RDX, UINT64_MAX);
	ngen_call_rarely(g, BLOB_DEAD);
	x86_jmp(&g->x, c->back);
}

/* The address in rsi is not alive any more: as blob_dead() for an own slot. */
static void own_leave(struct ngen *g)
{
	struct ngen_cold call = {.emit = dead_call_emit, .back = x86_label(&g->x)};

	own_slot_find(g);
	x86_load(&g->x, 8, false, RAX, slot_field(offsetof(struct blob_live, time)));
	x86_alu_load(&g->x, X86_CMP, RDX, slot_field(offsetof(struct blob_live, word)));
	x86_jcc(&g->x, X86_NE, ngen_cold(g, call));
	x86_test(&g->x, RAX, RAX);
	x86_jcc(&g->x, X86_S, call.back);
	/* a word of 0 is that of no address: the slot, which nobody has, gets another time */
	x86_cmpxchg(&g->x, 8, slot_field(offsetof(struct blob_live, time)), RDX);
	x86_here(&g->x, call.back);
}

void ngen_dead(struct ngen *g, const struct prog_act *act)
{
	ngen_difo(g, act->args[0], act->number);
	if (act->nargs > 1) {
		x86_store(&g->x, 8, on_stack(g->stack.val), RAX);
		ngen_difo(g, act->args[1], act->number + 1);
		x86_mov(&g->x, RDX, RAX);
		x86_load(&g->x, 8, false, RSI, on_stack(g->stack.val));
	} else {
		x86_mov(&g->x, RSI, RAX);
	}
	if (!g->t->plan->live_off)
		return; /* nothing in the process calls live() */
	if (act->nargs > 1)
		ngen_call(g, BLOB_DEAD);
	else
		own_leave(g);
}

static void value_update(struct ngen *g, const struct agg_layout *al, bool has_incr)
{
	struct x86_mem bucket = al->is_sparse ? x86_at(RAX, 0) : x86_at_index(RAX, RDX, 8, 0);

	switch (al->agg->func) {
	case AGGFUNC_COUNT: x86_lock_add_imm(&g->x, x86_at(RAX, 0), 1); return;
	case AGGFUNC_SUM: x86_lock_add(&g->x, x86_at(RAX, 0), RDX); return;
	case AGGFUNC_MIN: extreme_update(g, INT64_MAX, X86_LE); return;
	case AGGFUNC_MAX: extreme_update(g, (uint64_t)INT64_MIN, X86_GE); return;
	case AGGFUNC_AVG: average_update(g); return;
	case AGGFUNC_STDDEV: deviation_update(g); return;
	case AGGFUNC_LIVE: live_follow(g); return;
	case AGGFUNC_QUANTIZE:
	case AGGFUNC_LQUANTIZE:
	case AGGFUNC_LLQUANTIZE:
		if (has_incr)
			x86_lock_add(&g->x, bucket, RCX);
		else
			x86_lock_add_imm(&g->x, bucket, 1);
		return;
	}
	BUG("aggregating function %d has no code", (int)al->agg->func);
}

/* ---- values ---------------------------------------------------------------------------------- */

#define KEY_WORDS_MAX 4u /* longer keys are left to the function */

/* c->kind: the map; c->action, c->back: labels without and with a value, which is rax then. */
static void value_find_emit(struct ngen *g, const struct ngen_cold *c)
{
	x86_imm(&g->x, RSI, c->kind);
	x86_lea(&g->x, RDX, on_stack(g->stack.key));
	x86_load(&g->x, 4, false, RCX, on_stack(g->stack.cpu));
	ngen_call_rarely(g, BLOB_VALUE);
	x86_test(&g->x, RAX, RAX);
	x86_jcc(&g->x, X86_E, c->action);
	x86_jmp(&g->x, c->back);
}

/* rax = the value of the key; leads to done if there is no room for it. */
static void keyed_find(struct ngen *g, uint32_t map, uint32_t done)
{
	const struct blob_table *t = &g->t->plan->tables[map];
	struct ngen_cold call = {.emit = value_find_emit,
				 .kind = map,
				 .action = done,
				 .back = x86_label(&g->x)};
	uint32_t elsewhere = ngen_cold(g, call), nwords = t->key_size / 8;

	if (nwords > KEY_WORDS_MAX) {
		x86_jmp(&g->x, elsewhere);
		x86_here(&g->x, call.back);
		return;
	}
	ngen_hash(g, g->stack.key, nwords);
	ngen_slot_find(g, t);
	x86_load(&g->x, 8, false, RDX, on_stack(g->stack.cpu));
	x86_mul_imm(&g->x, RDX, RDX, (int32_t)t->cpu_size);
	x86_alu(&g->x, X86_ADD, RCX, RDX);
	/* the word of a slot that is live: BLOB_SLOT_WORD() */
	x86_shift(&g->x, X86_SHL, RAX, 64 - BLOB_SLOT_SHIFT);
	x86_shift(&g->x, X86_SHR, RAX, 64 - BLOB_SLOT_SHIFT);
	x86_imm(&g->x, RDX, BLOB_SLOT_LIVE << BLOB_SLOT_SHIFT);
	x86_alu(&g->x, X86_OR, RAX, RDX);
	x86_alu_load(&g->x, X86_CMP, RAX, x86_at(RCX, 0));
	x86_jcc(&g->x, X86_NE, elsewhere);
	for (uint32_t i = 0; i < nwords; i++) {
		x86_load(&g->x, 8, false, RAX, on_stack(g->stack.key + 8 * i));
		x86_alu_load(&g->x, X86_CMP, RAX, x86_at(RCX, 8 + 8 * i));
		x86_jcc(&g->x, X86_NE, elsewhere);
	}
	x86_lea(&g->x, RAX, x86_at(RCX, t->val_off));
	x86_here(&g->x, call.back);
}

/* rax = the value to which this CPU adds; leads to done if there is no room for a new key. */
static void value_find(struct ngen *g, const struct agg_layout *al, uint32_t done)
{
	const struct blob_table *t = &g->t->plan->tables[al->map];
	bool is_extreme = al->agg->func == AGGFUNC_MIN || al->agg->func == AGGFUNC_MAX;

	if (!al->key_size && !is_extreme) {
		x86_load(&g->x, 8, false, RAX, on_stack(g->stack.cpu));
		x86_mul_imm(&g->x, RAX, RAX, (int32_t)t->cpu_size);
		x86_lea(&g->x, RAX,
			x86_at_index(R14, RAX, 1,
				     (int64_t)(t->off + (uint64_t)al->elem * t->slot_size)));
		return;
	}
	if (al->key_size) {
		keyed_find(g, al->map, done);
		return;
	}
	x86_imm(&g->x, RSI, al->map);
	x86_imm(&g->x, RDX, al->elem);
	x86_load(&g->x, 4, false, RCX, on_stack(g->stack.cpu));
	ngen_call(g, BLOB_CELL);
}

/* Stores the value, and the increment or the bytes of live() if there are any, on the stack. */
static void args_evaluate(struct ngen *g, const struct prog_act *act, bool has_second)
{
	uint32_t k = act->agg->nkeys;

	if (act->nargs <= k)
		return; /* count() */
	ngen_difo(g, act->args[k], act->number + k);
	x86_store(&g->x, 8, on_stack(g->stack.val), RAX);
	if (!has_second)
		return;
	ngen_difo(g, act->args[k + 1], act->number + k + 1);
	x86_store(&g->x, 8, on_stack(g->stack.incr), RAX);
}

void ngen_agg(struct ngen *g, const struct prog_act *act)
{
	const struct agg_layout *al = agg_layout_of(g, act);
	bool is_histogram = !aggfunc_words(act->agg->func), has_second;
	bool is_live = act->agg->func == AGGFUNC_LIVE;
	uint32_t done = x86_label(&g->x);

	has_second = (is_histogram || is_live) && act->nargs > act->agg->nkeys + 1;
	if (al->key_size)
		key_build(g, al, act);
	args_evaluate(g, act, has_second);
	if (is_live && !g->l->opts.liveorder)
		ngen_time(g);
	if (is_histogram) {
		x86_load(&g->x, 8, false, RAX, on_stack(g->stack.val));
		bucket_find(g, act->agg);
		x86_store(&g->x, 8, on_stack(g->stack.val), RAX);
	}
	if (al->is_sparse)
		x86_store(&g->x, 4, on_stack(g->stack.key + al->key_size - 4), RAX);
	value_find(g, al,
		   is_live ? ngen_cold(g, (struct ngen_cold){.emit = live_lost_emit, .back = done})
			   : done);
	if (!al->key_size)
		x86_store_imm(&g->x, 8, x86_at(RAX, al->touched_off), 1);
	if (act->nargs > act->agg->nkeys)
		x86_load(&g->x, 8, false, RDX, on_stack(g->stack.val));
	if (has_second)
		x86_load(&g->x, 8, false, RCX, on_stack(g->stack.incr));
	value_update(g, al, has_second);
	x86_here(&g->x, done);
}
