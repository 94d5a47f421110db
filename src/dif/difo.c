/* SPDX-License-Identifier: MIT */
/* Builds DIF objects; tables of instructions, subroutines and built-in variables by number. */
#include "dif/asm.h"

#include "base/hashmap.h"
#include "base/vec.h"

/* ---- tables ---------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	enum dif_form form;
} ops[256] = {
#define DIF_OP(name, text, code, form) [code] = {text, DIF_FORM_##form},
#include "dif/opcodes.def"
#undef DIF_OP
};

enum { NO_ARGS, UNREAD = 0, ARG0 = 1, ARG1 = 2, ARG2 = 4, ARG3 = 8, ARG5 = 32 };
enum { HELPERS_NO, HELPERS_SHORT, HELPERS_LONG };

static const struct dif_subr_row subrs[] = {
/* clang-format off */
#define OPT(type, value) 1, value
#define NONE 0, 0
#define ROW(name, nargs, noptional, value, fx, addresses, walk) \
	{name, nargs, (nargs) + (noptional), value, fx, addresses, walk}
#define ROW_OF(...) ROW(__VA_ARGS__)
#define SUBR(id, name, code, result, args, optional, fx, addresses, helpers, ...) \
	[code] = ROW_OF(#name, COUNT_ARGS args, optional, fx, addresses, HELPERS_##helpers != HELPERS_NO),
#define SUBR_FOREIGN(id, name, code, result, args, ...) \
	[code] = ROW_OF(#name, COUNT_ARGS args, NONE, FX_FAULTS, NO_ARGS, false),
#include "dif/subrs.def"
#define OPT(type, value) 1, value
#define NONE 0, 0
#define SUBR_ATTACH(id, name, code, result, args, optional, addresses, ...) \
	[code] = ROW_OF(#name, COUNT_ARGS args, optional, FX_ATTACH | FX_FAULTS, addresses, false),
#define SUBR_WALK(id, name, code, result, args, optional, addresses, ...) \
	[code] = ROW_OF(#name, COUNT_ARGS args, optional, FX_FAULTS, addresses, true),
#include "dif/helper_subrs.def"
#define NO_OPTION 0, 0
#define SUBR_REMAINS(id, name, code, result, args, addresses, ...) \
	[code] = ROW_OF(#name, COUNT_ARGS args, NO_OPTION, FX_ATTACH | FX_FAULTS, addresses, false),
#include "dif/remains_subrs.def"
	[DIF_SUBR_STACKID] = {"stackid", 1, 1, 0, FX_CALLS, NO_ARGS, false},
#undef ROW
#undef ROW_OF
	/* clang-format on */
};

enum { BUILTIN_NO, BUILTIN_REGISTER, BUILTIN_YES };

static const struct {
	uint32_t id;
	const char *name;
	bool in_walk;
} builtins[] = {
/* clang-format off */
#define BUILTIN(id, name, code, type, attr, since, helpers, what) {code, #name, BUILTIN_##helpers == BUILTIN_YES},
#define BUILTIN_OTHER(id, name, code) {code, #name, false},
#include "dif/builtins.def"
	/* clang-format on */
};

const char *dif_op_name(enum dif_op op)
{
	return (unsigned)op < ARRAY_LEN(ops) ? ops[op].name : NULL;
}

enum dif_form dif_op_form(enum dif_op op)
{
	return (unsigned)op < ARRAY_LEN(ops) ? ops[op].form : DIF_FORM_NONE;
}

bool dif_op_is_cond(enum dif_op op)
{
	return op >= DIF_OP_BE && op <= DIF_OP_BLEU;
}

uint8_t dif_op_scope(enum dif_op op)
{
	switch ((int)op) {
	case DIF_OP_LDTA:
	case DIF_OP_LDTS:
	case DIF_OP_STTS:
	case DIF_OP_LDTAA:
	case DIF_OP_STTAA: return DIF_SCOPE_THREAD;
	case DIF_OP_LDLS:
	case DIF_OP_STLS: return DIF_SCOPE_LOCAL;
	default: return DIF_SCOPE_GLOBAL;
	}
}

const struct dif_subr_row *dif_subr_row(uint32_t subr)
{
	return subr < ARRAY_LEN(subrs) && subrs[subr].name ? &subrs[subr] : NULL;
}

const char *dif_subr_name(uint32_t subr)
{
	const struct dif_subr_row *row = dif_subr_row(subr);

	return row ? row->name : NULL;
}

uint32_t dif_subr_by_name(const char *name)
{
	for (uint32_t i = 0; i < ARRAY_LEN(subrs); i++)
		if (subrs[i].name && strcmp(subrs[i].name, name) == 0)
			return i;
	return UINT32_MAX;
}

const char *dif_builtin_name(uint32_t var_id)
{
	for (uint32_t i = 0; i < ARRAY_LEN(builtins); i++)
		if (builtins[i].id == var_id)
			return builtins[i].name;
	return NULL;
}

bool dif_builtin_in_walk(uint32_t var_id)
{
	for (uint32_t i = 0; i < ARRAY_LEN(builtins); i++)
		if (builtins[i].id == var_id)
			return builtins[i].in_walk;
	return false;
}

uint32_t dif_builtin_by_name(const char *name)
{
	for (uint32_t i = 0; i < ARRAY_LEN(builtins); i++)
		if (strcmp(builtins[i].name, name) == 0)
			return builtins[i].id;
	return UINT32_MAX;
}

const struct dif_var *difo_find_var(const struct difo *d, uint8_t scope, uint32_t id)
{
	for (uint32_t i = 0; i < d->vars_len; i++)
		if (d->vars[i].id == id && d->vars[i].scope == scope)
			return &d->vars[i];
	return NULL;
}

/* ---- registers of an instruction ------------------------------------------------------------- */

/* Fields of an instruction that are registers, and whether they are read or written. */
#define READS_R1 1
#define READS_R2 2
#define READS_RD 4 /* also rs */
#define WRITES	 8 /* rd is written */

static const uint8_t form_uses[] = {
	[DIF_FORM_NONE] = 0,
	[DIF_FORM_RRR] = READS_R1 | READS_R2 | WRITES,
	[DIF_FORM_RR] = READS_R1 | WRITES,
	[DIF_FORM_CMP] = READS_R1 | READS_R2,
	[DIF_FORM_TST] = READS_R1,
	[DIF_FORM_LABEL] = 0,
	[DIF_FORM_LOAD] = READS_R1 | WRITES,
	[DIF_FORM_STORE] = READS_R1 | READS_RD,
	[DIF_FORM_RET] = READS_RD,
	[DIF_FORM_SETX] = WRITES,
	[DIF_FORM_SETS] = WRITES,
	[DIF_FORM_LDA] = READS_R2 | WRITES,
	[DIF_FORM_LDV] = WRITES,
	[DIF_FORM_STV] = READS_RD,
	[DIF_FORM_CALL] = WRITES,
	[DIF_FORM_PUSHTR] = READS_R2 | READS_RD,
	[DIF_FORM_PUSHTV] = READS_RD,
	[DIF_FORM_COPYS] = READS_R1 | READS_R2 | READS_RD,
	[DIF_FORM_XLATE] = WRITES,
};

bool dif_form_writes(enum dif_form form)
{
	return form_uses[form] & WRITES;
}

static void use_read(struct dif_uses *u, uint32_t reg)
{
	if (reg)
		u->reads[u->nreads++] = (uint8_t)reg;
}

struct dif_uses dif_insn_uses(dif_insn insn)
{
	uint8_t how = form_uses[dif_op_form(DIF_INSN_OP(insn))];
	struct dif_uses u = {0};

	if (how & READS_R1)
		use_read(&u, DIF_INSN_R1(insn));
	if (how & READS_R2)
		use_read(&u, DIF_INSN_R2(insn));
	if (how & READS_RD)
		use_read(&u, DIF_INSN_RD(insn));
	if (how & WRITES)
		u.writes = DIF_INSN_RD(insn);
	return u;
}

/* ---- builder --------------------------------------------------------------------------------- */

struct fixup {
	uint32_t insn, label;
};

struct dif_builder {
	struct arena *arena;
	VEC(dif_insn) code;
	VEC(uint32_t) spans;
	VEC(bool) trusts;
	VEC(uint64_t) ints;
	VEC(struct dif_var) vars;
	VEC(uint32_t) labels; /* instruction index; UINT32_MAX: not placed yet */
	VEC(struct fixup) fixups;
	struct hashmap *int_index; /* value -> &ints[i] as index + 1 */
	struct strtab *strs;
	uint32_t span;
	uint32_t trusted_len;
	bool has_spans, is_trusted, has_trusted;
};

struct dif_builder *dif_builder_create(struct arena *a)
{
	struct dif_builder *b = xcalloc(1, sizeof(*b));

	b->arena = a;
	b->int_index = hashmap_create();
	b->strs = strtab_create();
	return b;
}

uint32_t dif_emit(struct dif_builder *b, dif_insn insn)
{
	vec_push(&b->code, insn);
	vec_push(&b->spans, b->span);
	vec_push(&b->trusts, b->is_trusted);
	b->has_trusted |= b->is_trusted;
	return b->code.len - 1;
}

void dif_set_span(struct dif_builder *b, uint32_t source_off)
{
	b->span = source_off;
	b->has_spans = true;
}

void dif_trust(struct dif_builder *b)
{
	b->trusted_len = b->code.len;
}

bool dif_set_trust(struct dif_builder *b, bool is_trusted)
{
	bool before = b->is_trusted;

	b->is_trusted = is_trusted;
	return before;
}

/*
 * Indexes have 16 bits. A table that outgrows them still grows, so that difo_verify() refuses the
 * object for its size; indexes that do not fit are cut, and the object is never executed.
 */
uint32_t dif_int(struct dif_builder *b, uint64_t value)
{
	uintptr_t found = (uintptr_t)hashmap_find(b->int_index, &value, sizeof(value));

	if (!found) {
		vec_push(&b->ints, value);
		found = b->ints.len;
		hashmap_set(b->int_index, &value, sizeof(value), (void *)found);
	}
	return (uint32_t)(found - 1) & 0xffff;
}

uint32_t dif_str(struct dif_builder *b, const char *s)
{
	return strtab_adds(b->strs, s) & 0xffff;
}

void dif_note_var(struct dif_builder *b, const struct dif_var *var)
{
	for (uint32_t i = 0; i < b->vars.len; i++) {
		struct dif_var *have = &b->vars.data[i];

		if (have->id != var->id || have->scope != var->scope)
			continue;
		have->flags |= var->flags;
		if (!have->name)
			have->name = var->name;
		if (!have->type.size)
			have->type = var->type;
		return;
	}
	vec_push(&b->vars, *var);
}

uint32_t dif_label_create(struct dif_builder *b)
{
	vec_push(&b->labels, UINT32_MAX);
	return b->labels.len - 1;
}

void dif_label_here(struct dif_builder *b, uint32_t label)
{
	assert(label < b->labels.len && b->labels.data[label] == UINT32_MAX);
	b->labels.data[label] = b->code.len;
}

void dif_emit_branch(struct dif_builder *b, enum dif_op op, uint32_t label)
{
	struct fixup f = {.label = label};

	assert(label < b->labels.len);
	f.insn = dif_emit(b, dif_branch(op, 0));
	vec_push(&b->fixups, f);
}

static void resolve_labels(struct dif_builder *b)
{
	for (uint32_t i = 0; i < b->fixups.len; i++) {
		struct fixup *f = &b->fixups.data[i];
		uint32_t at = b->labels.data[f->label];

		if (at == UINT32_MAX)
			BUG("label %u of a DIF object was never placed", f->label);
		b->code.data[f->insn] |= at & 0xffffff; /* the verifier refuses larger ones */
	}
}

static void builder_destroy(struct dif_builder *b)
{
	vec_deinit(&b->code);
	vec_deinit(&b->spans);
	vec_deinit(&b->trusts);
	vec_deinit(&b->ints);
	vec_deinit(&b->vars);
	vec_deinit(&b->labels);
	vec_deinit(&b->fixups);
	hashmap_destroy(b->int_index);
	strtab_destroy(b->strs);
	free(b);
}

static void *to_arena(struct arena *a, const void *data, uint32_t len, size_t elem_size)
{
	return len ? arena_memdup(a, data, len * elem_size) : NULL;
}

struct difo *dif_builder_finish(struct dif_builder *b, struct dif_type ret)
{
	struct arena *a = b->arena;
	struct difo *d = ARENA_NEW(a, struct difo);

	resolve_labels(b);
	d->code = to_arena(a, b->code.data, b->code.len, sizeof(*b->code.data));
	d->code_len = b->code.len;
	d->ints = to_arena(a, b->ints.data, b->ints.len, sizeof(*b->ints.data));
	d->ints_len = b->ints.len;
	d->strs_size = (uint32_t)strtab_size(b->strs);
	d->strs = to_arena(a, strtab_data(b->strs), d->strs_size, 1);
	d->vars = to_arena(a, b->vars.data, b->vars.len, sizeof(*b->vars.data));
	d->vars_len = b->vars.len;
	for (uint32_t i = 0; i < d->vars_len; i++)
		d->vars[i].name = arena_strdup(a, d->vars[i].name ? d->vars[i].name : "");
	if (b->has_spans)
		d->spans = to_arena(a, b->spans.data, b->spans.len, sizeof(*b->spans.data));
	d->ret = ret;
	d->trusted_len = b->trusted_len;
	if (b->has_trusted)
		d->trusts = to_arena(a, b->trusts.data, b->trusts.len, sizeof(*b->trusts.data));
	builder_destroy(b);
	return d;
}

bool difo_is_zero(const struct difo *d)
{
	for (uint32_t i = 0; i + 1 < d->code_len; i++)
		if (DIF_INSN_OP(d->code[i]) == DIF_OP_RET)
			return false;
	return d->code[d->code_len - 1] == dif_rrr(DIF_OP_RET, 0, 0, 0);
}
