/* SPDX-License-Identifier: MIT */
/*
 * Code generation: one DIF object.
 *
 * 1. says for the register allocation what each instruction reads, writes and destroys: registers
 *    of DIF, the two values that were compared last, and the entries of the tuple stack;
 * 2. lets it choose locations;
 * 3. emits the instructions in order. Only branches need labels, and lead forward.
 *
 * takes.c has checked the object: it has only the instructions for which there is code here, the
 * depth of the tuple stack at each instruction does not depend on the way there, and what scmp has
 * compared is tested once, for equality.
 */
#include "native/gen.h"

enum { V_LEFT = DIF_MAX_REGS, V_RIGHT, V_TUPLE, V_END = V_TUPLE + DIF_MAX_TUPLE };

struct expr {
	struct ngen *g;
	const struct difo *d;
	uint32_t action;
	uint32_t end;	   /* the instructions before this one are translated */
	uint32_t is_false; /* a branch there leads to the label out; UINT32_MAX: none does */
	uint32_t out;
	struct ra_insn *insns;
	bool *reached;
	uint8_t *depth;	  /* of the tuple stack, before each instruction */
	uint32_t *labels; /* by instruction: label + 1; 0 = none */
	uint16_t vregs[V_END];
	uint32_t nvregs;
	struct regalloc *ra;
};

/* ---- arithmetic ------------------------------------------------------------------------------ */

/* dst op= b; b is not in dst */
static void alu_emit(struct ngen *g, enum x86_alu op, enum x86_reg dst, const struct ra_loc *b)
{
	struct x86_mem m;

	if (loc_is_s32(b))
		x86_alu_imm(&g->x, op, dst, (int32_t)b->value);
	else if (loc_is_mem(g, b, &m))
		x86_alu_load(&g->x, op, dst, m);
	else
		x86_alu(&g->x, op, dst, loc_use(g, b, RCX));
}

static void shift_emit(struct ngen *g, enum x86_shift op, enum x86_reg dst, const struct ra_loc *b)
{
	if (b->kind == RA_CONST) {
		x86_shift(&g->x, op, dst, b->value & 63);
		return;
	}
	loc_load(g, RCX, b);
	x86_shift_cl(&g->x, op, dst);
}

static void mul_emit(struct ngen *g, enum x86_reg dst, const struct ra_loc *b)
{
	if (loc_is_s32(b))
		x86_mul_imm(&g->x, dst, dst, (int32_t)b->value);
	else
		x86_mul(&g->x, dst, loc_use(g, b, RCX));
}

static void compute_emit(struct ngen *g, enum dif_op op, enum x86_reg dst, const struct ra_loc *b)
{
	switch ((int)op) {
	case DIF_OP_ADD: alu_emit(g, X86_ADD, dst, b); return;
	case DIF_OP_SUB: alu_emit(g, X86_SUB, dst, b); return;
	case DIF_OP_AND: alu_emit(g, X86_AND, dst, b); return;
	case DIF_OP_OR: alu_emit(g, X86_OR, dst, b); return;
	case DIF_OP_XOR: alu_emit(g, X86_XOR, dst, b); return;
	case DIF_OP_SLL: shift_emit(g, X86_SHL, dst, b); return;
	case DIF_OP_SRL: shift_emit(g, X86_SHR, dst, b); return;
	case DIF_OP_SRA: shift_emit(g, X86_SAR, dst, b); return;
	case DIF_OP_MUL: mul_emit(g, dst, b); return;
	default: BUG("opcode %d does not compute", (int)op);
	}
}

static void arith_emit(struct ngen *g, const struct dif_at *at)
{
	const struct ra_loc *a = &at->reads[0], *b = &at->reads[1], *d = &at->writes[0];
	enum x86_reg dst = loc_dst(d, RAX);

	if (d->kind == RA_UNUSED)
		return;
	/* the result is computed elsewhere while its location has the second operand */
	if (d->kind == RA_REG && loc_same(b, d))
		dst = RAX;
	loc_load(g, dst, a);
	compute_emit(g, DIF_INSN_OP(at->insn), dst, b);
	loc_put(g, d, dst);
}

