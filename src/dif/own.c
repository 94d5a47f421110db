/* SPDX-License-Identifier: MIT */
/* Follows constants through the DIF of a program (own.h). */
#include "dif/own.h"

#include "base/hashmap.h"
#include "dif/paths.h"

/*
 * Where a value may come from, a set of bits. A register or variable that was never written is 0 or
 * NULL, which is the empty set.
 */
enum origin {
	OF_TEXT = 1 << 0,   /* a string constant, or made of such */
	OF_NUMBER = 1 << 1, /* a constant number */
	OF_OTHERS = 1 << 2,
};

struct own_texts {
	struct hashmap *vars; /* struct var_key -> origins of all values that are stored */
	bool has_changed;
};

struct var_key {
	uint32_t scope, id;
};

static uint8_t var_origins(const struct own_texts *t, struct var_key key)
{
	return (uint8_t)(uintptr_t)hashmap_find(t->vars, &key, sizeof(key));
}

static void var_store(struct own_texts *t, struct var_key key, uint8_t origins)
{
	uint8_t old = var_origins(t, key);

	if (!(origins & ~old))
		return;
	hashmap_set(t->vars, &key, sizeof(key), (void *)(uintptr_t)(old | origins));
	t->has_changed = true;
}

/* ---- one object ------------------------------------------------------------------------------ */

/*
 * The state before an instruction. Branches lead forward only, so one pass over the code is enough.
 */
struct flow {
	struct paths paths;
	uint8_t tuple[DIF_MAX_TUPLE];
	uint32_t depth;
	uint8_t result; /* of all ret */
};

/* A text is one only if all that it is made of is: NULL as a text is empty. */
static uint8_t as_text(uint8_t origins)
{
	return origins & ~OF_TEXT ? OF_OTHERS : OF_TEXT;
}

static uint8_t call_result(const struct flow *f, uint32_t subr)
{
	switch (subr) {
	case DIF_SUBR_BASENAME:
	case DIF_SUBR_CLEANPATH:
	case DIF_SUBR_DIRNAME:
	case DIF_SUBR_JSON:
	case DIF_SUBR_STRCHR:
	case DIF_SUBR_STRRCHR:
	case DIF_SUBR_STRSTR:
	case DIF_SUBR_SUBSTR:
	case DIF_SUBR_TOLOWER:
	case DIF_SUBR_TOUPPER: return f->depth ? as_text(f->tuple[0]) : OF_OTHERS;
	case DIF_SUBR_STRJOIN: return f->depth > 1 ? as_text(f->tuple[0] | f->tuple[1]) : OF_OTHERS;
	case DIF_SUBR_STRTOK: /* strtok(NULL, ...) goes on with the text of an earlier call */
		return f->depth && f->tuple[0] == OF_TEXT ? OF_TEXT : OF_OTHERS;
	case DIF_SUBR_INET_NTOA:
	case DIF_SUBR_INET_NTOA6:
	case DIF_SUBR_INET_NTOP:
	case DIF_SUBR_LINK_NTOP:
	case DIF_SUBR_LLTOSTR:
	case DIF_SUBR_STRERRNO:
	case DIF_SUBR_STRERROR:
	case DIF_SUBR_STRFLAGS:
	case DIF_SUBR_STRSIGNAL: return OF_TEXT; /* digits and names, whatever the number is */
	default: return OF_OTHERS;
	}
}

static uint8_t setx_result(const struct difo *d, dif_insn insn)
{
	uint32_t i = DIF_INSN_INDEX(insn);

	return i < d->ints_len && !d->ints[i] ? 0 : OF_NUMBER;
}

/*
 * A calculation with constants is one; the address of a constant text, moved, is no text of ours.
 */
static uint8_t origins_calculated(uint8_t origins)
{
	return origins & ~OF_NUMBER ? OF_OTHERS : OF_NUMBER;
}

static uint8_t load_result(const struct own_texts *t, struct var_key key)
{
	return key.id < DIF_VAR_USER ? OF_OTHERS : var_origins(t, key);
}

