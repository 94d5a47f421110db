/* Translates DIF to the instructions of the helper machine: one instruction for each, or few. */
#include "ustack/hcode.h"

#include "arch/arch.h"
#include "bpf/rt/helper.h"
#include "d/compile.h"
#include "d/source.h"
#include "dtrace.h"
#include "ustack/helper.h"

#define REG_COMPARED 31u /* the result of a comparison of strings */
#define REG_VALUE    30u /* the value of an object with several returns */
#define REG_MOST     29u

struct fixup {
	uint32_t word;	/* whose imm is to become the distance */
	uint32_t label; /* index of an instruction, or of an action */
};

struct fixup_list {
	VEC(struct fixup) all;
};

/* An instruction that loads the address of a text. */
struct text_use {
	uint32_t word;
	const char *text;
};

struct local {
	const struct helper *helper;
	uint32_t id, slot;
};

struct translator {
	struct hcode *out;
	uint32_t base;
	const struct helper *h;
	VEC(struct local) locals;
	VEC(struct text_use) texts;
	uint32_t nstrings, nnumbers; /* of locals */
	struct err *err;	     /* the first */
	uint32_t span;		     /* of the statement */
	bool names_frames;	     /* some statement so far had a string as its value */
	/* the DIF object that is translated */
	const struct difo *d;
	uint32_t *at; /* by instruction: its first word */
	bool *is_target;
	VEC(struct fixup) fixups;
	uint32_t npushed;
	bool has_flags;
	uint32_t flag_a, flag_b; /* registers that the flags compare */
	bool flags_signed;
};

/* ---- helpers of the translation -------------------------------------------------------------- */

PRINTF_LIKE(2, 3) static void refuse(struct translator *t, const char *fmt, ...)
{
	struct strbuf what = {0};
	struct source_loc loc;
	va_list ap;

	if (t->err)
		return;
	va_start(ap, fmt);
	strbuf_vaddf(&what, fmt, ap);
	va_end(ap);
	loc = source_locate(dsession_sources(t->h->dsession), t->span);
	t->err = err_code(err_hint(err_new("%s:%u: a ustack helper may not use %s", loc.file,
					   loc.line, strbuf_text(&what)),
				   "a clause of dtrace:helper:ustack: computes one string from "
				   "arg0, the address of the frame, and arg1, its frame pointer"),
			  EDT_COMPILER);
	strbuf_deinit(&what);
}

static uint32_t here(const struct translator *t)
{
	return t->out->words.len;
}

static uint32_t put(struct translator *t, uint32_t op, uint32_t a, uint32_t b, uint32_t c,
		    int64_t imm)
{
	vec_push(&t->out->words, HELPER_INSN(op, a, b, c, imm));
	return here(t) - 1;
}

static void put_const(struct translator *t, uint32_t reg, uint64_t v)
{
	if ((int64_t)v == (int32_t)v) {
		put(t, HOP_IMM, reg, 0, 0, (int64_t)v);
		return;
	}
	put(t, HOP_WIDE, reg, 0, 0, 0);
	vec_push(&t->out->words, v);
}

/* Makes the instruction at `word` go to the present end of the program. */
static void jump_here(struct translator *t, uint32_t word)
{
	uint64_t *w = &t->out->words.data[word];

	*w = (*w & UINT32_MAX) | (uint64_t)(uint32_t)(here(t) - word - 1) << 32;
}

static void jump_to(struct translator *t, uint32_t word, uint32_t target)
{
	uint64_t *w = &t->out->words.data[word];

	*w = (*w & UINT32_MAX) | (uint64_t)(target - word - 1) << 32;
}

/* Makes the instruction at `word` load the address of the text, which is to follow the program. */
static void note_text(struct translator *t, uint32_t word, const char *text)
{
	vec_push(&t->texts, (struct text_use){word, text});
}

