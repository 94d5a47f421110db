/* SPDX-License-Identifier: MIT */
/*
 * Properties of random DIF: a valid object survives printing and parsing, and executes to an end; a
 * damaged one is refused or executes to an end.
 *
 * Usage: random [SEED [ROUNDS]]; a failure names the seed of its round.
 */
#include "machine.h"

#define MAX_CODE 60

static uint64_t rng;

static uint32_t rnd(uint32_t n)
{
	rng ^= rng >> 12; /* xorshift64* */
	rng ^= rng << 25;
	rng ^= rng >> 27;
	return (uint32_t)((rng * 0x2545f4914f6cdd1dull) >> 32) % n;
}

/* ---- valid objects --------------------------------------------------------------------------- */

static struct dif_type random_type(void)
{
	static const struct dif_type types[] = {
		{DIF_KIND_CTF, 1, 0, true, 8},
		{DIF_KIND_CTF, 1, 0, true, 4},
		{DIF_KIND_CTF, 1, 0, false, 2},
		{DIF_KIND_CTF, 7, 0, true, 1},
		{DIF_KIND_STRING, 15, DIF_TF_BYREF, false, 16},
		{DIF_KIND_CTF, 5, DIF_TF_BYREF, false, 24},
		{DIF_KIND_CTF, 5, DIF_TF_BYUREF, false, 12},
	};

	return types[rnd(ARRAY_LEN(types))];
}

static uint64_t random_int(void)
{
	static const uint64_t some[] = {0,	    1,	  2,	      7,     8,		63,
					64,	    255,  256,	      65536, INT64_MAX, 1ull << 63,
					UINT64_MAX, KMEM, KMEM + 500, UMEM,  UMEM + 509};

	return rnd(3) ? some[rnd(ARRAY_LEN(some))]
		      : (uint64_t)rnd(UINT32_MAX) << 32 | rnd(UINT32_MAX);
}

static void random_tables(struct difo *d, struct arena *a)
{
	struct strbuf strs = {0};

	d->ints_len = 1 + rnd(6);
	d->ints = ARENA_NEW_N(a, uint64_t, d->ints_len);
	for (uint32_t i = 0; i < d->ints_len; i++)
		d->ints[i] = random_int();
	for (uint32_t i = 0, n = 1 + rnd(4); i < n; i++) {
		for (uint32_t c = 0, len = rnd(20); c < len; c++)
			strbuf_addc(&strs, rnd(4) ? "/.a,{[\"1:"[rnd(9)] : (char)(1 + rnd(255)));
		strbuf_addc(&strs, '\0');
	}
	d->strs_size = (uint32_t)strs.len;
	d->strs = arena_memdup(a, strs.data, strs.len);
	strbuf_deinit(&strs);
	d->vars_len = 8;
	d->vars = ARENA_NEW_N(a, struct dif_var, d->vars_len);
	for (uint32_t i = 0; i < d->vars_len;
	     i++) { /* every scope and kind there is, and two more */
		struct dif_var *v = &d->vars[i];

		v->name = arena_printf(a, "v%u \"\\\xe4", i);
		v->id = DIF_VAR_USER + i;
		v->scope = (uint8_t)(i % 3);
		v->kind = i >= 6 || v->scope == DIF_SCOPE_LOCAL ? DIF_VAR_SCALAR : i / 3;
		v->flags = (uint8_t)rnd(4);
		v->type = random_type();
	}
	d->ret = random_type();
}

/* A variable with the scope and kind of the instruction. */
static uint32_t random_var(const struct difo *d, enum dif_op op)
{
	bool is_array = op >= DIF_OP_LDGAA && op <= DIF_OP_STTAA;
	uint8_t scope =
		op == DIF_OP_LDTS || op == DIF_OP_STTS || op == DIF_OP_LDTAA || op == DIF_OP_STTAA
			? DIF_SCOPE_THREAD
		: op == DIF_OP_LDLS || op == DIF_OP_STLS ? DIF_SCOPE_LOCAL
							 : DIF_SCOPE_GLOBAL;

	if (op == DIF_OP_LDGS && rnd(2))
		return DIF_VAR_PID;
	for (;;) {
		const struct dif_var *v = &d->vars[rnd(d->vars_len)];

		if (v->scope == scope && (v->kind == DIF_VAR_ARRAY) == is_array)
			return v->id;
	}
}

/* Subroutines that are interpreted come first, since most of the others only fault. */
static uint32_t random_subr(void)
{
	uint32_t s = rnd(56);

	while (!dif_subr_is_interpreted(s) && rnd(4))
		s = rnd(56);
	return s;
}