static void not_emit(struct ngen *g, const struct dif_at *at)
{
	enum x86_reg dst = loc_dst(&at->writes[0], RAX);

	if (at->writes[0].kind == RA_UNUSED)
		return;
	loc_load(g, dst, &at->reads[0]);
	x86_not(&g->x, dst);
	loc_put(g, &at->writes[0], dst);
}

/* rax and rdx = quotient and rest of the signed division of rax by rcx, which is not 0 */
static void sdiv_emit(struct ngen *g, const struct ra_loc *b)
{
	uint32_t is_minus_one = x86_label(&g->x), done = x86_label(&g->x);
	bool may_overflow = b->kind != RA_CONST || b->value == UINT64_MAX;

	if (may_overflow) { /* the least number has no positive counterpart: the processor faults */
		x86_alu_imm(&g->x, X86_CMP, RCX, -1);
		x86_jcc(&g->x, X86_E, is_minus_one);
	}
	x86_cqo(&g->x);
	x86_div(&g->x, RCX, true);
	if (may_overflow) {
		x86_jmp(&g->x, done);
		x86_here(&g->x, is_minus_one);
		x86_neg(&g->x, RAX);
		x86_imm(&g->x, RDX, 0);
	} else {
		x86_here(&g->x, is_minus_one);
	}
	x86_here(&g->x, done);
}

static void divide_emit(struct ngen *g, const struct dif_at *at)
{
	const struct ra_loc *b = &at->reads[1], *d = &at->writes[0];
	enum dif_op op = DIF_INSN_OP(at->insn);

	loc_load(g, RCX, b);
	if (b->kind != RA_CONST || !b->value) {
		x86_test(&g->x, RCX, RCX);
		x86_jcc(&g->x, X86_E, ngen_fault(g, at, DIF_FAULT_DIVZERO));
	}
	if (d->kind == RA_UNUSED)
		return;
	loc_load(g, RAX, &at->reads[0]);
	if (op == DIF_OP_SDIV || op == DIF_OP_SREM) {
		sdiv_emit(g, b);
	} else {
		x86_imm(&g->x, RDX, 0);
		x86_div(&g->x, RCX, false);
	}
	loc_put(g, d, op == DIF_OP_SDIV || op == DIF_OP_UDIV ? RAX : RDX);
}

/* ---- copies and branches --------------------------------------------------------------------- */

static void loc_copy(struct ngen *g, const struct ra_loc *from, const struct ra_loc *to)
{
	if (to->kind == RA_UNUSED || loc_same(from, to))
		return;
	if (to->kind == RA_REG)
		loc_load(g, loc_dst(to, RAX), from);
	else
		loc_put(g, to, loc_use(g, from, RAX));
}

/* writes[k] = reads[k] for all k, at once */
static void copy_emit(struct ngen *g, const struct dif_at *at)
{
	const struct ra_loc *r = at->reads, *w = at->writes;

	if (at->nwrites == 2 && w[0].kind != RA_UNUSED && loc_same(&w[0], &r[1]) &&
	    !loc_same(&w[0], &r[0])) {
		loc_load(g, RCX, &r[1]);
		loc_copy(g, &r[0], &w[0]);
		loc_put(g, &w[1], RCX);
		return;
	}
	for (uint32_t k = 0; k < at->nwrites; k++)
		loc_copy(g, &r[k], &w[k]);
}

static enum x86_cond branch_cond(enum dif_op op)
{
	switch ((int)op) {
	case DIF_OP_BE: return X86_E;
	case DIF_OP_BNE: return X86_NE;
	case DIF_OP_BG: return X86_G;
	case DIF_OP_BGE: return X86_GE;
	case DIF_OP_BL: return X86_L;
	case DIF_OP_BLE: return X86_LE;
	case DIF_OP_BGU: return X86_A;
	case DIF_OP_BGEU: return X86_AE;
	case DIF_OP_BLU: return X86_B;
	case DIF_OP_BLEU: return X86_BE;
	default: BUG("opcode %d is not a conditional branch", (int)op);
	}
}