/* Appends the texts that instructions use, each once. */
static void put_texts(struct translator *t)
{
	for (uint32_t i = 0; i < t->texts.len; i++) {
		struct text_use *use = &t->texts.data[i];
		uint32_t k = 0, at = here(t);
		size_t n = strlen(use->text) + 1;
		uint64_t *w;

		while (k < i && strcmp(t->texts.data[k].text, use->text) != 0)
			k++;
		if (k < i)
			at = (uint32_t)(t->out->words.data[t->texts.data[k].word] >> 32) - t->base;
		for (size_t j = 0; k == i && j < n; j += 8)
			vec_push(&t->out->words, 0);
		if (k == i)
			memcpy(t->out->words.data + at, use->text, n);
		w = &t->out->words.data[use->word];
		*w = (*w & UINT32_MAX) | (uint64_t)(t->base + at) << 32;
	}
}

static uint32_t size_code(const struct dif_type *type)
{
	return (type->size > 8 ? 8 : type->size) | (type->is_signed ? HELPER_SIGNED : 0);
}

/* ---- variables ------------------------------------------------------------------------------- */

static uint32_t global_slot(struct translator *t, uint32_t id)
{
	for (uint32_t i = 0; i < t->out->globals.len; i++) {
		const struct hcode_global *g = &t->out->globals.data[i];

		if (g->helper == t->h && g->var->id == id)
			return g->slot;
	}
	refuse(t, "associative arrays");
	return 0;
}

static uint32_t local_slot(struct translator *t, const struct dif_var *v)
{
	struct local l = {.helper = t->h, .id = v->id};
	bool is_string = v->type.kind == DIF_KIND_STRING;

	for (uint32_t i = 0; i < t->locals.len; i++)
		if (t->locals.data[i].helper == t->h && t->locals.data[i].id == v->id)
			return t->locals.data[i].slot;
	if (!is_string && dif_type_is_byref(&v->type))
		refuse(t, "variables that are structures or arrays");
	if (is_string ? t->nstrings == RT_HELPER_STRINGS
		      : t->nnumbers == RT_HELPER_LOCALS - RT_HELPER_STRINGS)
		refuse(t, "more than %u clause-local %s",
		       is_string ? RT_HELPER_STRINGS : RT_HELPER_LOCALS - RT_HELPER_STRINGS,
		       is_string ? "strings" : "variables");
	else
		l.slot = is_string ? t->nstrings++ : RT_HELPER_STRINGS + t->nnumbers++;
	vec_push(&t->locals, l);
	return l.slot;
}

static void load_global(struct translator *t, uint32_t id, uint32_t rd)
{
	const struct dif_var *v;

	if (id >= DIF_VAR_ARG0 && id <= DIF_VAR_ARG9) {
		put(t, HOP_ARG, rd, 0, 0, id - DIF_VAR_ARG0);
		return;
	}
	if (id >= DIF_VAR_USER) {
		v = difo_find_var(t->d, DIF_SCOPE_GLOBAL, id);
		put(t, HOP_GETG, rd, 0, 0, global_slot(t, id));
		if (v && v->type.kind == DIF_KIND_STRING)
			put(t, HOP_TEXT, rd, rd, 0, 0);
		return;
	}
	switch (id) {
	case DIF_VAR_CURTHREAD:
	case DIF_VAR_PID:
	case DIF_VAR_PPID:
	case DIF_VAR_TID:
	case DIF_VAR_EXECNAME:
	case DIF_VAR_UID:
	case DIF_VAR_GID: put(t, HOP_VAR, rd, 0, 0, id); return;
	default: break;
	}
	refuse(t, "'%s'", dif_builtin_name(id) ? dif_builtin_name(id) : "this variable");
}

static void load_local(struct translator *t, uint32_t id, uint32_t rd)
{
	const struct dif_var *v = difo_find_var(t->d, DIF_SCOPE_LOCAL, id);

	if (v)
		put(t, HOP_GETL, rd, 0, 0, local_slot(t, v));
}