static dif_insn random_insn(const struct difo *d, uint32_t at)
{
	uint32_t r1 = rnd(8), r2 = rnd(8), rs = rnd(8), rd = 1 + rnd(7);
	enum dif_op op;

	do
		op = (enum dif_op)(1 + rnd(77));
	while (op == DIF_OP_LDTA || (op == DIF_OP_RET && rnd(8)));
	switch ((int)dif_op_form(op)) {
	case DIF_FORM_NONE: return dif_rrr(op, 0, 0, 0);
	case DIF_FORM_RRR: return dif_rrr(op, r1, r2, rd);
	case DIF_FORM_RR:
	case DIF_FORM_LOAD: return dif_rrr(op, r1, 0, rd);
	case DIF_FORM_CMP: return dif_rrr(op, r1, r2, 0);
	case DIF_FORM_TST: return dif_rrr(op, r1, 0, 0);
	case DIF_FORM_LABEL: return dif_branch(op, at + 1 + rnd(MIN(4u, d->code_len - at - 1)));
	case DIF_FORM_STORE: return dif_rrr(op, r1, 0, rs);
	case DIF_FORM_RET: return dif_rrr(op, 0, 0, rs);
	case DIF_FORM_SETX: return dif_idx(op, rnd(d->ints_len), rd);
	case DIF_FORM_SETS: return dif_idx(op, rnd(d->strs_size), rd);
	case DIF_FORM_LDA: return dif_rrr(op, rnd(3), r2, rd);
	case DIF_FORM_LDV: return dif_idx(op, random_var(d, op), rd);
	case DIF_FORM_STV: {
		uint32_t id = random_var(d, op);

		return dif_idx(op, id == DIF_VAR_PID ? DIF_VAR_USER : id, rs);
	}
	case DIF_FORM_CALL: return dif_idx(op, random_subr(), rd);
	case DIF_FORM_PUSHTR: return dif_rrr(op, rnd(2), r2, rs);
	case DIF_FORM_PUSHTV: return dif_rrr(op, rnd(2), 0, rs);
	default: return dif_rrr(DIF_OP_COPYS, r1, r2, rs);
	}
}

static struct difo *random_difo(struct arena *a)
{
	struct difo *d = ARENA_NEW(a, struct difo);

	random_tables(d, a);
	d->code_len = 2 + rnd(MAX_CODE - 2); /* fewer than DIF_MAX_TUPLE pushes */
	d->code = ARENA_NEW_N(a, dif_insn, d->code_len);
	d->code[0] = dif_rrr(DIF_OP_TST, rnd(8), 0, 0); /* flags are defined from here on */
	for (uint32_t i = 1; i < d->code_len - 1; i++)
		d->code[i] = random_insn(d, i);
	d->code[d->code_len - 1] = dif_rrr(DIF_OP_RET, 0, 0, rnd(8));
	return d;
}

/* ---- properties ------------------------------------------------------------------------------ */

static bool same_type(const struct dif_type *a, const struct dif_type *b)
{
	return a->kind == b->kind && a->ckind == b->ckind && a->flags == b->flags &&
	       a->is_signed == b->is_signed && a->size == b->size;
}

static bool same_vars(const struct difo *a, const struct difo *b)
{
	if (a->vars_len != b->vars_len)
		return false;
	for (uint32_t i = 0; i < a->vars_len; i++) {
		const struct dif_var *x = &a->vars[i], *y = &b->vars[i];

		if (strcmp(x->name, y->name) != 0 || x->id != y->id || x->kind != y->kind ||
		    x->scope != y->scope || x->flags != y->flags || !same_type(&x->type, &y->type))
			return false;
	}
	return true;
}

static bool same_difo(const struct difo *a, const struct difo *b)
{
	return a->code_len == b->code_len && a->ints_len == b->ints_len &&
	       a->strs_size == b->strs_size &&
	       memcmp(a->code, b->code, a->code_len * sizeof(*a->code)) == 0 &&
	       (!a->ints_len || memcmp(a->ints, b->ints, a->ints_len * sizeof(*a->ints)) == 0) &&
	       (!a->strs_size || memcmp(a->strs, b->strs, a->strs_size) == 0) && same_vars(a, b) &&
	       same_type(&a->ret, &b->ret);
}

static bool is_valid(const struct difo *d, uint32_t max_regs)
{
	struct err *e = difo_verify(d, max_regs);
	bool good = !e;

	err_destroy(e);
	return good;
}

/* The result makes sense: a value, or a fault at an instruction of the object. */
static bool runs(struct world *w, const struct difo *d)
{
	struct dif_result r;

	dif_machine_begin_firing(w->m, rnd(3));
	r = dif_run(w->m, d);
	if (!r.fault)
		return r.offset == 0 && r.fault_value == 0;
	return r.fault <= DIF_FAULT_BADINDEX && r.offset % 4 == 0 && r.offset / 4 < d->code_len &&
	       r.value == 0;
}

