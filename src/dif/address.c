/* SPDX-License-Identifier: MIT */
/* Follows addresses of D's own memory through the DIF of a program (address.h). */
#include "dif/address.h"

#include "base/hashmap.h"
#include "dif/paths.h"

/* Kinds of values, a set of bits: a value that was never written has none. */
enum {
	IS_ADDRESS = 1 << 0,
	IS_NUMBER = 1 << 1, /* other than 0 */
	/*
	 * A number that was calculated with an address, other than by adding to it. Whether memory
	 * is found there, whether it is 0, or what is found by it as a key, tells of the address.
	 */
	IS_MIXED = 1 << 2,
	/*
	 * An address to which a number was added: only memory of D's own may be looked for there.
	 */
	IS_MOVED = 1 << 3,
};

struct var_key {
	uint32_t scope, id;
};

struct told {
	bool is_told;
	uint32_t span;
	const char *how;
};

struct program {
	struct hashmap *vars; /* struct var_key -> what all values that are stored may be */
	bool has_changed;
	struct told told;
};

/* The state before an instruction. Branches lead forward only. */
struct flow {
	struct paths paths;
	uint32_t at;
	uint8_t tuple[DIF_MAX_TUPLE];
	bool is_text[DIF_MAX_TUPLE]; /* of the tuple: the text at the address is what counts */
	uint32_t depth;
	uint8_t result; /* of all ret */
};

static bool type_is_address(const char *type)
{
	return strcmp(type, "string") == 0 || strchr(type, '*');
}