static void store_var(struct translator *t, enum dif_op op, uint32_t id, uint32_t rs)
{
	bool is_local = op == DIF_OP_STLS;
	const struct dif_var *v =
		difo_find_var(t->d, is_local ? DIF_SCOPE_LOCAL : DIF_SCOPE_GLOBAL, id);

	if (!v)
		return;
	if (!is_local && dif_type_is_byref(&v->type))
		refuse(t, "global strings, structures and arrays outside dtrace:helper:attach:");
	else if (!is_local)
		put(t, HOP_PUTG, 0, rs, size_code(&v->type), global_slot(t, id));
	else if (v->type.kind == DIF_KIND_STRING)
		put(t, HOP_PUTS, 0, rs, 0, local_slot(t, v));
	else
		put(t, HOP_PUTL, 0, rs, size_code(&v->type), local_slot(t, v));
}

/* ---- instructions ---------------------------------------------------------------------------- */

static uint32_t alu_op(enum dif_op op)
{
	switch ((int)op) {
	case DIF_OP_OR: return HOP_OR;
	case DIF_OP_XOR: return HOP_XOR;
	case DIF_OP_AND: return HOP_AND;
	case DIF_OP_SLL: return HOP_SHL;
	case DIF_OP_SRL: return HOP_SHR;
	case DIF_OP_SRA: return HOP_SAR;
	case DIF_OP_SUB: return HOP_SUB;
	case DIF_OP_ADD: return HOP_ADD;
	case DIF_OP_MUL: return HOP_MUL;
	case DIF_OP_SDIV: return HOP_SDIV;
	case DIF_OP_UDIV: return HOP_UDIV;
	case DIF_OP_SREM: return HOP_SREM;
	default: return HOP_UREM;
	}
}

static uint32_t load_code(enum dif_op op)
{
	switch ((int)op) {
	case DIF_OP_LDSB:
	case DIF_OP_ULDSB:
	case DIF_OP_RLDSB: return 1 | HELPER_SIGNED;
	case DIF_OP_LDSH:
	case DIF_OP_ULDSH:
	case DIF_OP_RLDSH: return 2 | HELPER_SIGNED;
	case DIF_OP_LDSW:
	case DIF_OP_ULDSW:
	case DIF_OP_RLDSW: return 4 | HELPER_SIGNED;
	case DIF_OP_LDUB:
	case DIF_OP_ULDUB:
	case DIF_OP_RLDUB: return 1;
	case DIF_OP_LDUH:
	case DIF_OP_ULDUH:
	case DIF_OP_RLDUH: return 2;
	case DIF_OP_LDUW:
	case DIF_OP_ULDUW:
	case DIF_OP_RLDUW: return 4;
	default: return 8;
	}
}

static uint32_t store_size(enum dif_op op)
{
	switch ((int)op) {
	case DIF_OP_STB: return 1;
	case DIF_OP_STH: return 2;
	case DIF_OP_STW: return 4;
	default: return 8;
	}
}

static void put_branch(struct translator *t, dif_insn in)
{
	uint32_t a = t->flag_a, b = t->flag_b, op = HOP_JMP, word;

	switch ((int)DIF_INSN_OP(in)) {
	case DIF_OP_BA: a = b = 0; break;
	case DIF_OP_BE: op = HOP_JEQ; break;
	case DIF_OP_BNE: op = HOP_JNE; break;
	case DIF_OP_BL: op = HOP_JSLT; break;
	case DIF_OP_BLE: op = HOP_JSLE; break;
	case DIF_OP_BLU: op = t->flags_signed ? HOP_JSLT : HOP_JLT; break;
	case DIF_OP_BLEU: op = t->flags_signed ? HOP_JSLE : HOP_JLE; break;
	case DIF_OP_BG:
	case DIF_OP_BGE:
	case DIF_OP_BGU:
	case DIF_OP_BGEU: {
		bool is_signed = t->flags_signed || DIF_INSN_OP(in) == DIF_OP_BG ||
				 DIF_INSN_OP(in) == DIF_OP_BGE;
		bool is_equal = DIF_INSN_OP(in) == DIF_OP_BGE || DIF_INSN_OP(in) == DIF_OP_BGEU;

		op = is_signed ? (is_equal ? HOP_JSLE : HOP_JSLT) : is_equal ? HOP_JLE : HOP_JLT;
		a = t->flag_b;
		b = t->flag_a;
		break;
	}
	default: break;
	}
	if (op != HOP_JMP && !t->has_flags)
		refuse(t, "a comparison that other instructions follow");
	word = put(t, op, 0, a, b, 0);
	vec_push(&t->fixups, (struct fixup){word, DIF_INSN_LABEL(in)});
}

