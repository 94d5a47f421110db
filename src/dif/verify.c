/* SPDX-License-Identifier: MIT */
/*
 * The verifier: checks a DIF object before anything executes or translates it.
 *
 * Objects may come from files, so nothing in them is trusted, except the pointers and lengths of
 * struct difo. After a successful check an executor can rely on the following:
 *
 *  - every instruction is one of opcodes.def, with unused fields zero, registers below max_regs,
 *    and a destination other than %r0;
 *  - branches lead forward to an instruction, the last instruction is ret: execution always ends;
 *  - every conditional branch is reached with the flags defined on all paths, or is not reached;
 *  - at most DIF_MAX_TUPLE elements lie on the tuple stack;
 *  - indexes are inside their tables, the string table ends with NUL;
 *  - a variable that is used exists: a built-in of the right kind, or an entry of the variable
 *    table with the scope and kind of the instruction; there are no stores to built-ins;
 *  - types have a size that can be handled: values 1, 2, 4 or 8 bytes (results: up to 8),
 *    by-reference ones 1 to DIF_MAX_STATIC, strings up to DIF_MAX_STRING.
 *
 * Facts    d-language.md 13.3.
 */
#include "dif/asm.h"

#include "dtrace.h"

#define TRY(call)                                                                                  \
	do {                                                                                       \
		struct err *e_ = call;                                                             \
		if (e_)                                                                            \
			return e_;                                                                 \
	} while (0)

struct verifier {
	const struct difo *d;
	uint32_t max_regs;
	uint32_t at; /* the instruction that is checked */
};

PRINTF_LIKE(2, 3) static struct err *insn_refuse(const struct verifier *v, const char *fmt, ...)
{
	struct strbuf text = {0};
	struct err *e;
	va_list ap;

	va_start(ap, fmt);
	strbuf_vaddf(&text, fmt, ap);
	va_end(ap);
	e = err_code(err_new("DIF instruction %u (0x%08x): %s", v->at, v->d->code[v->at],
			     strbuf_text(&text)),
		     EDT_BPFINVAL);
	strbuf_deinit(&text);
	return e;
}

PRINTF_LIKE(1, 2) static struct err *object_refuse(const char *fmt, ...)
{
	struct strbuf text = {0};
	struct err *e;
	va_list ap;

	va_start(ap, fmt);
	strbuf_vaddf(&text, fmt, ap);
	va_end(ap);
	e = err_code(err_new("%s", strbuf_text(&text)), EDT_BPFINVAL);
	strbuf_deinit(&text);
	return e;
}

/* ---- tables ---------------------------------------------------------------------------------- */

static struct err *verify_tables(const struct difo *d)
{
	uint64_t size = (uint64_t)d->code_len * sizeof(*d->code) +
			(uint64_t)d->ints_len * sizeof(*d->ints) + d->strs_size +
			(uint64_t)d->vars_len * sizeof(*d->vars);

	if (!d->code_len)
		return object_refuse("no instructions");
	if (d->ints_len > DIF_MAX_INDEX)
		return err_code(err_new("more than %u integer constants", DIF_MAX_INDEX),
				EDT_INT2BIG);
	if (d->strs_size > DIF_MAX_INDEX)
		return err_code(err_new("more than %u bytes of string constants", DIF_MAX_INDEX),
				EDT_STR2BIG);
	if (size > DIF_MAX_SIZE)
		return err_code(err_new("%llu bytes, at most %u are possible",
					(unsigned long long)size, DIF_MAX_SIZE),
				EDT_BPFSIZE);
	if (d->strs_size && d->strs[d->strs_size - 1] != '\0')
		return object_refuse("string table does not end with NUL");
	return NULL;
}

/* A type of a result or a variable; a value may have any size up to 8 here. */
static struct err *verify_type(const struct dif_type *t)
{
	uint32_t max = t->kind == DIF_KIND_STRING ? DIF_MAX_STRING : DIF_MAX_STATIC;

	if (t->kind > DIF_KIND_STRING)
		return object_refuse("unknown kind of type %u", t->kind);
	if (t->flags & (t->flags - 1u) ||
	    t->flags & ~(DIF_TF_BYREF | DIF_TF_BYUREF | DIF_TF_STACK) ||
	    (t->flags == DIF_TF_STACK && (t->kind != DIF_KIND_CTF || t->size != 8)))
		return object_refuse("bad type flags 0x%x", t->flags);
	if (t->kind == DIF_KIND_STRING && !dif_type_is_byref(t))
		return object_refuse("a string by value");
	if (dif_type_is_byref(t) && (t->size == 0 || t->size > max))
		return object_refuse("size %u by reference, 1 to %u are possible", t->size, max);
	if (!dif_type_is_byref(t) && t->size > 8)
		return object_refuse("size %u by value, at most 8 is possible", t->size);
	return NULL;
}

static bool is_value_size(uint32_t size)
{
	return size == 1 || size == 2 || size == 4 || size == 8;
}

static bool builtin_is_array(uint32_t id)
{
	return id <= DIF_VAR_UREGS;
}

