/* SPDX-License-Identifier: MIT */
/*
 * Prints DIF as a listing for people: dtrace -S.
 *
 *     DIFO 0x55d0c81f2a40 returns D type (integer) (size 4)
 *     OFF OPCODE      INSTRUCTION
 *     00: 29011601    ldgs DT_VAR(278), %r1           ! DT_VAR(278) = "pid"
 *     01: 23000001    ret  %r1
 *
 *     NAME             ID   KND SCP FLAG TYPE
 *     pid              116  scl glb r    D type (integer) (size 4)
 *
 * Facts    d-language.md 9.8.
 */
#include "dif/asm.h"

#include "base/text.h"

#define COMMENT_COLUMN 32 /* of the operand text */

/* ---- types ----------------------------------------------------------------------------------- */

/* In the order of enum type_kind (d/types/types.h), in dif_type.ckind; the test compares. */
static const char *const ckind_names[] = {
	"void", "integer", "float", "pointer",	"array",    "struct",	"union",
	"enum", "typedef", "const", "volatile", "restrict", "userland", "function",
};

void dif_type_print(const struct dif_type *t, struct strbuf *out)
{
	strbuf_addf(out, "%s (%s)", t->kind == DIF_KIND_STRING ? "string" : "D type",
		    t->kind != DIF_KIND_STRING && t->ckind < ARRAY_LEN(ckind_names)
			    ? ckind_names[t->ckind]
			    : "unknown");
	if (t->flags & DIF_TF_BYREF)
		strbuf_adds(out, " by ref");
	if (t->flags & DIF_TF_STACK)
		strbuf_adds(out, " stackid");
	if (t->flags & DIF_TF_BYUREF)
		strbuf_adds(out, " by uref");
	strbuf_addf(out, " (size %u)", t->size);
}

/* ---- instructions ---------------------------------------------------------------------------- */

void dif_quote(struct strbuf *out, const char *s, size_t len)
{
	static const struct escapes how = {.letters = "\"\"\\\\\nn\tt", .other = "\\x%02x"};

	escape_quote(out, s, len, &how);
}

static void comment_int(const struct difo *d, dif_insn i, struct strbuf *out)
{
	if (DIF_INSN_INDEX(i) < d->ints_len)
		strbuf_addf(out, "! 0x%llx", (unsigned long long)d->ints[DIF_INSN_INDEX(i)]);
}

static void comment_str(const struct difo *d, dif_insn i, struct strbuf *out)
{
	uint32_t off = DIF_INSN_INDEX(i);

	if (off >= d->strs_size)
		return;
	strbuf_adds(out, "! ");
	dif_quote(out, d->strs + off, strnlen(d->strs + off, d->strs_size - off));
}

static void comment_var_id(const struct difo *d, dif_insn i, uint32_t id, struct strbuf *out)
{
	const struct dif_var *v = difo_find_var(d, dif_op_scope(DIF_INSN_OP(i)), id);
	const char *name = v && v->name ? v->name : dif_builtin_name(id);

	if (name)
		strbuf_addf(out, "! DT_VAR(%u) = \"%s\"", id, name);
}

static void comment_var(const struct difo *d, dif_insn i, struct strbuf *out)
{
	comment_var_id(d, i, DIF_INSN_INDEX(i), out);
}

static void comment_array(const struct difo *d, dif_insn i, struct strbuf *out)
{
	comment_var_id(d, i, DIF_INSN_R1(i), out);
}

static void comment_subr(const struct difo *d, dif_insn i, struct strbuf *out)
{
	const char *name = dif_subr_name(DIF_INSN_INDEX(i));

	(void)d;
	if (name)
		strbuf_addf(out, "! %s", name);
}

static void comment_type(const struct difo *d, dif_insn i, struct strbuf *out)
{
	(void)d;
	strbuf_addf(out, "! %s",
		    DIF_INSN_TTYPE(i) == DIF_TUPLE_STR ? "DT_TYPE(1) = string"
						       : "DT_TYPE(0) = D type");
}

const struct dif_syntax dif_syntax[] = {
	[DIF_FORM_NONE] = {"", NULL},
	[DIF_FORM_RRR] = {"1, 2, d", NULL},
	[DIF_FORM_RR] = {"1, d", NULL},
	[DIF_FORM_CMP] = {"1, 2", NULL},
	[DIF_FORM_TST] = {"1", NULL},
	[DIF_FORM_LABEL] = {"L", NULL},
	[DIF_FORM_LOAD] = {"[1], d", NULL},
	[DIF_FORM_STORE] = {"1, [d]", NULL},
	[DIF_FORM_RET] = {"d", NULL},
	[DIF_FORM_SETX] = {"I, d", comment_int},
	[DIF_FORM_SETS] = {"S, d", comment_str},
	[DIF_FORM_LDA] = {"A, 2, d", comment_array},
	[DIF_FORM_LDV] = {"V, d", comment_var},
	[DIF_FORM_STV] = {"V, d", comment_var},
	[DIF_FORM_CALL] = {"F, d", comment_subr},
	[DIF_FORM_PUSHTR] = {"T, 2, d", comment_type},
	[DIF_FORM_PUSHTV] = {"T, d", comment_type},
	[DIF_FORM_COPYS] = {"1, 2, d", NULL},
	[DIF_FORM_XLATE] = {"X, d", NULL},
};

