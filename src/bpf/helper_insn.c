/* SPDX-License-Identifier: MIT */
/* Compiles instructions of the helper machine, each to the code that does the same. */
#include "bpf/helper_code_impl.h"

#include "dif/dif.h"

static int32_t reg_off(uint32_t reg)
{
	return STATE(regs) + 8 * (int32_t)reg;
}

/* ---- pieces ---------------------------------------------------------------------------------- */

void count_due(struct compiler *k)
{
	if (k->due)
		em_alu_imm(&k->e, BPF_ADD, R8, (int32_t)k->due);
	k->due = 0;
}

/* The register that has the value: r7, or dst. */
static int reg_use(struct compiler *k, uint32_t reg, int dst)
{
	if (reg == HREG_ZERO) {
		em_imm(&k->e, dst, 0);
		return dst;
	}
	if (reg == k->cached)
		return R7;
	em_load(&k->e, 8, dst, R6, reg_off(reg));
	return dst;
}

static void reg_load(struct compiler *k, int dst, uint32_t reg)
{
	em_mov(&k->e, dst, reg_use(k, reg, dst));
}

/* The value in r7 becomes that of a register. */
static void reg_set(struct compiler *k, uint32_t reg)
{
	k->cached = reg == HREG_ZERO ? NO_REG : reg;
	if (reg != HREG_ZERO)
		em_store(&k->e, 8, R6, reg_off(reg), R7);
}

void call_rt(struct compiler *k, const char *name)
{
	em_mov(&k->e, R1, R9);
	em_call_rt(&k->e, name);
}

static uint32_t late_add(struct compiler *k, uint32_t back, uint32_t after)
{
	uint32_t entry = em_label(&k->e);

	vec_push(&k->late, (struct late){entry, back, k->word, after});
	return entry;
}

/*
 * Emits a jump to the next instruction if the function that was called last has faulted: the result
 * of the present instruction is then left out.
 */
static void fault_check(struct compiler *k)
{
	em_load(&k->e, 4, R1, R9, FAULT_KIND);
	em_jmp_imm(&k->e, BPF_JNE, R1, 0, late_add(k, NO_LABEL, k->word + 1));
}

/* ---- loads ----------------------------------------------------------------------------------- */

/*
 * From a line that was read before (line_load() of rt/helper_memory.h); what is in none, the late
 * code reads. r5 = the address.
 */
static void put_load(struct compiler *k, uint64_t in)
{
	struct emitter *e = &k->e;
	uint32_t size = hop_c(in) & 15, back = em_label(e), slow = late_add(k, back, k->word + 1);

	if (size != 1 && size != 2 && size != 4 && size != 8) {
		k->is_strange = true;
		size = 8;
	}
	reg_load(k, R5, hop_b(in));
	if (hop_imm(in))
		em_alu_imm(e, BPF_ADD, R5, hop_imm(in));
	em_mov(e, R2, R5);
	em_alu_imm(e, BPF_RSH, R2, RT_HELPER_LINE_SHIFT);
	em_mov(e, R4, R2);
	em_alu_imm(e, BPF_AND, R4, RT_HELPER_LINES - 1);
	em_mov(e, R3, R4);
	em_alu_imm(e, BPF_LSH, R3, 3);
	em_alu_reg(e, BPF_ADD, R3, R6);
	em_load(e, 8, R3, R3, STATE(tags));
	em_alu_imm(e, BPF_ADD, R2, 1);
	em_jmp_reg(e, BPF_JNE, R3, R2, slow);
	em_mov(e, R1, R5);
	em_alu_imm(e, BPF_AND, R1, RT_HELPER_LINE - 1);
	em_jmp_imm(e, BPF_JGT, R1, (int32_t)(RT_HELPER_LINE - size), slow);
	em_alu_imm(e, BPF_LSH, R4, RT_HELPER_LINE_SHIFT);
	em_alu_reg(e, BPF_ADD, R4, R1);
	em_alu_reg(e, BPF_ADD, R4, R6);
	em_load(e, size, R7, R4, STATE(lines));
	if (hop_c(in) & HELPER_SIGNED)
		em_extend(e, R7, size, true);
	em_here(e, back);
	reg_set(k, hop_a(in));
}