static void put_call(struct translator *t, uint32_t subr, uint32_t rd)
{
	const struct dif_subr_row *row = dif_subr_row(subr);
	static const uint16_t allowed[] = {
		DIF_SUBR_ALLOCA,  DIF_SUBR_BASENAME,  DIF_SUBR_BCOPY,	   DIF_SUBR_CLEANPATH,
		DIF_SUBR_COPYIN,  DIF_SUBR_COPYINSTR, DIF_SUBR_COPYINTO,   DIF_SUBR_DIRNAME,
		DIF_SUBR_HTONL,	  DIF_SUBR_HTONLL,    DIF_SUBR_HTONS,	   DIF_SUBR_INDEX,
		DIF_SUBR_RINDEX,  DIF_SUBR_INET_NTOA, DIF_SUBR_INET_NTOA6, DIF_SUBR_INET_NTOP,
		DIF_SUBR_JSON,	  DIF_SUBR_LLTOSTR,   DIF_SUBR_MEMREF,	   DIF_SUBR_MEMSTR,
		DIF_SUBR_NTOHL,	  DIF_SUBR_NTOHLL,    DIF_SUBR_NTOHS,	   DIF_SUBR_STRCHR,
		DIF_SUBR_STRJOIN, DIF_SUBR_STRLEN,    DIF_SUBR_STRRCHR,	   DIF_SUBR_STRSTR,
		DIF_SUBR_STRTOLL, DIF_SUBR_SUBSTR,    DIF_SUBR_TOLOWER,	   DIF_SUBR_TOUPPER,
	};
	bool is_allowed = row && row->fx & FX_WALK;

	for (size_t i = 0; i < ARRAY_LEN(allowed); i++)
		is_allowed |= subr == allowed[i];
	if (!is_allowed) {
		refuse(t, "%s()%s", dif_subr_name(subr) ? dif_subr_name(subr) : "this subroutine",
		       row && row->fx & FX_ATTACH ? " outside dtrace:helper:attach:" : "");
		return;
	}
	for (uint32_t k = t->npushed; k < row->nmax; k++) {
		put_const(t, REG_VALUE, row->omitted);
		put(t, HOP_PUSH, 0, REG_VALUE, 0, k);
	}
	put(t, HOP_CALL, rd, 0, 0, subr);
	t->npushed = 0;
}

/* The constant that the instruction before i has put into the register; false: none. */
static bool const_before(const struct translator *t, uint32_t i, uint32_t reg, uint64_t *ret)
{
	for (uint32_t k = i; k-- > 0 && !t->is_target[k + 1];) {
		if (DIF_INSN_OP(t->d->code[k]) == DIF_OP_SETX &&
		    DIF_INSN_RD(t->d->code[k]) == reg) {
			*ret = t->d->ints[DIF_INSN_INDEX(t->d->code[k])];
			return true;
		}
		if (dif_insn_uses(t->d->code[k]).writes == reg)
			return false;
	}
	*ret = 0;
	return reg == 0;
}

static void put_array(struct translator *t, uint32_t i)
{
	dif_insn in = t->d->code[i];
	uint64_t index;
	uint32_t word;

	if (DIF_INSN_OP(in) != DIF_OP_LDGA || DIF_INSN_R1(in) != DIF_VAR_UREGS) {
		refuse(t, "args[]");
		return;
	}
	if (!const_before(t, i, DIF_INSN_R2(in), &index) || index >= 36) {
		refuse(t, "an element of uregs[] that is no constant");
		return;
	}
	word = arch.uregs[index / 12] >> (5 * (index % 12)) & 31;
	if (word == 31)
		refuse(t, "this element of uregs[]");
	put(t, HOP_UREG, DIF_INSN_RD(in), 0, 0, word);
}