static void branch_emit(struct ngen *g, const struct dif_at *at, uint32_t label)
{
	const struct ra_loc *a = &at->reads[0], *b = &at->reads[1];
	struct x86_mem m;

	if (loc_is_mem(g, a, &m) && loc_is_s32(b))
		x86_alu_mem_imm(&g->x, 8, X86_CMP, m, (int32_t)b->value);
	else
		alu_emit(g, X86_CMP, loc_use(g, a, RAX), b);
	x86_jcc(&g->x, branch_cond(DIF_INSN_OP(at->insn)), label);
}

/* ---- subroutines ----------------------------------------------------------------------------- */

/* Calls the function of the blob: arguments, and for sample() the CPU, and the thread block. */
static void sample_emit(struct ngen *g, const struct dif_at *at)
{
	uint32_t subr = DIF_INSN_INDEX(at->insn);

	loc_load(g, RSI, &at->reads[0]);
	if (subr == DIF_SUBR_SAMPLE) {
		loc_load(g, RDX, &at->reads[1]);
		x86_load(&g->x, 8, false, RCX, on_stack(g->stack.cpu));
		x86_load(&g->x, 8, false, R8, x86_at_fs(0));
		ngen_call(g, BLOB_SAMPLE);
	} else if (subr == DIF_SUBR_SAMPLED) {
		x86_load(&g->x, 8, false, RDX, x86_at_fs(0));
		ngen_call(g, BLOB_SAMPLED);
	} else {
		ngen_call(g, BLOB_FOLLOWED);
	}
	loc_put(g, &at->writes[0], RAX);
}

static void subr_emit(struct ngen *g, const struct dif_at *at)
{
	const struct ra_loc *d = &at->writes[0];

	if (ngen_subr_samples(DIF_INSN_INDEX(at->insn))) {
		sample_emit(g, at);
		return;
	}
	if (d->kind == RA_UNUSED)
		return;
	loc_load(g, RAX, &at->reads[0]);
	switch (DIF_INSN_INDEX(at->insn)) {
	case DIF_SUBR_HTONS:
	case DIF_SUBR_NTOHS:
		x86_bswap(&g->x, 8, RAX);
		x86_shift(&g->x, X86_SHR, RAX, 48);
		break;
	case DIF_SUBR_HTONL:
	case DIF_SUBR_NTOHL: x86_bswap(&g->x, 4, RAX); break;
	case DIF_SUBR_HTONLL:
	case DIF_SUBR_NTOHLL: x86_bswap(&g->x, 8, RAX); break;
	default: BUG("subroutine %u has no code", DIF_INSN_INDEX(at->insn));
	}
	loc_put(g, d, RAX);
}

/* ---- faults ---------------------------------------------------------------------------------- */

/* The record of the clause is given up, so its room can have the record of the fault. */
static void emit_fault(struct ngen *g, const struct ngen_cold *c)
{
	uint32_t at = g->stack.rec + (uint32_t)offsetof(struct rt_rec_fault, fault);

	x86_store_imm(&g->x, 4, on_stack(at + offsetof(struct rt_fault, kind)), (int32_t)c->kind);
	x86_store_imm(&g->x, 4, on_stack(at + offsetof(struct rt_fault, action)),
		      (int32_t)c->action);
	x86_store_imm(&g->x, 4, on_stack(at + offsetof(struct rt_fault, offset)),
		      (int32_t)c->offset);
	x86_jmp(&g->x, g->fault);
	g->fault_used = true;
}

uint32_t ngen_fault(struct ngen *g, const struct dif_at *at, enum dif_fault kind)
{
	return ngen_cold(g, (struct ngen_cold){.emit = emit_fault,
					       .kind = kind,
					       .action = at->action,
					       .offset = at->i * (uint32_t)sizeof(dif_insn)});
}