static struct err *verify_builtin(const struct dif_var *v)
{
	if (!dif_builtin_name(v->id) || v->scope != DIF_SCOPE_GLOBAL)
		return object_refuse("id 0x%x is not a built-in", v->id);
	if ((v->kind == DIF_VAR_ARRAY) != builtin_is_array(v->id))
		return object_refuse("wrong kind for a built-in");
	if (v->flags & DIF_VF_MOD)
		return object_refuse("a built-in is not modified");
	return NULL;
}

static struct err *verify_var(const struct difo *d, const struct dif_var *v)
{
	if (v->kind > DIF_VAR_SCALAR || v->scope > DIF_SCOPE_LOCAL ||
	    v->flags & ~(DIF_VF_REF | DIF_VF_MOD))
		return object_refuse("bad kind, scope or flags");
	if (v->scope == DIF_SCOPE_LOCAL && v->kind == DIF_VAR_ARRAY)
		return object_refuse("an associative array cannot be clause-local");
	if (v->id > 0xffff)
		return object_refuse("id 0x%x out of range", v->id);
	if (difo_find_var(d, v->scope, v->id) != v)
		return object_refuse("id 0x%x is defined twice", v->id);
	TRY(verify_type(&v->type));
	if (v->id < DIF_VAR_USER)
		return verify_builtin(v);
	if (!dif_type_is_byref(&v->type) && !is_value_size(v->type.size))
		return object_refuse("size %u by value", v->type.size);
	return NULL;
}

static struct err *verify_vars(const struct difo *d)
{
	for (uint32_t i = 0; i < d->vars_len; i++) {
		struct err *e =
			d->vars[i].name ? verify_var(d, &d->vars[i]) : object_refuse("no name");

		if (e && d->vars[i].name)
			return err_wrap(e, "variable '%s'", d->vars[i].name);
		if (e)
			return err_wrap(e, "variable %u", i);
	}
	return NULL;
}

static struct err *verify_object(const struct difo *d)
{
	struct err *e;

	TRY(verify_tables(d));
	e = verify_type(&d->ret);
	return e ? err_wrap(e, "result") : verify_vars(d);
}

/* ---- single instructions --------------------------------------------------------------------- */

static struct err *check_reg(const struct verifier *v, uint32_t reg)
{
	return reg < v->max_regs ? NULL : insn_refuse(v, "register %%r%u out of range", reg);
}

static struct err *check_int(const struct verifier *v, dif_insn i)
{
	return DIF_INSN_INDEX(i) < v->d->ints_len
		       ? NULL
		       : insn_refuse(v, "integer %u of %u", DIF_INSN_INDEX(i), v->d->ints_len);
}

static struct err *check_str(const struct verifier *v, dif_insn i)
{
	return DIF_INSN_INDEX(i) < v->d->strs_size
		       ? NULL
		       : insn_refuse(v, "string at %u of %u", DIF_INSN_INDEX(i), v->d->strs_size);
}

static struct err *check_target(const struct verifier *v, dif_insn i)
{
	uint32_t to = DIF_INSN_LABEL(i);

	if (to <= v->at)
		return insn_refuse(v, "branch backwards to %u", to);
	return to < v->d->code_len ? NULL
				   : insn_refuse(v, "branch to %u of %u", to, v->d->code_len);
}

static struct err *check_array(const struct verifier *v, dif_insn i)
{
	uint32_t id = DIF_INSN_R1(i);

	if (DIF_INSN_OP(i) == DIF_OP_LDTA)
		return insn_refuse(v, "there are no thread-local built-in arrays");
	return builtin_is_array(id) ? NULL
				    : insn_refuse(v, "variable 0x%x is not a built-in array", id);
}

static bool op_is_assoc(enum dif_op op)
{
	return op >= DIF_OP_LDGAA && op <= DIF_OP_STTAA;
}

static struct err *check_var(const struct verifier *v, dif_insn i)
{
	enum dif_op op = DIF_INSN_OP(i);
	uint32_t id = DIF_INSN_INDEX(i);
	const struct dif_var *var;

	if (id < DIF_VAR_USER) {
		if (op != DIF_OP_LDGS || !dif_builtin_name(id) || builtin_is_array(id))
			return insn_refuse(v, "variable 0x%x cannot be used so", id);
		return NULL;
	}
	var = difo_find_var(v->d, dif_op_scope(op), id);
	if (!var)
		return insn_refuse(v, "variable 0x%x is not in the variable table", id);
	if (var->kind != (op_is_assoc(op) ? DIF_VAR_ARRAY : DIF_VAR_SCALAR))
		return insn_refuse(v, "variable '%s' is of the other kind", var->name);
	return NULL;
}

static struct err *check_subr(const struct verifier *v, dif_insn i)
{
	return dif_subr_name(DIF_INSN_INDEX(i))
		       ? NULL
		       : insn_refuse(v, "unknown subroutine %u", DIF_INSN_INDEX(i));
}

static struct err *check_ttype(const struct verifier *v, dif_insn i)
{
	return DIF_INSN_TTYPE(i) <= DIF_TUPLE_STR
		       ? NULL
		       : insn_refuse(v, "tuple element of unknown type %u", DIF_INSN_TTYPE(i));
}

