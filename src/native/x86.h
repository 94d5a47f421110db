/* SPDX-License-Identifier: MIT */
/*
 * Assembler: the x86-64 instructions that the compiler needs, with labels.
 *
 * Only general registers, and no string instruction. Jumps have 32-bit displacements, so the size
 * of code does not depend on where it lies.
 *
 * Owns     x86_deinit() releases the code.
 * Facts    encodings: Intel SDM vol. 2. A unit test decodes each form with Zydis.
 */
#pragma once

#include "base/base.h"
#include "base/vec.h"

enum x86_reg {
	RAX,
	RCX,
	RDX,
	RBX,
	RSP,
	RBP,
	RSI,
	RDI,
	R8,
	R9,
	R10,
	R11,
	R12,
	R13,
	R14,
	R15,
	X86_NREGS
};

/* The numbers are those of the group of opcodes 00..3f and 80..83. */
enum x86_alu { X86_ADD = 0, X86_OR = 1, X86_AND = 4, X86_SUB = 5, X86_XOR = 6, X86_CMP = 7 };
enum x86_shift { X86_ROR = 1, X86_SHL = 4, X86_SHR = 5, X86_SAR = 7 };
/* Conditions: the numbers of jcc. */
enum x86_cond {
	X86_B = 2,
	X86_AE = 3,
	X86_E = 4,
	X86_NE = 5,
	X86_BE = 6,
	X86_A = 7,
	X86_S = 8,
	X86_NS = 9,
	X86_L = 12,
	X86_GE = 13,
	X86_LE = 14,
	X86_G = 15
};

/* What a memory operand is. */
enum x86_mem_kind {
	X86_BASE,  /* base + disp */
	X86_INDEX, /* base + index * scale + disp; index is not rsp */
	X86_FS,	   /* %fs:disp */
	X86_ADDR,  /* the absolute address, reached from rip */
	X86_LABEL, /* a label of the same code + disp */
};

struct x86_mem {
	enum x86_mem_kind kind;
	uint8_t base, index, scale; /* scale: 1, 2, 4, 8 */
	int32_t disp;
	uint64_t addr;
	uint32_t label;
};

struct x86_fixup {
	uint32_t at;  /* of the 32-bit displacement */
	uint32_t end; /* the instruction's */
	uint32_t label;
	int32_t disp;
};

struct x86 {
	uint64_t addr; /* at which the code will lie */
	VEC(uint8_t) code;
	VEC(uint32_t) labels; /* offsets; UINT32_MAX: not placed yet */
	VEC(struct x86_fixup) fixups;
	/*
	 * Bit n: register n, but for rsp, was written by an instruction since the caller has set it
	 * to 0; calls may write what the C calling convention allows.
	 */
	uint32_t written;
	uint32_t r15_words; /* the same: bit n: the word at 8 * n(%r15) was an operand */
	bool is_too_far;    /* an address is not within 2 GiB of the code */
};

void x86_deinit(struct x86 *x);
uint32_t x86_label(struct x86 *x);
void x86_here(struct x86 *x, uint32_t label);
/* Appends bytes that are no instructions. */
void x86_data(struct x86 *x, const void *data, uint32_t size);
/* Fills with one-byte nops until the size is a multiple of align. */
void x86_align(struct x86 *x, uint32_t align);
/* Resolves all labels, each of which must have been placed. */
void x86_finish(struct x86 *x);

static inline struct x86_mem x86_at(enum x86_reg base, int64_t disp)
{
	return (struct x86_mem){.kind = X86_BASE, .base = (uint8_t)base, .disp = (int32_t)disp};
}

static inline struct x86_mem x86_at_index(enum x86_reg base, enum x86_reg index, uint32_t scale,
					  int64_t disp)
{
	return (struct x86_mem){.kind = X86_INDEX,
				.base = (uint8_t)base,
				.index = (uint8_t)index,
				.scale = (uint8_t)scale,
				.disp = (int32_t)disp};
}

static inline struct x86_mem x86_at_fs(int32_t disp)
{
	return (struct x86_mem){.kind = X86_FS, .disp = disp};
}

static inline struct x86_mem x86_at_addr(uint64_t addr)
{
	return (struct x86_mem){.kind = X86_ADDR, .addr = addr};
}