/* ---- 1. what instructions read and write ----------------------------------------------------- */

static uint16_t vreg_get(struct expr *x, uint32_t v)
{
	if (v == 0)
		return RA_ZERO;
	if (!x->vregs[v])
		x->vregs[v] = (uint16_t)++x->nvregs;
	return x->vregs[v] - 1;
}

static void reads_set(struct expr *x, struct ra_insn *ri, const uint32_t *v, uint32_t n)
{
	uint16_t *r = ARENA_NEW_N(x->g->tmp, uint16_t, n);

	for (uint32_t k = 0; k < n; k++)
		r[k] = vreg_get(x, v[k]);
	ri->reads = r;
	ri->nreads = n;
}

static void write_add(struct expr *x, struct ra_insn *ri, uint32_t v)
{
	if (v)
		ri->writes[ri->nwrites++] = vreg_get(x, v);
}

/* What the instruction reads besides the tuple stack; returns how many. */
static uint32_t operands_list(dif_insn insn, uint32_t *v)
{
	switch (dif_op_form(DIF_INSN_OP(insn))) {
	case DIF_FORM_RRR:
		v[0] = DIF_INSN_R1(insn);
		v[1] = DIF_INSN_R2(insn);
		return 2;
	case DIF_FORM_RR: v[0] = DIF_INSN_R1(insn); return 1;
	case DIF_FORM_RET:
	case DIF_FORM_STV:
	case DIF_FORM_PUSHTR:
	case DIF_FORM_PUSHTV: v[0] = DIF_INSN_RS(insn); return 1;
	case DIF_FORM_CMP:
		v[0] = DIF_INSN_R1(insn);
		v[1] = DIF_INSN_R2(insn);
		return 2;
	case DIF_FORM_TST:
		v[0] = DIF_INSN_R1(insn);
		v[1] = 0;
		return 2;
	case DIF_FORM_LABEL:
		v[0] = V_LEFT;
		v[1] = V_RIGHT;
		return DIF_INSN_OP(insn) == DIF_OP_BA ? 0 : 2;
	case DIF_FORM_NONE:
	case DIF_FORM_LOAD:
	case DIF_FORM_STORE:
	case DIF_FORM_SETX:
	case DIF_FORM_SETS:
	case DIF_FORM_LDA: /* the index is a constant */
	case DIF_FORM_LDV:
	case DIF_FORM_CALL:
	case DIF_FORM_COPYS:
	case DIF_FORM_XLATE: break;
	}
	return 0;
}

static bool uses_tuple(enum dif_op op)
{
	return op == DIF_OP_CALL || (op >= DIF_OP_LDGAA && op <= DIF_OP_STTAA);
}

static void writes_describe(struct expr *x, struct ra_insn *ri, dif_insn insn, uint32_t depth)
{
	enum dif_form form = dif_op_form(DIF_INSN_OP(insn));

	if (form == DIF_FORM_CMP || form == DIF_FORM_TST) {
		write_add(x, ri, V_LEFT);
		write_add(x, ri, V_RIGHT);
		ri->copies = true;
	} else if (form == DIF_FORM_PUSHTR || form == DIF_FORM_PUSHTV) {
		write_add(x, ri, V_TUPLE + depth);
		ri->copies = true;
	} else {
		write_add(x, ri, dif_insn_uses(insn).writes);
		ri->copies = DIF_INSN_OP(insn) == DIF_OP_MOV;
	}
}

/* The value of the instruction if it is a constant, or lies in memory that stays as it is. */
static struct ra_loc home_find(struct expr *x, uint32_t i)
{
	dif_insn insn = x->d->code[i];
	struct ra_loc home = {0};
	uint64_t index;