static void put_insn(struct translator *t, uint32_t i)
{
	dif_insn in = t->d->code[i];
	enum dif_op op = DIF_INSN_OP(in);
	uint32_t r1 = DIF_INSN_R1(in), r2 = DIF_INSN_R2(in), rd = DIF_INSN_RD(in);

	switch (dif_op_form(op)) {
	case DIF_FORM_RRR: put(t, alu_op(op), rd, r1, r2, 0); return;
	case DIF_FORM_RR:
		if (op == DIF_OP_NOT)
			put(t, HOP_XOR | HOP_IMMEDIATE, rd, r1, 0, -1);
		else if (op == DIF_OP_MOV)
			put(t, HOP_ADD, rd, r1, 0, 0);
		else
			refuse(t, "assignments of structures");
		return;
	case DIF_FORM_CMP:
	case DIF_FORM_TST:
		t->has_flags = true;
		t->flags_signed = op == DIF_OP_SCMP;
		t->flag_a = r1;
		t->flag_b = op == DIF_OP_TST ? 0 : r2;
		if (op == DIF_OP_SCMP) {
			put(t, HOP_SCMP, REG_COMPARED, r1, r2, 0);
			t->flag_a = REG_COMPARED;
			t->flag_b = 0;
		}
		return;
	case DIF_FORM_LABEL: put_branch(t, in); return;
	case DIF_FORM_LOAD: put(t, HOP_LOAD, rd, r1, load_code(op), 0); return;
	case DIF_FORM_STORE: put(t, HOP_STORE, rd, r1, store_size(op), 0); return;
	case DIF_FORM_SETX: put_const(t, rd, t->d->ints[DIF_INSN_INDEX(in)]); return;
	case DIF_FORM_SETS:
		note_text(t, put(t, HOP_TEXT, rd, 0, 0, 0), t->d->strs + DIF_INSN_INDEX(in));
		return;
	case DIF_FORM_LDA: put_array(t, i); return;
	case DIF_FORM_LDV:
		if (op == DIF_OP_LDGS)
			load_global(t, DIF_INSN_INDEX(in), rd);
		else if (op == DIF_OP_LDLS)
			load_local(t, DIF_INSN_INDEX(in), rd);
		else
			refuse(t, "%s",
			       op == DIF_OP_LDGAA ? "associative arrays"
						  : "thread-local variables");
		return;
	case DIF_FORM_STV:
		if (op == DIF_OP_STGS || op == DIF_OP_STLS)
			store_var(t, op, DIF_INSN_INDEX(in), DIF_INSN_RS(in));
		else
			refuse(t, "%s",
			       op == DIF_OP_STGAA ? "associative arrays"
						  : "thread-local variables");
		return;
	case DIF_FORM_CALL: put_call(t, DIF_INSN_INDEX(in), rd); return;
	case DIF_FORM_PUSHTR:
	case DIF_FORM_PUSHTV:
		if (t->npushed < RT_HELPER_PUSHES)
			put(t, HOP_PUSH, 0, DIF_INSN_RS(in), 0, t->npushed);
		t->npushed++;
		return;
	case DIF_FORM_NONE:
		if (op == DIF_OP_FLUSHTS)
			t->npushed = 0;
		return;
	case DIF_FORM_COPYS: refuse(t, "assignments of structures"); return;
	case DIF_FORM_RET:
	case DIF_FORM_XLATE: break;
	}
	refuse(t, "translators");
}