/* ---- computations and jumps ------------------------------------------------------------------ */

static void put_compute(struct compiler *k, uint64_t in)
{
	static const uint8_t ops[] = {
		[HOP_ADD] = BPF_ADD,  [HOP_SUB] = BPF_SUB,  [HOP_AND] = BPF_AND,
		[HOP_OR] = BPF_OR,    [HOP_XOR] = BPF_XOR,  [HOP_SHL] = BPF_LSH,
		[HOP_SHR] = BPF_RSH,  [HOP_SAR] = BPF_ARSH, [HOP_MUL] = BPF_MUL,
		[HOP_UDIV] = BPF_DIV, [HOP_UREM] = BPF_MOD,
	};
	struct emitter *e = &k->e;
	uint32_t op = hop_code(in);
	bool is_shift = op >= HOP_SHL && op <= HOP_SAR;

	if (in & HOP_IMMEDIATE) {
		reg_load(k, R7, hop_b(in));
		em_alu_imm(e, ops[op], R7, is_shift ? hop_imm(in) & 63 : hop_imm(in));
		reg_set(k, hop_a(in));
		return;
	}
	reg_load(k, R1, hop_c(in));
	reg_load(k, R7, hop_b(in));
	if (is_shift)
		em_alu_imm(e, BPF_AND, R1, 63);
	em_alu_reg(e, ops[op], R7, R1);
	reg_set(k, hop_a(in));
}

static void put_divide(struct compiler *k, uint64_t in)
{
	struct emitter *e = &k->e;
	uint32_t op = hop_code(in), good = em_label(e);

	if (in & HOP_IMMEDIATE)
		em_imm(e, R3, (uint64_t)(int64_t)hop_imm(in));
	else
		reg_load(k, R3, hop_c(in));
	reg_load(k, R2, hop_b(in));
	em_jmp_imm(e, BPF_JNE, R3, 0, good);
	em_store_imm(e, 8, R9, FAULT_VALUE, 0);
	em_store_imm(e, 4, R9, FAULT_KIND, DIF_FAULT_DIVZERO);
	em_ja(e, late_add(k, NO_LABEL, k->word + 1));
	em_here(e, good);
	if (op == HOP_UDIV || op == HOP_UREM) {
		em_alu_reg(e, op == HOP_UDIV ? BPF_DIV : BPF_MOD, R2, R3);
		em_mov(e, R7, R2);
	} else {
		call_rt(k, op == HOP_SDIV ? "rt_sdiv" : "rt_srem");
		em_mov(e, R7, R0);
	}
	reg_set(k, hop_a(in));
}

/* Ends the iteration; the next one goes on at the instruction. */
static void put_back(struct compiler *k, uint32_t target)
{
	em_store_imm(&k->e, 4, R6, STATE(pc), (int32_t)(k->c->base + target));
	em_ja(&k->e, k->again);
}

static void put_jump(struct compiler *k, uint64_t in)
{
	static const uint8_t ops[] = {
		[HOP_JEQ] = BPF_JEQ, [HOP_JNE] = BPF_JNE,   [HOP_JLT] = BPF_JLT,
		[HOP_JLE] = BPF_JLE, [HOP_JSLT] = BPF_JSLT, [HOP_JSLE] = BPF_JSLE,
	};
	struct emitter *e = &k->e;
	uint32_t op = hop_code(in), target = k->word + 1 + (uint32_t)hop_imm(in);
	uint32_t to = k->labels[target];
	bool is_back = target <= k->word;
	int b, c;

	count_due(k);
	if (op == HOP_JMP && is_back) {
		put_back(k, target);
	} else if (op == HOP_JMP) {
		em_ja(e, to);
	} else if (is_back) {
		k->is_strange = true;
	} else if (in & HOP_IMMEDIATE) {
		b = reg_use(k, hop_b(in), R1);
		em_jmp_imm(e, ops[op], b, (int8_t)hop_a(in), to);
	} else {
		b = reg_use(k, hop_b(in), R1);
		c = reg_use(k, hop_c(in), R2);
		em_jmp_reg(e, ops[op], b, c, to);
	}
}