	switch ((int)DIF_INSN_OP(insn)) {
	case DIF_OP_SETX:
		home = (struct ra_loc){.kind = RA_CONST, .value = x->d->ints[DIF_INSN_INDEX(insn)]};
		break;
	case DIF_OP_SETS: {
		const char *s = x->d->strs + DIF_INSN_INDEX(insn);

		home.kind = RA_STR;
		if (!strtab_find(x->g->l->strtab, s, strlen(s), &home.n))
			BUG("a string constant is not in the session's table");
		break;
	}
	case DIF_OP_LDGS:
		if (DIF_INSN_INDEX(insn) < DIF_VAR_USER)
			home = builtin_home(x->g, DIF_INSN_INDEX(insn));
		break;
	case DIF_OP_LDGA:
		if (ngen_const_index(x->d, i, &index))
			home = array_home(x->g, DIF_INSN_R1(insn), index);
		break;
	default: break;
	}
	return home;
}

static bool insn_calls(struct expr *x, uint32_t i)
{
	dif_insn insn = x->d->code[i];
	enum dif_op op = DIF_INSN_OP(insn);

	if (op == DIF_OP_LDGS && DIF_INSN_INDEX(insn) < DIF_VAR_USER)
		return DIF_INSN_INDEX(insn) == DIF_VAR_TIMESTAMP;
	if (op == DIF_OP_CALL)
		return ngen_subr_samples(DIF_INSN_INDEX(insn));
	return var_insn_calls(x->g->l, insn);
}

static void insn_describe(struct expr *x, uint32_t i)
{
	struct ra_insn *ri = &x->insns[i];
	dif_insn insn = x->d->code[i];
	enum dif_op op = DIF_INSN_OP(insn);
	uint32_t v[DIF_MAX_TUPLE + 3], n = operands_list(insn, v);

	for (uint32_t k = 0; uses_tuple(op) && k < x->depth[i]; k++)
		v[n++] = V_TUPLE + k;
	reads_set(x, ri, v, n);
	writes_describe(x, ri, insn, x->depth[i]);
	ri->home = home_find(x, i);
	ri->clobbers = insn_calls(x, i);
	/* the operands of these are still read when the result is being made */
	ri->keeps_reads = uses_tuple(op) || dif_op_form(op) == DIF_FORM_STV;
	ri->ends = op == DIF_OP_RET || op == DIF_OP_BA;
}

/* Notes that control comes from instruction i to the next one, or to the target of its branch. */
static void flow_note(struct expr *x, uint32_t i)
{
	struct ra_insn *ri = &x->insns[i];
	dif_insn insn = x->d->code[i];
	enum dif_op op = DIF_INSN_OP(insn);
	uint32_t depth = x->depth[i], target = DIF_INSN_LABEL(insn);

	if (op == DIF_OP_CALL || op == DIF_OP_FLUSHTS)
		depth = 0;
	else if (op == DIF_OP_PUSHTR || op == DIF_OP_PUSHTV)
		depth++;
	else if (op == DIF_OP_POPTS && depth)
		depth--;
	if (dif_op_form(op) == DIF_FORM_LABEL) {
		/* what a branch leads to behind the instructions reads none of their values */
		ri->target = MIN(target, x->end);
		x->reached[target] = true;
		x->depth[target] = (uint8_t)depth;
		if (target == x->is_false)
			x->labels[target] = x->out + 1;
		else if (!x->labels[target])
			x->labels[target] = x86_label(&x->g->x) + 1;
	}
	if (!ri->ends) {
		x->reached[i + 1] = true;
		x->depth[i + 1] = (uint8_t)depth;
	}
}

static void insns_describe(struct expr *x)
{
	uint32_t n = x->d->code_len + 1;

	x->insns = ARENA_NEW_N(x->g->tmp, struct ra_insn, n);
	x->reached = ARENA_NEW_N(x->g->tmp, bool, n);
	x->depth = ARENA_NEW_N(x->g->tmp, uint8_t, n);
	x->labels = ARENA_NEW_N(x->g->tmp, uint32_t, n);
	x->reached[0] = true;
	for (uint32_t i = 0; i < x->end; i++) {
		x->insns[i].target = RA_NONE;
		x->insns[i].ends = !x->reached[i];
		if (!x->reached[i])
			continue;
		insn_describe(x, i);
		flow_note(x, i);
	}
}

