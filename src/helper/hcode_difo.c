/* SPDX-License-Identifier: MIT */
/*
 * Translates one DIF object.
 *
 * The instructions of the helper machine cost some 15 ns each, so as few as possible are made. A
 * DIF register whose value is a constant, or a register plus a constant, is not computed: the
 * instruction that uses it takes the constant or the other register as its operand. So reading a
 * member of a structure into a variable is one instruction. Where paths meet or part, all values
 * that are used later are computed.
 */
#include "arch/arch.h"
#include "kernel/kernel.h"
#include "helper/hcode_impl.h"

#define ON_FALSE UINT32_MAX /* label: where the condition is false */

/* ---- values ---------------------------------------------------------------------------------- */

static bool imm_fits(int64_t v)
{
	return v == (int32_t)v;
}

static bool insn_reads(const struct translator *t, uint32_t i, uint32_t r)
{
	struct dif_uses u = dif_insn_uses(t->d->code[i]);

	for (uint32_t k = 0; k < u.nreads; k++)
		if (u.reads[k] == r)
			return true;
	/* the flags are not computed before the branch that uses them */
	return t->has_flags && i == t->i &&
	       dif_op_form(DIF_INSN_OP(t->d->code[i])) == DIF_FORM_LABEL &&
	       (r == t->flag_a || r == t->flag_b);
}

/* Whether an instruction from i on may use the register: true is always safe. */
static bool reg_is_live(const struct translator *t, uint32_t i, uint32_t r)
{
	bool is_straight = true;

	for (; i < t->d->code_len; i++) {
		if (insn_reads(t, i, r))
			return true;
		is_straight &= dif_op_form(DIF_INSN_OP(t->d->code[i])) != DIF_FORM_LABEL &&
			       !t->is_target[i + 1];
		if (is_straight && dif_insn_uses(t->d->code[i]).writes == r)
			return false;
	}
	return false;
}

static void put_const(struct translator *t, uint32_t reg, int64_t v)
{
	if (imm_fits(v)) {
		hcode_put(t, HOP_IMM, reg, 0, 0, v);
		return;
	}
	hcode_put(t, HOP_WIDE, reg, 0, 0, 0);
	vec_push(&t->out->words, (uint64_t)v);
	t->barrier = hcode_here(t);
}

static void reg_compute(struct translator *t, uint32_t r);

/* To be called before an instruction writes to reg: computes the values that are made of it. */
static void reg_release(struct translator *t, uint32_t reg)
{
	for (uint32_t x = 1; x <= REG_MOST; x++) {
		if (x == reg || t->values[x].kind != VALUE_SUM || t->values[x].reg != reg)
			continue;
		if (reg_is_live(t, t->i, x))
			reg_compute(t, x);
		else
			t->values[x].kind = VALUE_HERE;
	}
}

static void reg_compute(struct translator *t, uint32_t r)
{
	struct value v = t->values[r];

	if (v.kind == VALUE_HERE || r == 0)
		return;
	t->values[r].kind = VALUE_HERE;
	reg_release(t, r);
	if (v.kind == VALUE_CONST)
		put_const(t, r, v.imm);
	else
		hcode_put(t, HOP_ADD | HOP_IMMEDIATE, r, v.reg, 0, v.imm);
}

static struct value value_of(const struct translator *t, uint32_t r)
{
	if (r == 0)
		return (struct value){VALUE_CONST, 0, 0};
	if (t->values[r].kind == VALUE_HERE)
		return (struct value){VALUE_SUM, r, 0};
	return t->values[r];
}

/* The register of the machine that has the value. */
static uint32_t operand_of(struct translator *t, uint32_t r)
{
	struct value v = value_of(t, r);

	if (v.kind == VALUE_SUM && v.imm == 0)
		return v.reg;
	if (v.kind == VALUE_CONST && v.imm == 0)
		return HREG_ZERO;
	reg_compute(t, r);
	return r;
}

/* Appends an instruction whose result goes to the DIF register. */
static void put_result(struct translator *t, uint32_t op, uint32_t rd, uint32_t b, uint32_t c,
		       int64_t imm)
{
	hcode_put(t, op, rd, b, c, imm);
	t->values[rd].kind = VALUE_HERE;
}

/* Notes a value that is not computed. */
static void set_value(struct translator *t, uint32_t rd, struct value v)
{
	reg_release(t, rd);
	t->values[rd] = v;
}