/* The kinds of the result of a subroutine. */
static uint8_t call_result(uint32_t subr)
{
	switch (subr) {
#define SUBR(id, name, code, result, ...)                                                          \
	case code:                                                                                 \
		return type_is_address(#result) ? IS_ADDRESS : IS_NUMBER;
#include "dif/subrs.def"
	default: return IS_NUMBER;
	}
}

static uint8_t builtin_result(uint32_t id)
{
	switch (id) {
#define BUILTIN(id, name, code, type, ...)                                                         \
	case code:                                                                                 \
		return type_is_address(type) ? IS_ADDRESS : IS_NUMBER;
#define BUILTIN_OTHER(...)
#include "dif/builtins.def"
	default: return IS_NUMBER;
	}
}

static void note_told(struct program *p, const struct flow *f, const char *how)
{
	if (f->paths.is_dead || p->told.is_told || difo_trusts(f->paths.d, f->at))
		return;
	p->told = (struct told){true, f->paths.d->spans ? f->paths.d->spans[f->at] : 0, how};
}

/* ---- variables ------------------------------------------------------------------------------- */

/* Whether the variable's value is in memory of D's own, of which a load gives the address. */
static bool var_is_memory(const struct flow *f, struct var_key key)
{
	const struct dif_var *v = difo_find_var(f->paths.d, (uint8_t)key.scope, key.id);

	return v && dif_type_is_byref(&v->type);
}

static uint8_t var_load(const struct program *p, const struct flow *f, struct var_key key)
{
	if (key.id < DIF_VAR_USER)
		return builtin_result(key.id);
	if (var_is_memory(f, key))
		return IS_ADDRESS;
	return IS_NUMBER | (uint8_t)(uintptr_t)hashmap_find(p->vars, &key, sizeof(key));
}

static void var_store(struct program *p, const struct flow *f, struct var_key key, uint8_t what)
{
	uint8_t old;

	if (f->paths.is_dead || var_is_memory(f, key)) /* what is at the address is copied */
		return;
	old = (uint8_t)(uintptr_t)hashmap_find(p->vars, &key, sizeof(key));
	if (!(what & ~old))
		return;
	hashmap_set(p->vars, &key, sizeof(key), (void *)(uintptr_t)(old | what));
	p->has_changed = true;
}

/* ---- one object ------------------------------------------------------------------------------ */

/* The kinds of the result of a calculation with two values. */
static uint8_t result_kinds(enum dif_op op, uint8_t a, uint8_t b)
{
	uint8_t both = a | b, what = IS_NUMBER | (both & (IS_MIXED | IS_MOVED));

	if (!(both & IS_ADDRESS))
		return what;
	if (op != DIF_OP_ADD && op != DIF_OP_SUB)
		return what | IS_MIXED;
	if ((b & IS_ADDRESS) && (op == DIF_OP_SUB || (a & IS_ADDRESS)))
		what |= IS_MIXED;
	return what | IS_ADDRESS | (a && b ? IS_MOVED : 0);
}

/* Notes a calculated value where memory is accessed, or where it decides. */
static void mixed_check(struct program *p, const struct flow *f, uint8_t what, const char *how)
{
	if (what & IS_MIXED)
		note_told(p, f, how);
}

/* Whether it tells of an address that the value is 0 or not: an address itself never is. */
static bool zero_tells(uint8_t what)
{
	return what & (IS_MIXED | IS_MOVED);
}

/* An address that is compared with another one, or with a number, tells something of it. */
static void compare_step(struct program *p, const struct flow *f, uint8_t a, uint8_t b)
{
	if (((a & IS_ADDRESS) && b) || ((b & IS_ADDRESS) && a) || zero_tells(a | b))
		note_told(p, f, "compared");
}

/* A divisor that is 0 is a fault. */
static void divisor_check(struct program *p, const struct flow *f, enum dif_op op, uint8_t divisor)
{
	bool divides =
		op == DIF_OP_SDIV || op == DIF_OP_UDIV || op == DIF_OP_SREM || op == DIF_OP_UREM;

	if (divides && (divisor & (IS_ADDRESS | IS_MIXED)))
		note_told(p, f, "divided by");
}

static bool is_user_load(enum dif_op op)
{
	return op >= DIF_OP_ULDSB && op <= DIF_OP_ULDX;
}

/*
 * Where memory of the process is loaded, it tells of an address whether something is there, and
 * the fault says where that was not.
 */
static void load_check(struct program *p, const struct flow *f, enum dif_op op, uint8_t at)
{
	if (is_user_load(op) && (at & IS_ADDRESS))
		note_told(p, f, "passed on as a number");
	mixed_check(p, f, at, "calculated with");
}

static void call_check(struct program *p, const struct flow *f, uint32_t subr)
{
	const struct dif_subr_row *row = dif_subr_row(subr);

	for (uint32_t i = 0; i < f->depth; i++)
		if (f->tuple[i] & IS_ADDRESS && !(row && row->addresses >> i & 1))
			note_told(p, f, "passed on as a number");
}

/* A string is a key by its text, which is pushed; other keys are numbers. */
static void tuple_push(struct program *p, struct flow *f, dif_insn insn, uint8_t what)
{
	bool is_text = dif_op_form(DIF_INSN_OP(insn)) == DIF_FORM_PUSHTR &&
		       DIF_INSN_TTYPE(insn) == DIF_TUPLE_STR;

	mixed_check(p, f, what, "calculated with");
	if (f->depth >= DIF_MAX_TUPLE)
		return;
	f->is_text[f->depth] = is_text;
	f->tuple[f->depth++] = what;
}

/* The keys of an element of an array. */
static void keys_check(struct program *p, struct flow *f)
{
	for (uint32_t i = 0; i < f->depth; i++)
		if ((f->tuple[i] & IS_ADDRESS) && !f->is_text[i])
			note_told(p, f, "a key");
	f->depth = 0;
}

static void insn_step(struct program *p, struct flow *f, dif_insn insn)
{
	enum dif_op op = DIF_INSN_OP(insn);
	const struct var_key key = {dif_op_scope(op), DIF_INSN_INDEX(insn)};
	uint8_t *r = f->paths.regs.of, *rd = &r[DIF_INSN_RD(insn)];
	uint8_t r1 = r[DIF_INSN_R1(insn)], r2 = r[DIF_INSN_R2(insn)];

	switch (dif_op_form(op)) {
	case DIF_FORM_RRR:
		divisor_check(p, f, op, r2);
		*rd = result_kinds(op, r1, r2);
		break;
	case DIF_FORM_RR:
		*rd = op == DIF_OP_MOV	 ? r1
		      : op == DIF_OP_NOT ? result_kinds(op, r1, 0)
					 : IS_ADDRESS;
		break;
	case DIF_FORM_LABEL:
		paths_branch(&f->paths, DIF_INSN_LABEL(insn));
		f->paths.is_dead |= op == DIF_OP_BA;
		break;
	case DIF_FORM_SETX:
		*rd = DIF_INSN_INDEX(insn) < f->paths.d->ints_len &&
				      !f->paths.d->ints[DIF_INSN_INDEX(insn)]
			      ? 0
			      : IS_NUMBER;
		break;
	case DIF_FORM_SETS: *rd = IS_ADDRESS; break;
	case DIF_FORM_LDV:
		*rd = var_load(p, f, key);
		if (op == DIF_OP_LDGAA || op == DIF_OP_LDTAA)
			keys_check(p, f);
		break;
	case DIF_FORM_STV:
		if (var_is_memory(f, key))
			mixed_check(p, f, *rd, "calculated with");
		var_store(p, f, key, *rd);
		if (op == DIF_OP_STGAA || op == DIF_OP_STTAA)
			keys_check(p, f);
		break;
	case DIF_FORM_PUSHTR:
	case DIF_FORM_PUSHTV: tuple_push(p, f, insn, *rd); break;
	case DIF_FORM_CALL:
		call_check(p, f, DIF_INSN_INDEX(insn));
		*rd = call_result(DIF_INSN_INDEX(insn));
		f->depth = 0;
		break;
	case DIF_FORM_RET:
		if (!f->paths.is_dead)
			f->result |= *rd;
		f->paths.is_dead = true;
		break;
	case DIF_FORM_LOAD: /* addresses are never stored where a load finds them */
		load_check(p, f, op, r1);
		*rd = IS_NUMBER;
		break;
	case DIF_FORM_LDA: /* r2: the index */
		if (r2 & (IS_ADDRESS | IS_MIXED))
			note_told(p, f, "calculated with");
		*rd = IS_NUMBER;
		break;
	case DIF_FORM_XLATE: *rd = IS_ADDRESS; break;
	case DIF_FORM_NONE:
		if (op == DIF_OP_FLUSHTS)
			f->depth = 0;
		else if (op == DIF_OP_POPTS && f->depth)
			f->depth--;
		break;
	case DIF_FORM_CMP:
		if (op != DIF_OP_SCMP)
			compare_step(p, f, r1, r2);
		mixed_check(p, f, r1 | r2, "compared");
		break;
	case DIF_FORM_STORE:
		mixed_check(p, f, r1 | *rd, "calculated with");
		if (r1 & IS_ADDRESS)
			note_told(p, f, "stored in memory");
		break;
	case DIF_FORM_TST:
		if (zero_tells(r1))
			note_told(p, f, "compared");
		break;
	case DIF_FORM_COPYS: mixed_check(p, f, r1 | r2 | *rd, "calculated with"); break;
	}
	r[0] = 0; /* %r0 is always zero */
}

static uint8_t difo_follow(struct program *p, const struct difo *d)
{
	struct flow f = {.paths.d = d};

	for (; f.at < d->code_len; f.at++) {
		paths_arrive(&f.paths, f.at);
		/* a guard of the system's library reads the kernel, and tells yes or no */
		if (f.at >= d->trusted_len)
			insn_step(p, &f, d->code[f.at]);
	}
	paths_deinit(&f.paths);
	return f.result;
}

/* ---- programs -------------------------------------------------------------------------------- */

static void result_told(struct program *p, const struct difo *d, const char *how)
{
	if (!p->told.is_told)
		p->told = (struct told){true, d->spans ? d->spans[d->code_len - 1] : 0, how};
}

/* Whether the value of an argument of the action gets into a record or aggregation as it is. */
static bool is_data(const struct prog_act *act, uint32_t arg)
{
	const struct difo *d = act->args[arg];

	if (act->kind == ACT_EXPR || act->kind == ACT_BRZ)
		return false;
	if (act->arg_kinds && act->arg_kinds[arg] == DATUM_MEMORY)
		return false;
	return !dif_type_is_byref(&d->ret) && d->ret.kind != DIF_KIND_STRING;
}

static void clause_follow(struct program *p, const struct prog_clause *c)
{
	if (c->pred && zero_tells(difo_follow(p, c->pred)))
		result_told(p, c->pred, "compared");
	for (uint32_t i = 0; i < c->nacts; i++)
		for (uint32_t k = 0; k < c->acts[i].nargs; k++) {
			const struct difo *d = c->acts[i].args[k];

			uint8_t what = difo_follow(p, d);

			if ((what & (IS_ADDRESS | IS_MIXED)) && is_data(&c->acts[i], k))
				result_told(p, d, "recorded");
			else if ((what & IS_MIXED) && c->acts[i].kind != ACT_EXPR)
				result_told(p, d, "calculated with");
			else if (zero_tells(what) && c->acts[i].kind == ACT_BRZ)
				result_told(p, d, "compared");
		}
}

bool addresses_are_told(struct prog_clause *const *clauses, uint32_t nclauses, uint32_t *ret_span,
			const char **ret_how)
{
	struct program p = {.vars = hashmap_create()};

	do {
		p.has_changed = false;
		for (uint32_t i = 0; i < nclauses && !p.told.is_told; i++)
			clause_follow(&p, clauses[i]);
	} while (p.has_changed && !p.told.is_told);
	hashmap_destroy(p.vars);
	*ret_span = p.told.span;
	*ret_how = p.told.how;
	return p.told.is_told;
}