static struct err *check_xlref(const struct verifier *v, dif_insn i)
{
	return insn_refuse(v, "translator reference %u was not resolved", DIF_INSN_INDEX(i));
}

/* Checks the field for which a letter of dif_syntax stands, and adds its bits to *used. */
static struct err *check_operand(const struct verifier *v, char what, dif_insn i, dif_insn *used)
{
	switch (what) {
	case '1': *used |= 0xff0000; return check_reg(v, DIF_INSN_R1(i));
	case '2': *used |= 0xff00; return check_reg(v, DIF_INSN_R2(i));
	case 'd': *used |= 0xff; return check_reg(v, DIF_INSN_RD(i));
	case 'L': *used |= 0xffffff; return check_target(v, i);
	case 'I': *used |= 0xffff00; return check_int(v, i);
	case 'S': *used |= 0xffff00; return check_str(v, i);
	case 'V': *used |= 0xffff00; return check_var(v, i);
	case 'A': *used |= 0xff0000; return check_array(v, i);
	case 'F': *used |= 0xffff00; return check_subr(v, i);
	case 'T': *used |= 0xff0000; return check_ttype(v, i);
	case 'X': *used |= 0xffff00; return check_xlref(v, i);
	default: return NULL;
	}
}

static struct err *verify_insn(const struct verifier *v)
{
	dif_insn i = v->d->code[v->at], used = 0xff000000;
	enum dif_op op = DIF_INSN_OP(i);

	if (!dif_op_name(op))
		return insn_refuse(v, "illegal opcode %u", (unsigned)op);
	for (const char *p = dif_syntax[dif_op_form(op)].operands; *p; p++)
		TRY(check_operand(v, *p, i, &used));
	if (i & ~used)
		return insn_refuse(v, "reserved bits are not zero");
	if (dif_form_writes(dif_op_form(op)) && DIF_INSN_RD(i) == 0)
		return insn_refuse(v, "%%r0 cannot be written");
	return NULL;
}

/* ---- flow ------------------------------------------------------------------------------------ */

/* The state with which control can arrive at an instruction, joined over all paths. */
struct flow {
	bool reached;
	bool flags;    /* defined on every path */
	uint8_t depth; /* of the tuple stack: the largest on any path */
};

static void flow_join(struct flow *to, const struct flow *from)
{
	to->flags = to->reached ? to->flags && from->flags : from->flags;
	to->depth = MAX(to->depth, from->depth);
	to->reached = true;
}

/* Computes the state after instruction i. */
static struct err *flow_step(const struct verifier *v, dif_insn i, struct flow *f)
{
	switch ((int)dif_op_form(DIF_INSN_OP(i))) {
	case DIF_FORM_CMP:
	case DIF_FORM_TST: f->flags = true; break;
	case DIF_FORM_LABEL:
		if (dif_op_is_cond(DIF_INSN_OP(i)) && !f->flags)
			return insn_refuse(v, "flags are not defined here");
		break;
	case DIF_FORM_PUSHTR:
	case DIF_FORM_PUSHTV:
		if (f->depth == DIF_MAX_TUPLE)
			return insn_refuse(v, "more than %d tuple elements", DIF_MAX_TUPLE);
		f->depth++;
		break;
	case DIF_FORM_CALL: f->depth = 0; break;
	case DIF_FORM_NONE:
		if (DIF_INSN_OP(i) == DIF_OP_FLUSHTS)
			f->depth = 0;
		else if (DIF_INSN_OP(i) == DIF_OP_POPTS && f->depth)
			f->depth--;
		break;
	default: break;
	}
	return NULL;
}

/* Branches only go forward, so one pass in order is enough. */
static struct err *verify_flow(struct verifier *v)
{
	const struct difo *d = v->d;
	CLEANUP(free) struct flow *in = xcalloc(d->code_len, sizeof(*in));

	in[0].reached = true;
	for (v->at = 0; v->at < d->code_len; v->at++) {
		dif_insn i = d->code[v->at];
		enum dif_op op = DIF_INSN_OP(i);
		struct flow f = in[v->at];

		if (!f.reached)
			continue;
		TRY(flow_step(v, i, &f));
		if (dif_op_form(op) == DIF_FORM_LABEL)
			flow_join(&in[DIF_INSN_LABEL(i)], &f);
		if (op != DIF_OP_BA && op != DIF_OP_RET)
			flow_join(&in[v->at + 1], &f);
	}
	return NULL;
}

struct err *difo_verify(const struct difo *d, uint32_t max_regs)
{
	struct verifier v = {.d = d, .max_regs = max_regs};
	struct err *e = verify_object(d);

	if (e)
		return err_wrap(e, "DIF object");
	for (v.at = 0; v.at < d->code_len; v.at++)
		TRY(verify_insn(&v));
	v.at = d->code_len - 1;
	if (DIF_INSN_OP(d->code[v.at]) != DIF_OP_RET)
		return insn_refuse(&v, "the last instruction is not ret");
	return verify_flow(&v);
}