/* Computes what is used from instruction i on; nothing else is known any more. */
static void values_flush(struct translator *t, uint32_t i)
{
	for (uint32_t x = 1; x <= REG_MOST; x++)
		if (t->values[x].kind != VALUE_HERE && reg_is_live(t, i, x))
			reg_compute(t, x);
}

static void values_forget(struct translator *t)
{
	for (uint32_t x = 1; x <= REG_MOST; x++)
		t->values[x].kind = VALUE_HERE;
	t->barrier = hcode_here(t);
}

/* ---- variables ------------------------------------------------------------------------------- */

/* The argument of rt_execargs() in rt/task.c; 0: this kernel does not say. */
static int64_t execargs_offsets(void)
{
	static const char *const path[][2] = {{"task_struct", "mm"},
					      {"mm_struct", "arg_start"},
					      {"mm_struct", "arg_end"}};
	int64_t packed = 0;

	for (size_t i = 0; i < ARRAY_LEN(path); i++) {
		uint32_t off = 0;
		struct err *e = kfield_offset(path[i][0], path[i][1], &off);

		if (e || off > UINT16_MAX) {
			err_destroy(e);
			return 0;
		}
		packed |= (int64_t)off << (16 * i);
	}
	return packed;
}

static void load_global(struct translator *t, uint32_t id, uint32_t rd)
{
	const struct dif_var *v;
	uint32_t reg;

	if (id >= DIF_VAR_ARG0 && id <= DIF_VAR_ARG9) {
		set_value(t, rd, (struct value){VALUE_SUM, HREG_ARGS + id - DIF_VAR_ARG0, 0});
		return;
	}
	if (id >= DIF_VAR_USER) {
		v = difo_find_var(t->d, DIF_SCOPE_GLOBAL, id);
		reg = hcode_global(t, id);
		set_value(t, rd, (struct value){VALUE_SUM, reg, 0});
		if (v && v->type.kind == DIF_KIND_STRING)
			put_result(t, HOP_TEXT, rd, reg, 0, 0);
		return;
	}
	if (!dif_builtin_in_walk(id)) {
		hcode_refuse(t, "'%s'",
			     dif_builtin_name(id) ? dif_builtin_name(id) : "this variable");
		return;
	}
	reg_release(t, rd);
	if (id == DIF_VAR_EXECARGS)
		put_const(t, rd, execargs_offsets());
	put_result(t, HOP_VAR, rd, id == DIF_VAR_EXECARGS ? rd : HREG_ZERO, 0, id);
}

static void load_local(struct translator *t, uint32_t id, uint32_t rd)
{
	const struct dif_var *v = difo_find_var(t->d, DIF_SCOPE_LOCAL, id);

	if (v)
		set_value(t, rd, (struct value){VALUE_SUM, hcode_local(t, v), 0});
}

/*
 * Stores to the register of a variable. The last instruction writes to it directly, if it has just
 * computed the value. The compiler has cut the value to the size of the variable.
 */
static void store_reg(struct translator *t, uint32_t to, uint32_t rs)
{
	struct value v = value_of(t, rs);
	uint64_t none = 0, *w = &none; /* the instruction before this one */

	reg_release(t, to);
	if (hcode_here(t) > t->barrier)
		w = &t->out->words.data[hcode_here(t) - 1];
	if (v.kind == VALUE_CONST) {
		put_const(t, to, v.imm);
	} else if (v.reg == rs && v.imm == 0 && hcode_here(t) > t->barrier &&
		   hop_uses(*w) & HOP_WRITES_A && hop_a(*w) == rs) {
		*w = (*w & ~0xff00ull) | (uint64_t)to << 8;
		t->values[rs] = (struct value){VALUE_SUM, to, 0};
	} else {
		hcode_put(t, HOP_ADD | HOP_IMMEDIATE, to, v.reg, 0, v.imm);
	}
}

static void store_var(struct translator *t, enum dif_op op, uint32_t id, uint32_t rs)
{
	bool is_local = op == DIF_OP_STLS;
	const struct dif_var *v =
		difo_find_var(t->d, is_local ? DIF_SCOPE_LOCAL : DIF_SCOPE_GLOBAL, id);
	uint32_t to;

	if (!v)
		return;
	if (!is_local && dif_type_is_byref(&v->type)) {
		hcode_refuse(t,
			     "global strings, structures and arrays outside dtrace:helper:attach:");
	} else if (!is_local) {
		to = hcode_global(t, id);
		store_reg(t, to, rs);
		hcode_put(t, HOP_SAVE, 0, to, 0, to - HREG_GLOBALS);
	} else if (v->type.kind == DIF_KIND_STRING) {
		to = hcode_local(t, v);
		reg_release(t, to);
		rs = operand_of(t, rs);
		hcode_guard(t, rs, 0);
		hcode_put(t, HOP_PUTS, 0, rs, 0, to - HREG_LOCALS);
	} else {
		store_reg(t, hcode_local(t, v), rs);
	}
}