/* ---- 3. instructions ------------------------------------------------------------------------- */

static void load_emit(struct ngen *g, const struct dif_at *at, const struct ra_loc *home)
{
	uint32_t id = DIF_INSN_INDEX(at->insn);

	uint64_t index;

	if (home->kind != RA_UNUSED) {
		loc_copy(g, home, &at->writes[0]);
	} else if (DIF_INSN_OP(at->insn) == DIF_OP_LDGA && ngen_const_index(at->d, at->i, &index)) {
		ngen_array(g, DIF_INSN_R1(at->insn), index);
		loc_put(g, &at->writes[0], RAX);
	} else if (DIF_INSN_OP(at->insn) == DIF_OP_LDGS && id < DIF_VAR_USER) {
		ngen_builtin(g, id);
		loc_put(g, &at->writes[0], RAX);
	} else {
		ngen_var_load(g, at);
	}
}

static void insn_emit(struct ngen *g, const struct dif_at *at, const struct ra_loc *home)
{
	enum dif_op op = DIF_INSN_OP(at->insn);

	switch (dif_op_form(op)) {
	case DIF_FORM_RRR:
		if (op >= DIF_OP_SDIV && op <= DIF_OP_UREM)
			divide_emit(g, at);
		else
			arith_emit(g, at);
		return;
	case DIF_FORM_RR:
		if (op == DIF_OP_NOT)
			not_emit(g, at);
		else
			copy_emit(g, at);
		return;
	case DIF_FORM_CMP:
	case DIF_FORM_TST:
	case DIF_FORM_PUSHTR:
	case DIF_FORM_PUSHTV: copy_emit(g, at); return;
	case DIF_FORM_SETX:
	case DIF_FORM_SETS:
	case DIF_FORM_LDA: load_emit(g, at, home); return;
	case DIF_FORM_LDV:
		if (uses_tuple(op))
			ngen_elem_load(g, at);
		else
			load_emit(g, at, home);
		return;
	case DIF_FORM_STV:
		if (uses_tuple(op))
			ngen_elem_store(g, at);
		else
			ngen_var_store(g, at);
		return;
	case DIF_FORM_CALL: subr_emit(g, at); return;
	case DIF_FORM_NONE: return;
	case DIF_FORM_LABEL:
	case DIF_FORM_RET: /* insns_emit() */
	case DIF_FORM_LOAD:
	case DIF_FORM_STORE:
	case DIF_FORM_COPYS:
	case DIF_FORM_XLATE: break;
	}
	BUG("DIF instruction 0x%08x has no code", at->insn);
}

static void insns_emit(struct expr *x)
{
	struct ngen *g = x->g;
	uint32_t end = x86_label(&g->x);

	for (uint32_t k = 0; k < x->ra->nzeros; k++) {
		x86_imm(&g->x, RAX, 0);
		loc_put(g, &x->ra->zeros[k], RAX);
	}
	for (uint32_t i = 0; i < x->end; i++) {
		struct dif_at at = {.d = x->d,
				    .i = i,
				    .insn = x->d->code[i],
				    .reads = x->ra->reads[i],
				    .writes = x->ra->writes[i],
				    .nreads = x->insns[i].nreads,
				    .nwrites = x->insns[i].nwrites,
				    .action = x->action};
		enum dif_op op = DIF_INSN_OP(at.insn);

		if (!x->reached[i])
			continue;
		if (x->labels[i])
			x86_here(&g->x, x->labels[i] - 1);
		if (op == DIF_OP_RET) {
			loc_load(g, RAX, &at.reads[0]);
			if (i + 1 < x->end)
				x86_jmp(&g->x, end);
		} else if (op == DIF_OP_BA) {
			x86_jmp(&g->x, x->labels[DIF_INSN_LABEL(at.insn)] - 1);
		} else if (dif_op_form(op) == DIF_FORM_LABEL) {
			branch_emit(g, &at, x->labels[DIF_INSN_LABEL(at.insn)] - 1);
		} else if (at.nwrites != 1 || x->insns[i].home.kind == RA_UNUSED ||
			   !loc_same(&x->insns[i].home, &at.writes[0])) {
			insn_emit(g, &at, &x->insns[i].home);
		}
	}
	if (x->end < x->d->code_len && x->labels[x->end])
		x86_here(&g->x, x->labels[x->end] - 1);
	x86_here(&g->x, end);
}