static inline struct x86_mem x86_at_label(uint32_t label, int32_t disp)
{
	return (struct x86_mem){.kind = X86_LABEL, .label = label, .disp = disp};
}

/* ---- moves ----------------------------------------------------------------------------------- */

void x86_mov(struct x86 *x, enum x86_reg dst, enum x86_reg src);
/* dst = the low size bytes of src, extended; size 8: a move */
void x86_extend(struct x86 *x, uint32_t size, bool is_signed, enum x86_reg dst, enum x86_reg src);
/* Keeps the flags, unless value is 0. */
void x86_imm(struct x86 *x, enum x86_reg dst, uint64_t value);
void x86_load(struct x86 *x, uint32_t size, bool is_signed, enum x86_reg dst, struct x86_mem m);
void x86_store(struct x86 *x, uint32_t size, struct x86_mem m, enum x86_reg src);
/* size 8: the value is extended from 32 bits */
void x86_store_imm(struct x86 *x, uint32_t size, struct x86_mem m, int32_t value);
void x86_lea(struct x86 *x, enum x86_reg dst, struct x86_mem m);
void x86_push(struct x86 *x, enum x86_reg src);
void x86_pop(struct x86 *x, enum x86_reg dst);

/* ---- arithmetic of 64 bits ------------------------------------------------------------------- */

void x86_alu(struct x86 *x, enum x86_alu op, enum x86_reg dst, enum x86_reg src);
void x86_alu_imm(struct x86 *x, enum x86_alu op, enum x86_reg dst, int32_t value);
void x86_alu_load(struct x86 *x, enum x86_alu op, enum x86_reg dst, struct x86_mem m);
/* *m op= value, or compares, in size bytes (1, 4 or 8) */
void x86_alu_mem_imm(struct x86 *x, uint32_t size, enum x86_alu op, struct x86_mem m,
		     int32_t value);
/* *m op= src, 64 bits */
void x86_alu_store(struct x86 *x, enum x86_alu op, struct x86_mem m, enum x86_reg src);
/* The low 32 bits of dst and a number, without extension: clears the upper half of dst. */
void x86_alu32_imm(struct x86 *x, enum x86_alu op, enum x86_reg dst, int32_t value);
void x86_test(struct x86 *x, enum x86_reg a, enum x86_reg b);
void x86_shift(struct x86 *x, enum x86_shift op, enum x86_reg dst, uint32_t n);
void x86_shift_cl(struct x86 *x, enum x86_shift op, enum x86_reg dst);
void x86_mul(struct x86 *x, enum x86_reg dst, enum x86_reg src);
void x86_mul_imm(struct x86 *x, enum x86_reg dst, enum x86_reg src, int32_t value);
void x86_mul_wide(struct x86 *x, enum x86_reg src);	       /* rdx:rax = rax * src, unsigned */
void x86_div(struct x86 *x, enum x86_reg src, bool is_signed); /* of rdx:rax; to rax, rest rdx */
void x86_cqo(struct x86 *x);
void x86_neg(struct x86 *x, enum x86_reg dst);
void x86_not(struct x86 *x, enum x86_reg dst);
void x86_bsr(struct x86 *x, enum x86_reg dst, enum x86_reg src);
void x86_bswap(struct x86 *x, uint32_t size, enum x86_reg dst); /* size 4, 8 */

/* ---- memory that several threads change ------------------------------------------------------ */

void x86_lock_add(struct x86 *x, struct x86_mem m, enum x86_reg src);
void x86_lock_add_imm(struct x86 *x, struct x86_mem m, int32_t value);
void x86_lock_xadd(struct x86 *x, struct x86_mem m, enum x86_reg src);
/* rax: what is compared, in size bytes (4 or 8) */
void x86_lock_cmpxchg(struct x86 *x, uint32_t size, struct x86_mem m, enum x86_reg src);
/* The same, not locked: no signal divides it, but another CPU may. */
void x86_cmpxchg(struct x86 *x, uint32_t size, struct x86_mem m, enum x86_reg src);

/* ---- control --------------------------------------------------------------------------------- */

void x86_jmp(struct x86 *x, uint32_t label);
void x86_jcc(struct x86 *x, enum x86_cond cond, uint32_t label);
void x86_call(struct x86 *x, uint64_t addr);
void x86_ret(struct x86 *x);
void x86_rdfsbase(struct x86 *x, enum x86_reg dst);