static bool survives_text(struct world *w, const struct difo *d)
{
	struct strbuf text = {0};
	struct difo *again = NULL;
	struct err *e;
	bool good;

	difo_print(d, &text);
	strbuf_clear(&text);
	difo_print_asm(d, &text);
	e = difo_parse(w->arena, strbuf_text(&text), &again);
	good = !e && same_difo(d, again);
	if (!good)
		printf("# %s\n", e ? err_text(e) : "differs");
	err_destroy(e);
	strbuf_deinit(&text);
	return good;
}

/* Flips bits of instructions; what the verifier still accepts must run. Returns false if it does
 * not. */
static bool survives_damage(struct world *w, struct difo *d, uint32_t *accepted)
{
	for (uint32_t i = 0, n = 1 + rnd(3); i < n; i++)
		d->code[rnd(d->code_len)] ^= 1u << rnd(32);
	if (!survives_text(w, d))
		return false;
	if (!is_valid(d, DIF_MAX_REGS))
		return true;
	++*accepted;
	return runs(w, d);
}

/* Words without any order. */
static bool survives_noise(struct world *w, uint32_t *accepted)
{
	struct difo *d = random_difo(w->arena);

	for (uint32_t i = 0; i < d->code_len; i++)
		d->code[i] =
			rnd(3) ? (1 + rnd(80)) << 24 | (rnd(4) ? rnd(4) << 16 | rnd(4) << 8 | rnd(4)
							       : rnd(1 << 24))
			       : rnd(UINT32_MAX);
	if (rnd(2))
		d->code[d->code_len - 1] = dif_rrr(DIF_OP_RET, 0, 0, 1);
	if (rnd(4) == 0) {
		struct dif_var *v = &d->vars[rnd(d->vars_len)];

		*(uint8_t *)((char *)v + offsetof(struct dif_var, kind) + rnd(3)) =
			(uint8_t)rnd(256);
		v->type.size = rnd(3) ? rnd(32) : rnd(UINT32_MAX);
		v->type.flags = (uint8_t)rnd(5);
	}
	if (!is_valid(d, DIF_MAX_REGS))
		return true;
	++*accepted;
	return runs(w, d);
}

/* Changes bytes of the text. */
static bool survives_typing(struct world *w, const struct difo *d, uint32_t *accepted)
{
	struct strbuf text = {0};
	struct difo *again = NULL;
	struct err *e;
	bool good = true;

	difo_print_asm(d, &text);
	for (uint32_t i = 0, n = 1 + rnd(4); i < n; i++)
		text.data[rnd((uint32_t)text.len)] =
			rnd(2) ? (char)rnd(256) : "0123456789rx\n\",[]"[rnd(18)];
	e = difo_parse(w->arena, text.data, &again);
	if (!e && is_valid(again, DIF_MAX_REGS)) {
		++*accepted;
		good = survives_text(w, again) && runs(w, again);
	}
	err_destroy(e);
	strbuf_deinit(&text);
	return good;
}

int main(int argc, char **argv)
{
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 20240917;
	uint32_t rounds = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 0) : 4000;
	uint32_t damaged = 0, noise = 0, typed = 0, valid = 0;
	struct dif_machine_opts opts = {.strsize = 16, .scratch_size = 256, .dynvarsize = 2000};
	bool good = true;

	for (uint32_t i = 0; i < rounds && good; i += 100) {
		struct world w;

		world_init(&w, &opts);
		rng = seed + i + 1;
		for (uint32_t n = 0; n < KMEM_SIZE; n++)
			w.kmem[n] = w.umem[n] = rnd(5) ? (uint8_t)('a' + rnd(26)) : 0;
		for (uint32_t n = 0; n < 100 && good; n++) {
			struct difo *d, *copy;

			rng = (seed + i + n + 1) * 0x9e3779b97f4a7c15ull;
			d = random_difo(w.arena);
			valid += is_valid(d, 8);
			good = is_valid(d, 8) && survives_text(&w, d) && runs(&w, d);
			copy = ARENA_NEW(w.arena, struct difo);
			*copy = *d;
			copy->code = arena_memdup(w.arena, d->code, d->code_len * sizeof(*d->code));
			good = good && survives_damage(&w, copy, &damaged) &&
			       survives_noise(&w, &noise) && survives_typing(&w, d, &typed);
			if (!good)
				printf("# seed %llu\n", (unsigned long long)(seed + i + n));
		}
		world_deinit(&w);
	}
	ok(good, "%u random objects: text round trip, execution, damage", rounds);
	ok(valid == rounds, "all %u were valid", valid);
	ok(damaged > rounds / 20, "%u were still valid with flipped bits", damaged);
	ok(noise > 0, "%u of noise were valid", noise);
	ok(typed > rounds / 100, "%u were still valid with changed text", typed);
	return tap_done();
}