/* The number of slots for spills in the locations. */
static void spills_note(struct ngen *g, const struct ra_loc *locs, uint32_t n)
{
	for (uint32_t k = 0; k < n; k++)
		if (locs[k].kind == RA_STACK)
			g->nspill = MAX(g->nspill, locs[k].n + 1);
}

static void expr_emit(struct ngen *g, const struct expr *what)
{
	struct ra_opts opts = {.nstack = NSPILL_MAX, .seed = g->t->shuffle};
	struct expr *x;

	if (!what->end)
		return;
	arena_reset(g->tmp);
	x = ARENA_NEW(g->tmp, struct expr);
	*x = *what;
	x->g = g;
	insns_describe(x);
	if (opts.seed)
		opts.seed += g->x.code.len;
	x->ra = regalloc_run(g->tmp, x->insns, x->end, x->nvregs, &opts);
	if (!x->ra) {
		ngen_fail(g, "an expression needs more than %u values at once", NSPILL_MAX);
		return;
	}
	for (uint32_t i = 0; i < x->end; i++) {
		spills_note(g, x->ra->reads[i], x->insns[i].nreads);
		spills_note(g, x->ra->writes[i], x->insns[i].nwrites);
	}
	spills_note(g, x->ra->zeros, x->ra->nzeros);
	insns_emit(x);
}

void ngen_difo(struct ngen *g, const struct difo *d, uint32_t action)
{
	struct expr what = {.d = d, .action = action, .end = d->code_len, .is_false = UINT32_MAX};

	expr_emit(g, &what);
}

/*
 * Whether the object ends with "setx 1, %r; ba 4; mov %r0, %r; ret %r", and is 0 only where a
 * branch leads to the mov: then that branch leads out, and nothing is tested.
 */
static bool is_truth(const struct difo *d)
{
	uint32_t end = d->code_len - 4, r;

	if (d->code_len < 4)
		return false;
	r = DIF_INSN_RD(d->code[end + 3]);
	if (!r || DIF_INSN_OP(d->code[end]) != DIF_OP_SETX ||
	    !d->ints[DIF_INSN_INDEX(d->code[end])] || DIF_INSN_RD(d->code[end]) != r ||
	    d->code[end + 1] != dif_branch(DIF_OP_BA, end + 3) ||
	    d->code[end + 2] != dif_rrr(DIF_OP_MOV, 0, 0, r) ||
	    DIF_INSN_OP(d->code[end + 3]) != DIF_OP_RET)
		return false;
	for (uint32_t i = 0; i < end; i++) {
		uint32_t target = DIF_INSN_LABEL(d->code[i]);

		if (DIF_INSN_OP(d->code[i]) == DIF_OP_RET)
			return false;
		if (dif_op_form(DIF_INSN_OP(d->code[i])) == DIF_FORM_LABEL && target > end &&
		    target != end + 2)
			return false;
	}
	return true;
}

void ngen_difo_test(struct ngen *g, const struct difo *d, uint32_t action, uint32_t out)
{
	if (is_truth(d)) {
		struct expr what = {.d = d,
				    .action = action,
				    .end = d->code_len - 4,
				    .is_false = d->code_len - 2,
				    .out = out};

		expr_emit(g, &what);
		return;
	}
	ngen_difo(g, d, action);
	x86_test(&g->x, RAX, RAX);
	x86_jcc(&g->x, X86_E, out);
}