/* Translates an object; returns the register that has its value. */
static uint32_t put_difo(struct translator *t, const struct difo *d)
{
	CLEANUP(free) uint32_t *at = xcalloc(d->code_len + 1, sizeof(*at));
	CLEANUP(free) bool *is_target = xcalloc(d->code_len + 1, sizeof(*is_target));
	uint32_t value = REG_VALUE, nreturns = 0;

	for (uint32_t i = 0; i < d->code_len; i++) {
		struct dif_uses u = dif_insn_uses(d->code[i]);

		for (uint32_t k = 0; k < u.nreads; k++)
			if (u.reads[k] > REG_MOST)
				refuse(t, "an expression with so many values at once");
		if (dif_op_form(DIF_INSN_OP(d->code[i])) == DIF_FORM_LABEL)
			is_target[DIF_INSN_LABEL(d->code[i])] = true;
		nreturns += DIF_INSN_OP(d->code[i]) == DIF_OP_RET;
	}
	t->d = d;
	t->at = at;
	t->is_target = is_target;
	t->fixups.len = 0;
	t->npushed = 0;
	t->has_flags = false;
	for (uint32_t i = 0; i < d->code_len && !t->err; i++) {
		at[i] = here(t);
		if (is_target[i])
			t->has_flags = false;
		if (DIF_INSN_OP(d->code[i]) != DIF_OP_RET) {
			put_insn(t, i);
			continue;
		}
		if (nreturns == 1) {
			value = DIF_INSN_RD(d->code[i]);
			continue;
		}
		put(t, HOP_ADD, REG_VALUE, DIF_INSN_RD(d->code[i]), 0, 0);
		if (i + 1 < d->code_len)
			vec_push(&t->fixups,
				 (struct fixup){put(t, HOP_JMP, 0, 0, 0, 0), d->code_len});
	}
	at[d->code_len] = here(t);
	for (uint32_t i = 0; i < t->fixups.len && !t->err; i++)
		jump_to(t, t->fixups.data[i].word, at[t->fixups.data[i].label]);
	return value;
}

/* ---- clauses --------------------------------------------------------------------------------- */

static void put_value(struct translator *t, const struct difo *d)
{
	uint32_t r = put_difo(t, d);

	if (d->ret.kind == DIF_KIND_STRING) {
		put(t, HOP_RESULT, 0, r, 0, 0);
		t->names_frames = true;
	} else if (t->names_frames) {
		put(t, HOP_NONE, 0, 0, 0, 0);
	}
}

static void put_frame(struct translator *t, const struct prog_act *act)
{
	for (uint32_t k = 0; k < act->nargs; k++) {
		uint32_t r = put_difo(t, act->args[k]);

		if (act->arg_kinds[k] != DATUM_STRING && act->arg_kinds[k] != DATUM_INT)
			refuse(t, "uframe() with anything but strings and numbers");
		put(t, act->arg_kinds[k] == DATUM_STRING ? HOP_ADDS : HOP_ADDN, 0, r, 0, 0);
	}
	put(t, HOP_FRAME, 0, 0, 0, 0);
	if (t->names_frames)
		put(t, HOP_NONE, 0, 0, 0, 0);
}

/*
 * Words that subroutines overwrite are pushed when all three are known: the first two wait in
 * registers that no expression uses.
 */
static void put_unwind(struct translator *t, const struct prog_act *act)
{
	static const uint32_t kept[] = {REG_MOST, REG_MOST - 1};

	for (uint32_t k = 0; k < act->nargs; k++) {
		uint32_t r = put_difo(t, act->args[k]);

		if (k < ARRAY_LEN(kept))
			put(t, HOP_ADD, kept[k], r, 0, 0);
		else
			put(t, HOP_PUSH, 0, r, 0, k);
	}
	put(t, HOP_PUSH, 0, kept[0], 0, 0);
	put(t, HOP_PUSH, 0, kept[1], 0, 1);
	put(t, HOP_UNWIND, 0, 0, 0, 0);
}

static void put_act(struct translator *t, const struct prog_act *act, const uint32_t *at,
		    struct fixup_list *list)
{
	uint32_t word;