static void put_again(struct compiler *k, uint64_t in)
{
	struct emitter *e = &k->e;
	int32_t left = STATE(loops) + 8 * (int32_t)(hop_c(in) & (RT_HELPER_LOOPS - 1));
	uint32_t over = em_label(e), target = k->word + 1 + (uint32_t)hop_imm(in);

	count_due(k);
	em_load(e, 8, R1, R6, left);
	em_jmp_imm(e, BPF_JEQ, R1, 0, over);
	em_alu_imm(e, BPF_ADD, R1, -1);
	em_store(e, 8, R6, left, R1);
	put_back(k, target);
	em_here(e, over);
}

/* ---- subroutines ----------------------------------------------------------------------------- */

enum { HELPERS_NO, HELPERS_SHORT, HELPERS_LONG };

/*
 * The code for a helper's call of a subroutine, by subroutine: a call of a function of rt/, with as
 * many of the pushed arguments as that takes and one of the compiler's where it needs one; or, of
 * htonl() and the like, an instruction that reverses the bytes of the argument.
 */
static const struct call_row {
	bool is_there;
	bool is_counted; /* the walk pays for it (rt_helper_cost()) */
	uint8_t npassed;
	uint8_t bits; /* of the number whose bytes are reversed; 0: a function is called */
	const char *rt;
	int32_t also; /* the argument behind them; -1: there is none */
} call_rows[] = {
/* clang-format off */
#define OPT(type, value) + 1
#define NONE + 0
#define REVERSED_byte_order(bits) bits
#define CALL_INLINE_NO(code, how, value)
#define CALL_INLINE_SHORT(code, how, value) [code] = {true, false, 1, REVERSED_##how(value), NULL, -1},
#define SUBR(id, name, code, result, args, optional, fx, addresses, helpers, ...) \
	[code] = {HELPERS_##helpers != HELPERS_NO, true, COUNT_ARGS args optional, 0, "rt_sub_" #name, -1},
#define SUBR_INLINE(id, name, code, result, args, optional, fx, addresses, helpers, reference, attr, since, what, how, \
		    value) \
	CALL_INLINE_##helpers(code, how, value)
#include "dif/subrs.def"
#define NOTHING -1
#define ALSO(value) value
#define SUBR_ATTACH(...)
#define SUBR_WALK(id, name, code, result, args, optional, addresses, what, reference, function, passed, also) \
	[code] = {true, false, passed, 0, #function, also},
#include "dif/helper_subrs.def"
	/* clang-format on */
};

static void put_call(struct compiler *k, uint64_t in)
{
	uint32_t subr = (uint32_t)hop_imm(in);
	const struct call_row *row = subr < ARRAY_LEN(call_rows) ? &call_rows[subr] : NULL;
	struct emitter *e = &k->e;

	if (!row || !row->is_there) {
		k->is_strange = true;
		return;
	}
	if (row->is_counted) {
		em_imm(e, R2, subr);
		call_rt(k, "rt_helper_cost");
	}
	for (uint32_t i = 0; i < row->npassed; i++)
		em_load(e, 8, R2 + (int)i, R6, STATE(push) + 8 * (int32_t)i);
	if (row->also >= 0)
		em_imm(e, R2 + row->npassed, (uint64_t)row->also);
	if (row->bits) {
		em_mov(e, R7, R2);
		em_to_be(e, R7, row->bits);
	} else {
		call_rt(k, subr == DIF_SUBR_STRJOIN ? "rt_helper_join" : row->rt);
		em_mov(e, R7, R0);
		fault_check(k);
	}
	reg_set(k, hop_a(in));
}

/* ---- frames ---------------------------------------------------------------------------------- */

static void state_zero(struct compiler *k, const int32_t *fields, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		em_store_imm(&k->e, 8, R6, fields[i], 0);
}

/* The first frame; goes on behind HOP_STEP, which is the next word. */
static void put_frames(struct compiler *k)
{
	static const int32_t fields[] = {STATE(result), STATE(text_len), STATE(memo), STATE(known)};
	struct emitter *e = &k->e;

	em_store_imm(e, 4, R6, STATE(on_fault), (int32_t)(k->c->base + k->word + 1));
	state_zero(k, fields, ARRAY_LEN(fields));
	call_rt(k, "rt_walk_first");
	em_jmp_imm(e, BPF_JEQ, R0, 0, k->stop);
	em_ja(e, k->labels[k->word + 2]);
}

/* Names the frame and goes to the next one. A walk without fuel has native frames only. */
static void put_step(struct compiler *k)
{
	static const int32_t fields[] = {STATE(result), STATE(text_len), STATE(memo)};
	struct emitter *e = &k->e;
	uint32_t unnamed = em_label(e), next = em_label(e);

	em_load(e, 8, R2, R6, STATE(result));
	state_zero(k, fields, ARRAY_LEN(fields));
	em_jmp_imm(e, BPF_JEQ, R2, 0, unnamed);
	call_rt(k, "rt_walk_name");
	em_here(e, unnamed);
	em_load(e, 8, R1, R6, STATE(known));
	em_jmp_imm(e, BPF_JEQ, R1, 0, next);
	call_rt(k, "rt_helper_keep");
	em_here(e, next);
	fault_check(k);
	call_rt(k, "rt_walk_next");
	em_jmp_imm(e, BPF_JEQ, R0, 0, k->stop);
	em_load(e, 8, R1, R6, STATE(fuel));
	em_alu_reg(e, BPF_SUB, R1, R8);
	em_jmp_imm(e, BPF_JSLT, R1, 0, k->spent);
}

/* ---- the other instructions ------------------------------------------------------------------ */

static void put_text(struct compiler *k, uint64_t in)
{
	struct emitter *e = &k->e;

	reg_load(k, R7, hop_b(in));
	if (hop_b(in) != HREG_ZERO)
		em_alu_imm(e, BPF_LSH, R7, 3);
	em_load(e, 8, R1, R6, STATE(code));
	em_alu_reg(e, BPF_ADD, R7, R1);
	if (hop_imm(in))
		em_alu_imm(e, BPF_ADD, R7, 8 * hop_imm(in));
	reg_set(k, hop_a(in));
}

static void put_push(struct compiler *k, uint64_t in)
{
	int32_t to = STATE(push) + 8 * (int32_t)(hop_c(in) & (RT_HELPER_PUSHES - 1));

	if (in & HOP_IMMEDIATE)
		em_store_imm(&k->e, 8, R6, to, hop_imm(in));
	else
		em_store(&k->e, 8, R6, to, reg_use(k, hop_b(in), R1));
}

/* A number of 64 bits, which is the next word. */
static void put_wide(struct compiler *k, uint64_t in)
{
	em_imm(&k->e, R7, k->c->words[k->word + 1]);
	reg_set(k, hop_a(in));
}

static void put_unwind(struct compiler *k)
{
	for (int32_t i = 0; i < 3; i++) {
		em_load(&k->e, 8, R1, R6, STATE(push) + 8 * i);
		em_store(&k->e, 8, R6, STATE(next) + 8 * i, R1);
	}
	em_store_imm(&k->e, 8, R6, STATE(is_steered), 1);
}

/* An instruction that a function of rt/helper.c executes. */
static void put_rare(struct compiler *k, uint64_t in)
{
	reg_load(k, R3, hop_b(in));
	em_imm(&k->e, R2, in);
	call_rt(k, "rt_helper_rare");
	em_mov(&k->e, R7, R0);
	fault_check(k);
	k->cached = NO_REG;
	if (hop_uses(in) & HOP_WRITES_A)
		reg_set(k, hop_a(in));
}

/* Appends a string or a number to the text of a frame. */
static void put_add(struct compiler *k, uint64_t in)
{
	if (in & HOP_IMMEDIATE)
		em_imm(&k->e, R2, (uint64_t)(int64_t)hop_imm(in));
	else
		reg_load(k, R2, hop_b(in));
	em_imm(&k->e, R3, hop_code(in) == HOP_ADDS);
	call_rt(k, "rt_helper_add");
	fault_check(k);
}

static void put_other_insn(struct compiler *k, uint64_t in)
{
	struct emitter *e = &k->e;

	switch (hop_code(in)) {
	case HOP_STORE:
		reg_load(k, R2, hop_a(in));
		reg_load(k, R3, hop_b(in));
		em_imm(e, R4, hop_c(in));
		call_rt(k, "rt_store");
		fault_check(k);
		return;
	case HOP_SAVE:
		em_imm(e, R2, (uint64_t)hop_imm(in));
		reg_load(k, R3, hop_b(in));
		call_rt(k, "rt_helper_put");
		return;
	case HOP_SCMP:
		reg_load(k, R2, hop_b(in));
		reg_load(k, R3, hop_c(in));
		call_rt(k, "rt_strcmp");
		em_mov(e, R7, R0);
		fault_check(k);
		reg_set(k, hop_a(in));
		return;
	case HOP_LOOP:
		em_store_imm(e, 8, R6,
			     STATE(loops) + 8 * (int32_t)(hop_c(in) & (RT_HELPER_LOOPS - 1)),
			     hop_imm(in));
		return;
	case HOP_TRY:
		em_store_imm(e, 4, R6, STATE(on_fault),
			     (int32_t)(k->c->base + k->word + 1) + hop_imm(in));
		return;
	case HOP_RESULT: em_store(e, 8, R6, STATE(result), reg_use(k, hop_b(in), R1)); return;
	case HOP_NONE: em_store_imm(e, 8, R6, STATE(result), 0); return;
	case HOP_FRAME:
		call_rt(k, "rt_helper_frame");
		fault_check(k);
		return;
	default: k->is_strange = true; return;
	}
}

void insn_compile(struct compiler *k, uint64_t in)
{
	uint32_t op = hop_code(in);

	if (hop_computes(in)) {
		put_compute(k, in);
		return;
	}
	if (hop_divides(in)) {
		put_divide(k, in);
		return;
	}
	if (op <= HOP_JMP) {
		put_jump(k, in);
		return;
	}
	switch (op) {
	case HOP_IMM:
		em_imm(&k->e, R7, (uint64_t)(int64_t)hop_imm(in));
		reg_set(k, hop_a(in));
		return;
	case HOP_WIDE: put_wide(k, in); return;
	case HOP_LOAD: put_load(k, in); return;
	case HOP_EXTEND:
		reg_load(k, R7, hop_b(in));
		em_extend(&k->e, R7, hop_c(in) & 15, hop_c(in) & HELPER_SIGNED);
		reg_set(k, hop_a(in));
		return;
	case HOP_PUSH: put_push(k, in); return;
	case HOP_CALL: put_call(k, in); return;
	case HOP_TEXT: put_text(k, in); return;
	case HOP_AGAIN: put_again(k, in); return;
	case HOP_ADDS:
	case HOP_ADDN: put_add(k, in); return;
	case HOP_UNWIND: put_unwind(k); return;
	case HOP_FRAMES: put_frames(k); return;
	case HOP_STEP: put_step(k); return;
	case HOP_PUTS:
	case HOP_UREG:
	case HOP_VAR:
	case HOP_OWN: put_rare(k, in); return;
	default: put_other_insn(k, in); return;
	}
}

void late_compile(struct compiler *k)
{
	struct emitter *e = &k->e;

	for (uint32_t i = 0; i < k->late.len; i++) {
		struct late l = k->late.data[i];

		em_here(e, l.entry);
		if (l.back == NO_LABEL) {
			em_imm(e, R1, k->c->base + l.after);
			em_ja(e, k->fault);
			continue;
		}
		em_mov(e, R2, R5);
		em_imm(e, R3, hop_c(k->c->words[l.word]));
		call_rt(k, "rt_helper_load");
		em_mov(e, R7, R0);
		em_load(e, 4, R1, R9, FAULT_KIND);
		em_jmp_imm(e, BPF_JEQ, R1, 0, l.back);
		em_imm(e, R1, k->c->base + l.after);
		em_ja(e, k->fault);
	}
}