/* ---- computations ---------------------------------------------------------------------------- */

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

static bool is_commutative(enum dif_op op)
{
	return op == DIF_OP_OR || op == DIF_OP_XOR || op == DIF_OP_AND || op == DIF_OP_ADD ||
	       op == DIF_OP_MUL;
}

static void put_alu(struct translator *t, enum dif_op op, uint32_t r1, uint32_t r2, uint32_t rd)
{
	struct value a, b;
	uint32_t swap;

	if (is_commutative(op) && value_of(t, r1).kind == VALUE_CONST) {
		swap = r1;
		r1 = r2;
		r2 = swap;
	}
	reg_release(t, rd);
	a = value_of(t, r1);
	b = value_of(t, r2);
	if (b.kind == VALUE_CONST && (op == DIF_OP_ADD || op == DIF_OP_SUB) && imm_fits(b.imm) &&
	    imm_fits(a.imm + (op == DIF_OP_ADD ? b.imm : -b.imm))) {
		a.imm += op == DIF_OP_ADD ? b.imm : -b.imm;
		t->values[rd] = a;
	} else if (b.kind == VALUE_CONST && imm_fits(b.imm)) {
		uint32_t x = operand_of(t, r1);

		put_result(t, alu_op(op) | HOP_IMMEDIATE, rd, x, 0, b.imm);
	} else {
		uint32_t x = operand_of(t, r1), y = operand_of(t, r2);

		put_result(t, alu_op(op), rd, x, y, 0);
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

static void put_load(struct translator *t, enum dif_op op, uint32_t r1, uint32_t rd)
{
	struct value a;

	reg_release(t, rd);
	a = value_of(t, r1);
	if (a.kind == VALUE_CONST)
		a = (struct value){VALUE_SUM, operand_of(t, r1), 0};
	hcode_guard(t, a.reg, a.imm);
	put_result(t, HOP_LOAD, rd, a.reg, load_code(op), a.imm);
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

/* ---- calls ----------------------------------------------------------------------------------- */

static void put_call(struct translator *t, uint32_t subr, uint32_t rd)
{
	const struct dif_subr_row *row = dif_subr_row(subr);

	if (!row || !row->in_walk) {
		hcode_refuse(t, "%s()%s", row ? row->name : "this subroutine",
			     row && row->fx & FX_ATTACH ? " outside dtrace:helper:attach:" : "");
		return;
	}
	for (uint32_t k = t->npushed; k < row->nmax; k++) {
		put_const(t, REG_SPARE, (int64_t)row->omitted);
		hcode_put(t, HOP_PUSH, 0, REG_SPARE, k, 0);
	}
	for (uint32_t k = 0; t->h->is_checked && k < row->nmax; k++)
		if (row->addresses >> k & 1)
			hcode_put(t, HOP_OWN | HOP_IMMEDIATE, 0, 0, k, 0);
	reg_release(t, rd);
	put_result(t, HOP_CALL, rd, 0, 0, subr);
	t->npushed = 0;
}

static void put_push(struct translator *t, uint32_t rs)
{
	struct value v = value_of(t, rs);

	if (t->npushed < RT_HELPER_PUSHES && v.kind == VALUE_CONST && imm_fits(v.imm))
		hcode_put(t, HOP_PUSH | HOP_IMMEDIATE, 0, 0, t->npushed, v.imm);
	else if (t->npushed < RT_HELPER_PUSHES)
		hcode_put(t, HOP_PUSH, 0, operand_of(t, rs), t->npushed, 0);
	t->npushed++;
}

static void put_array(struct translator *t, dif_insn in)
{
	struct value index = value_of(t, DIF_INSN_R2(in));
	uint32_t word;

	if (DIF_INSN_OP(in) != DIF_OP_LDGA || DIF_INSN_R1(in) != DIF_VAR_UREGS) {
		hcode_refuse(t, "args[]");
		return;
	}
	if (index.kind != VALUE_CONST || index.imm < 0 || index.imm >= 36) {
		hcode_refuse(t, "an element of uregs[] that is no constant");
		return;
	}
	word = arch.uregs[index.imm / 12] >> (5 * (index.imm % 12)) & 31;
	if (word == 31)
		hcode_refuse(t, "this element of uregs[]");
	reg_release(t, DIF_INSN_RD(in));
	put_result(t, HOP_UREG, DIF_INSN_RD(in), 0, 0, word);
}

/* ---- branches -------------------------------------------------------------------------------- */

/* Whether the object returns a constant, if instruction i is executed, and does nothing else. */
static bool returns_const(const struct translator *t, uint32_t i, bool *ret)
{
	const struct difo *d = t->d;
	dif_insn in = d->code[i], next;

	if (i + 1 >= d->code_len)
		return false;
	next = d->code[i + 1];
	if (DIF_INSN_OP(next) == DIF_OP_BA)
		next = d->code[DIF_INSN_LABEL(next)];
	if (DIF_INSN_OP(next) != DIF_OP_RET || DIF_INSN_RD(next) != DIF_INSN_RD(in))
		return false;
	if (DIF_INSN_OP(in) == DIF_OP_SETX) {
		*ret = d->ints[DIF_INSN_INDEX(in)] != 0;
		return true;
	}
	*ret = false;
	return DIF_INSN_OP(in) == DIF_OP_MOV && DIF_INSN_R1(in) == 0;
}

static void jump_note(struct translator *t, uint32_t word, uint32_t label)
{
	struct fixup f = {word, label};

	vec_push(label == ON_FALSE ? &t->on_false->all : &t->jumps.all, f);
}

/* The label of a branch: in a condition, a branch to where it is known is one to its end. */
static uint32_t branch_label(const struct translator *t, uint32_t target)
{
	bool truth;

	if (t->on_false && returns_const(t, target, &truth))
		return truth ? t->d->code_len : ON_FALSE;
	return target;
}

/* The comparison of two registers of the machine: op, and whether they are exchanged. */
static uint32_t compare_op(const struct translator *t, enum dif_op op, bool *ret_swap)
{
	bool is_signed = t->flags_signed;

	*ret_swap = op == DIF_OP_BG || op == DIF_OP_BGE || op == DIF_OP_BGU || op == DIF_OP_BGEU;
	switch ((int)op) {
	case DIF_OP_BE: return HOP_JEQ;
	case DIF_OP_BNE: return HOP_JNE;
	case DIF_OP_BL:
	case DIF_OP_BG: return HOP_JSLT;
	case DIF_OP_BLE:
	case DIF_OP_BGE: return HOP_JSLE;
	case DIF_OP_BLU:
	case DIF_OP_BGU: return is_signed ? HOP_JSLT : HOP_JLT;
	default: return is_signed ? HOP_JSLE : HOP_JLE;
	}
}

static void put_branch(struct translator *t, dif_insn in)
{
	uint32_t label = branch_label(t, DIF_INSN_LABEL(in)), op, a, b;
	struct value v;
	bool swaps;

	values_flush(t, DIF_INSN_LABEL(in));
	if (DIF_INSN_OP(in) == DIF_OP_BA) {
		jump_note(t, hcode_put(t, HOP_JMP, 0, 0, 0, 0), label);
		return;
	}
	values_flush(t, t->i + 1);
	if (!t->has_flags) {
		hcode_refuse(t, "a comparison that other instructions follow");
		return;
	}
	op = compare_op(t, DIF_INSN_OP(in), &swaps);
	a = swaps ? t->flag_b : t->flag_a;
	b = swaps ? t->flag_a : t->flag_b;
	v = b == REG_COMPARED ? (struct value){VALUE_SUM, b, 0} : value_of(t, b);
	a = a == REG_COMPARED ? a : operand_of(t, a);
	if (v.kind == VALUE_CONST && v.imm >= -128 && v.imm < 128) {
		op = hcode_put(t, op | HOP_IMMEDIATE, (uint8_t)v.imm, a, 0, 0);
	} else {
		b = b == REG_COMPARED ? b : operand_of(t, b);
		op = hcode_put(t, op, 0, a, b, 0);
	}
	jump_note(t, op, label);
	t->barrier = hcode_here(t);
}

/* ---- instructions ---------------------------------------------------------------------------- */

static void note_flags(struct translator *t, dif_insn in)
{
	enum dif_op op = DIF_INSN_OP(in);
	uint32_t a, b;

	t->has_flags = true;
	t->flags_signed = op == DIF_OP_SCMP;
	t->flag_a = DIF_INSN_R1(in);
	t->flag_b = op == DIF_OP_TST ? 0 : DIF_INSN_R2(in);
	if (op != DIF_OP_SCMP)
		return;
	a = operand_of(t, t->flag_a);
	b = operand_of(t, t->flag_b);
	hcode_guard(t, a, 0);
	hcode_guard(t, b, 0);
	hcode_put(t, HOP_SCMP, REG_COMPARED, a, b, 0);
	t->flag_a = REG_COMPARED;
	t->flag_b = 0;
}

static void put_variable(struct translator *t, dif_insn in)
{
	enum dif_op op = DIF_INSN_OP(in);
	uint32_t id = DIF_INSN_INDEX(in), r = DIF_INSN_RD(in);

	switch ((int)op) {
	case DIF_OP_LDGS: load_global(t, id, r); return;
	case DIF_OP_LDLS: load_local(t, id, r); return;
	case DIF_OP_STGS:
	case DIF_OP_STLS: store_var(t, op, id, r); return;
	case DIF_OP_LDGAA:
	case DIF_OP_STGAA: hcode_refuse(t, "associative arrays"); return;
	default: hcode_refuse(t, "thread-local variables"); return;
	}
}

static void put_insn(struct translator *t, dif_insn in)
{
	enum dif_op op = DIF_INSN_OP(in);
	uint32_t r1 = DIF_INSN_R1(in), r2 = DIF_INSN_R2(in), rd = DIF_INSN_RD(in), at;

	switch (dif_op_form(op)) {
	case DIF_FORM_RRR: put_alu(t, op, r1, r2, rd); return;
	case DIF_FORM_RR:
		if (op == DIF_OP_NOT) {
			reg_release(t, rd);
			at = operand_of(t, r1);
			put_result(t, HOP_XOR | HOP_IMMEDIATE, rd, at, 0, -1);
		} else if (op == DIF_OP_MOV) {
			struct value v;

			reg_release(t, rd);
			v = value_of(t, r1);
			t->values[rd] = v;
		} else {
			hcode_refuse(t, "assignments of structures");
		}
		return;
	case DIF_FORM_CMP:
	case DIF_FORM_TST: note_flags(t, in); return;
	case DIF_FORM_LABEL: put_branch(t, in); return;
	case DIF_FORM_LOAD: put_load(t, op, r1, rd); return;
	case DIF_FORM_STORE:
		at = operand_of(t, rd);
		hcode_guard(t, at, 0);
		hcode_put(t, HOP_STORE, at, operand_of(t, r1), store_size(op), 0);
		return;
	case DIF_FORM_SETX:
		set_value(t, rd,
			  (struct value){VALUE_CONST, 0, (int64_t)t->d->ints[DIF_INSN_INDEX(in)]});
		return;
	case DIF_FORM_SETS:
		reg_release(t, rd);
		hcode_text(t, hcode_here(t), t->d->strs + DIF_INSN_INDEX(in));
		put_result(t, HOP_TEXT, rd, 0, 0, 0);
		return;
	case DIF_FORM_LDA: put_array(t, in); return;
	case DIF_FORM_LDV:
	case DIF_FORM_STV: put_variable(t, in); return;
	case DIF_FORM_CALL: put_call(t, DIF_INSN_INDEX(in), rd); return;
	case DIF_FORM_PUSHTR:
	case DIF_FORM_PUSHTV: put_push(t, DIF_INSN_RS(in)); return;
	case DIF_FORM_NONE:
		if (op == DIF_OP_FLUSHTS)
			t->npushed = 0;
		return;
	case DIF_FORM_COPYS: hcode_refuse(t, "assignments of structures"); return;
	case DIF_FORM_RET:
	case DIF_FORM_XLATE: break;
	}
	hcode_refuse(t, "translators");
}

/* ---- objects --------------------------------------------------------------------------------- */

static void regs_check(struct translator *t, const struct difo *d)
{
	for (uint32_t i = 0; i < d->code_len; i++) {
		struct dif_uses u = dif_insn_uses(d->code[i]);

		if (u.writes > REG_MOST)
			hcode_refuse(t, "an expression with so many values at once");
	}
}

/* The end of a condition: jumps if the value is false. */
static void return_truth(struct translator *t, uint32_t r)
{
	struct value v = value_of(t, r);

	if (v.kind != VALUE_CONST)
		jump_note(t, hcode_put(t, HOP_JEQ | HOP_IMMEDIATE, 0, operand_of(t, r), 0, 0),
			  ON_FALSE);
	else if (!v.imm)
		jump_note(t, hcode_put(t, HOP_JMP, 0, 0, 0, 0), ON_FALSE);
}

/* The end of an object with several returns. */
static void return_value(struct translator *t, uint32_t r)
{
	hcode_put(t, HOP_ADD, REG_VALUE, operand_of(t, r), 0, 0);
}

/*
 * Translates instruction i, and says whether the next one follows it. One that does not follow is
 * translated only if something else branches to it.
 */
static bool insn_translate(struct translator *t, uint32_t i, bool has_one_return)
{
	const struct difo *d = t->d;
	bool truth;

	if (t->on_false && returns_const(t, i, &truth)) {
		jump_note(t, hcode_put(t, HOP_JMP, 0, 0, 0, 0), truth ? d->code_len : ON_FALSE);
		return false;
	}
	if (DIF_INSN_OP(d->code[i]) != DIF_OP_RET) {
		put_insn(t, d->code[i]);
		return DIF_INSN_OP(d->code[i]) != DIF_OP_BA;
	}
	if (t->on_false)
		return_truth(t, DIF_INSN_RD(d->code[i]));
	else if (!has_one_return)
		return_value(t, DIF_INSN_RD(d->code[i]));
	if (i + 1 < d->code_len)
		jump_note(t, hcode_put(t, HOP_JMP, 0, 0, 0, 0), d->code_len);
	return false;
}

/* A last jump to what follows it is not needed. */
static void last_jump_drop(struct translator *t)
{
	const struct fixup *last = t->jumps.all.len ? vec_last(&t->jumps.all) : NULL;

	if (last && last->label == t->d->code_len && last->word == hcode_here(t) - 1 &&
	    hop_code(t->out->words.data[last->word]) == HOP_JMP) {
		t->jumps.all.len--;
		t->out->words.len--;
	}
}

static struct value difo_translate(struct translator *t, const struct difo *d)
{
	CLEANUP(free) uint32_t *at = xcalloc(d->code_len + 1, sizeof(*at));
	CLEANUP(free) bool *is_target = xcalloc(d->code_len + 2, sizeof(*is_target));
	struct value result = {VALUE_SUM, REG_VALUE, 0};
	uint32_t nreturns = 0;
	bool follows = true;

	regs_check(t, d);
	for (uint32_t i = 0; i < d->code_len; i++) {
		if (dif_op_form(DIF_INSN_OP(d->code[i])) == DIF_FORM_LABEL)
			is_target[DIF_INSN_LABEL(d->code[i])] = true;
		nreturns += DIF_INSN_OP(d->code[i]) == DIF_OP_RET;
	}
	t->d = d;
	t->at = at;
	t->is_target = is_target;
	t->jumps.all.len = 0;
	t->npushed = 0;
	t->has_flags = false;
	values_forget(t);
	for (t->i = 0; t->i < d->code_len && !t->err; t->i++) {
		if (is_target[t->i]) {
			if (follows)
				values_flush(t, t->i);
			values_forget(t);
			t->has_flags = false;
			follows = true;
		}
		at[t->i] = hcode_here(t);
		if (!follows)
			continue;
		if (nreturns == 1 && !t->on_false && DIF_INSN_OP(d->code[t->i]) == DIF_OP_RET)
			result = value_of(t, DIF_INSN_RD(d->code[t->i]));
		else
			follows = insn_translate(t, t->i, nreturns == 1);
	}
	last_jump_drop(t);
	at[d->code_len] = hcode_here(t);
	for (uint32_t i = 0; i < t->jumps.all.len && !t->err; i++)
		hcode_jump(t, t->jumps.all.data[i].word, at[t->jumps.all.data[i].label]);
	t->barrier = hcode_here(t);
	if (result.kind == VALUE_SUM && result.imm) {
		hcode_put(t, HOP_ADD | HOP_IMMEDIATE, REG_VALUE, result.reg, 0, result.imm);
		result = (struct value){VALUE_SUM, REG_VALUE, 0};
	}
	return result;
}

struct value hcode_difo(struct translator *t, const struct difo *d)
{
	t->on_false = NULL;
	return difo_translate(t, d);
}

void hcode_condition(struct translator *t, const struct difo *d, struct fixup_list *on_false)
{
	t->on_false = on_false;
	(void)difo_translate(t, d);
	t->on_false = NULL;
}