static void insn_step(struct own_texts *t, struct flow *f, dif_insn insn)
{
	enum dif_op op = DIF_INSN_OP(insn);
	const struct var_key key = {dif_op_scope(op), DIF_INSN_INDEX(insn)};
	uint8_t *r = f->paths.regs.of, *rd = &r[DIF_INSN_RD(insn)];

	switch (dif_op_form(op)) {
	case DIF_FORM_RRR:
		*rd = origins_calculated(r[DIF_INSN_R1(insn)] | r[DIF_INSN_R2(insn)]);
		break;
	case DIF_FORM_RR:
		if (op == DIF_OP_MOV)
			*rd = r[DIF_INSN_R1(insn)];
		else
			*rd = op == DIF_OP_NOT ? origins_calculated(r[DIF_INSN_R1(insn)])
					       : OF_OTHERS;
		break;
	case DIF_FORM_LABEL:
		paths_branch(&f->paths, DIF_INSN_LABEL(insn));
		f->paths.is_dead |= op == DIF_OP_BA;
		break;
	case DIF_FORM_SETX: *rd = setx_result(f->paths.d, insn); break;
	case DIF_FORM_SETS: *rd = OF_TEXT; break;
	case DIF_FORM_LDV:
		*rd = load_result(t, key);
		if (op == DIF_OP_LDGAA || op == DIF_OP_LDTAA)
			f->depth = 0;
		break;
	case DIF_FORM_STV:
		if (!f->paths.is_dead)
			var_store(t, key, *rd);
		if (op == DIF_OP_STGAA || op == DIF_OP_STTAA)
			f->depth = 0;
		break;
	case DIF_FORM_PUSHTR:
	case DIF_FORM_PUSHTV:
		if (f->depth < DIF_MAX_TUPLE)
			f->tuple[f->depth++] = *rd;
		break;
	case DIF_FORM_CALL:
		*rd = call_result(f, DIF_INSN_INDEX(insn));
		f->depth = 0;
		break;
	case DIF_FORM_RET:
		if (!f->paths.is_dead)
			f->result |= *rd;
		f->paths.is_dead = true;
		break;
	case DIF_FORM_LOAD:
	case DIF_FORM_LDA:
	case DIF_FORM_XLATE: *rd = OF_OTHERS; break;
	case DIF_FORM_NONE:
		if (op == DIF_OP_FLUSHTS)
			f->depth = 0;
		else if (op == DIF_OP_POPTS && f->depth)
			f->depth--;
		break;
	case DIF_FORM_CMP:
	case DIF_FORM_TST:
	case DIF_FORM_STORE:
	case DIF_FORM_COPYS: break;
	}
	r[0] = 0; /* %r0 is always zero */
}

/* Notes what the object stores in variables; returns the origins of its value. */
static uint8_t difo_follow(struct own_texts *t, const struct difo *d)
{
	struct flow f = {.paths.d = d};

	for (uint32_t i = 0; i < d->code_len; i++) {
		paths_arrive(&f.paths, i);
		insn_step(t, &f, d->code[i]);
	}
	paths_deinit(&f.paths);
	return f.result;
}

/* ---- programs -------------------------------------------------------------------------------- */

static void clause_follow(struct own_texts *t, const struct prog_clause *c)
{
	struct clause_difo at = {0};

	while (clause_each_difo(c, &at))
		(void)difo_follow(t, at.difo);
}

struct own_texts *own_texts_create(struct prog_clause *const *clauses, uint32_t nclauses)
{
	struct own_texts *t = xcalloc(1, sizeof(*t));

	t->vars = hashmap_create();
	do {
		t->has_changed = false;
		for (uint32_t i = 0; i < nclauses; i++)
			clause_follow(t, clauses[i]);
	} while (t->has_changed);
	return t;
}

void own_texts_destroy(struct own_texts *t)
{
	if (!t)
		return;
	hashmap_destroy(t->vars);
	free(t);
}

bool own_texts_has(const struct own_texts *t, const struct difo *d)
{
	/* all stores are known by now: this notes nothing new */
	uint8_t of = difo_follow((struct own_texts *)(uintptr_t)t, d);

	return !(of & ~(d->ret.kind == DIF_KIND_STRING ? OF_TEXT : OF_NUMBER));
}