static void print_operand(char what, dif_insn i, struct strbuf *out)
{
	switch (what) {
	case '1': strbuf_addf(out, "%%r%u", DIF_INSN_R1(i)); break;
	case '2': strbuf_addf(out, "%%r%u", DIF_INSN_R2(i)); break;
	case 'd': strbuf_addf(out, "%%r%u", DIF_INSN_RD(i)); break;
	case 'L': strbuf_addf(out, "%u", DIF_INSN_LABEL(i)); break;
	case 'I': strbuf_addf(out, "DT_INTEGER[%u]", DIF_INSN_INDEX(i)); break;
	case 'S': strbuf_addf(out, "DT_STRING[%u]", DIF_INSN_INDEX(i)); break;
	case 'V': strbuf_addf(out, "DT_VAR(%u)", DIF_INSN_INDEX(i)); break;
	case 'A': strbuf_addf(out, "DT_VAR(%u)", DIF_INSN_R1(i)); break;
	case 'F': strbuf_addf(out, "DIF_SUBR(%u)", DIF_INSN_INDEX(i)); break;
	case 'T': strbuf_addf(out, "DT_TYPE(%u)", DIF_INSN_TTYPE(i)); break;
	case 'X': strbuf_addf(out, "DT_XLREF[%u]", DIF_INSN_INDEX(i)); break;
	default: strbuf_addc(out, what); break;
	}
}

void dif_insn_print(const struct difo *d, dif_insn insn, struct strbuf *out)
{
	const struct dif_syntax *syn = &dif_syntax[dif_op_form(DIF_INSN_OP(insn))];
	const char *name = dif_op_name(DIF_INSN_OP(insn));
	struct strbuf note = {0};
	size_t start = out->len;

	if (!name) {
		strbuf_addf(out, "*** illegal opcode %u", (unsigned)DIF_INSN_OP(insn));
		return;
	}
	strbuf_addf(out, syn->operands[0] ? "%-4s " : "%s", name);
	for (const char *p = syn->operands; *p; p++)
		print_operand(*p, insn, out);
	if (d && syn->comment)
		syn->comment(d, insn, &note);
	if (note.len) {
		do
			strbuf_addc(out, ' ');
		while (out->len - start < COMMENT_COLUMN);
		strbuf_adds(out, strbuf_text(&note));
	}
	strbuf_deinit(&note);
}

/* ---- objects --------------------------------------------------------------------------------- */

static const char *const scope_names[] = {"glb", "tls", "loc"};

static void print_var(const struct dif_var *v, struct strbuf *out)
{
	const char *flags = v->flags & DIF_VF_REF ? (v->flags & DIF_VF_MOD ? "r/w" : "r")
						  : (v->flags & DIF_VF_MOD ? "w" : "");

	strbuf_addf(out, "%-16s %-4x %-3s %-3s %-4s ", v->name ? v->name : "", v->id,
		    v->kind == DIF_VAR_ARRAY ? "arr" : "scl",
		    v->scope < ARRAY_LEN(scope_names) ? scope_names[v->scope] : "???", flags);
	dif_type_print(&v->type, out);
	strbuf_addc(out, '\n');
}

void difo_print_rows(const struct difo *d, struct strbuf *out)
{
	strbuf_addf(out, "%-3s %-8s    %s\n", "OFF", "OPCODE", "INSTRUCTION");
	for (uint32_t i = 0; i < d->code_len; i++) {
		strbuf_addf(out, "%02u: %08x    ", i, d->code[i]);
		dif_insn_print(d, d->code[i], out);
		strbuf_addc(out, '\n');
	}
	if (!d->vars_len)
		return;
	strbuf_addf(out, "\n%-16s %-4s %-3s %-3s %-4s %s\n", "NAME", "ID", "KND", "SCP", "FLAG",
		    "TYPE");
	for (uint32_t i = 0; i < d->vars_len; i++)
		print_var(&d->vars[i], out);
}

void difo_print(const struct difo *d, struct strbuf *out)
{
	strbuf_addf(out, "\nDIFO %p returns ", (const void *)d);
	dif_type_print(&d->ret, out);
	strbuf_addc(out, '\n');
	difo_print_rows(d, out);
}