	switch ((int)act->kind) {
	case ACT_EXPR: put_value(t, act->args[0]); return;
	case ACT_BRZ:
		word = put_difo(t, act->args[0]);
		word = put(t, HOP_JEQ | HOP_IMMEDIATE, 0, word, 0, 0);
		vec_push(&list->all, (struct fixup){word, act->target});
		return;
	case ACT_JMP:
		word = put(t, HOP_JMP, 0, 0, 0, 0);
		vec_push(&list->all, (struct fixup){word, act->target});
		return;
	case ACT_LOOP: put(t, HOP_LOOP, 0, 0, act->loop.depth, act->loop.most - 1); return;
	case ACT_AGAIN:
		word = put(t, HOP_AGAIN, 0, 0, act->loop.depth, 0);
		jump_to(t, word, at[act->loop.head]);
		return;
	case ACT_UFRAME: put_frame(t, act); return;
	case ACT_UNWIND: put_unwind(t, act); return;
	case ACT_AGG: refuse(t, "aggregations"); return;
	default: refuse(t, "actions that are no expressions");
	}
}

static void put_clause(struct translator *t, const struct prog_clause *cl)
{
	CLEANUP(free) uint32_t *at = xcalloc(cl->nacts + 1, sizeof(*at));
	struct fixup_list jumps = {0};
	uint32_t out = UINT32_MAX;

	t->span = cl->span;
	if (!cl->nacts)
		refuse(t, "clauses without a value");
	if (cl->pred) {
		out = put_difo(t, cl->pred);
		out = put(t, HOP_JEQ | HOP_IMMEDIATE, 0, out, 0, 0);
	}
	for (uint32_t i = 0; i < cl->nacts && !t->err; i++) {
		at[i] = here(t);
		t->span = cl->acts[i].span ? cl->acts[i].span : cl->span;
		put_act(t, &cl->acts[i], at, &jumps);
	}
	at[cl->nacts] = here(t);
	for (uint32_t i = 0; i < jumps.all.len && !t->err; i++)
		jump_to(t, jumps.all.data[i].word, at[jumps.all.data[i].label]);
	if (out != UINT32_MAX)
		jump_here(t, out);
	vec_deinit(&jumps.all);
}

static void put_clauses(struct translator *t, struct helper *const *helpers, uint32_t n,
			enum helper_probe probe)
{
	for (uint32_t i = 0; i < n; i++) {
		t->h = helpers[i];
		for (uint32_t k = 0; k < t->h->prog->nclauses && !t->err; k++)
			if (helper_clause_probe(t->h->prog->clauses[k]) == probe)
				put_clause(t, t->h->prog->clauses[k]);
	}
}

static void globals_number(struct translator *t, const struct helper *h)
{
	const struct prog_vars *vars = dsession_vars(h->dsession);

	t->h = h;
	for (uint32_t i = 0; i < vars->len; i++) {
		const struct prog_var *v = vars->vars[i];
		struct hcode_global g = {h, v, t->out->globals.len};

		if (v->scope != DIF_SCOPE_GLOBAL || v->kind != DIF_VAR_SCALAR)
			continue;
		if (g.slot == RT_HELPER_GLOBALS) {
			refuse(t, "more than %u global variables", RT_HELPER_GLOBALS);
			return;
		}
		vec_push(&t->out->globals, g);
	}
}

struct err *hcode_make(struct helper *const *helpers, uint32_t n, uint32_t base, struct hcode *ret)
{
	struct translator t = {.out = ret, .base = base};
	uint32_t frames;

	*ret = (struct hcode){0};
	for (uint32_t i = 0; i < n && !t.err; i++)
		globals_number(&t, helpers[i]);
	put_clauses(&t, helpers, n, HELPER_UTHREAD);
	ret->frames = frames = put(&t, HOP_FRAMES, 0, 0, 0, 0);
	put(&t, HOP_STEP, 0, 0, 0, 0);
	t.names_frames = false;
	put_clauses(&t, helpers, n, HELPER_USTACK);
	jump_to(&t, put(&t, HOP_JMP, 0, 0, 0, 0), frames + 1);
	put_texts(&t);
	vec_deinit(&t.texts);
	vec_deinit(&t.locals);
	vec_deinit(&t.fixups);
	if (t.err)
		hcode_deinit(ret);
	return t.err;
}

void hcode_deinit(struct hcode *h)
{
	vec_deinit(&h->words);
	vec_deinit(&h->globals);
}
