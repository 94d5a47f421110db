/* SPDX-License-Identifier: MIT */
/*
 * Emitter: appends eBPF instructions to a struct bpf_code, with labels and relocations.
 *
 * Registers are plain numbers (BPF_REG_0 ...). For an offset from a base register that exceeds the
 * 16 bits of an instruction, a scratch register (r0-r2, never the operand) is used. Labels belong
 * to one emitter; a jump that does not reach its label sets too_far. Only instructions of cpu v3
 * are emitted, because Linux 6.1 has no later ones.
 */
#pragma once

#include "kernel/code.h"
#include "kernel/insn.h"

struct em_fixup {
	uint32_t insn, label;
};

struct emitter {
	struct bpf_code *code;
	VEC(int32_t) labels; /* instruction index, -1 = not placed yet */
	VEC(struct em_fixup) fixups;
	int32_t last_here;  /* instruction at which the last label was placed, -1 = none */
	uint32_t span;	    /* source offset of the instructions that follow */
	uint32_t nbranches; /* conditional jumps so far */
	bool too_far;
};

void em_init(struct emitter *e, struct bpf_code *code);
/* Patches all jumps; every label that is used must have been placed. */
void em_resolve(struct emitter *e);
void em_deinit(struct emitter *e);

uint32_t em_label(struct emitter *e);
void em_here(struct emitter *e, uint32_t label);
/* Whether a jump to the label has been emitted. */
bool em_is_used(const struct emitter *e, uint32_t label);

void em_ja(struct emitter *e, uint32_t label);
/* op: BPF_JEQ ...; imm is sign-extended */
void em_jmp_imm(struct emitter *e, int op, int dst, int32_t imm, uint32_t label);
void em_jmp_reg(struct emitter *e, int op, int dst, int src, uint32_t label);
void em_jmp32_imm(struct emitter *e, int op, int dst, int32_t imm, uint32_t label);

void em_alu_imm(struct emitter *e, int op, int dst, int32_t imm); /* BPF_ADD ..., 64 bits */
void em_alu_reg(struct emitter *e, int op, int dst, int src);
void em_mov(struct emitter *e, int dst, int src);   /* emits nothing when dst is src */
void em_mov32(struct emitter *e, int dst, int src); /* zero-extends */
void em_imm(struct emitter *e, int dst, uint64_t value);
void em_neg(struct emitter *e, int dst);
void em_to_be(struct emitter *e, int dst, int bits);
/* Extends the low size bytes of dst to 64 bits. */
void em_extend(struct emitter *e, int dst, uint32_t size, bool is_signed);
/* dst = base + off */
void em_addr(struct emitter *e, int dst, int base, uint32_t off);

/* size: 1 2 4 8 bytes; loads zero-extend */
void em_load(struct emitter *e, uint32_t size, int dst, int base, int32_t off);
void em_store(struct emitter *e, uint32_t size, int base, int32_t off, int src);
void em_store_imm(struct emitter *e, uint32_t size, int base, int32_t off, int32_t imm);
/* 64 bits; op BPF_ADD [| BPF_FETCH] or BPF_CMPXCHG (with r0) */
void em_atomic(struct emitter *e, int op, int base, int16_t off, int src);

/* Exchanges src and the 32 bits at base + off. */
void em_xchg32(struct emitter *e, int base, int16_t off, int src);
/* Stores src if the memory has the value of r0; r0 = what the memory had. */
void em_cmpxchg32(struct emitter *e, int base, int16_t off, int src);

void em_helper(struct emitter *e, int id);
/* Calls a function of the kernel, which has the id in its BTF. */
void em_kernel_func(struct emitter *e, uint32_t btf_id);
void em_call_rt(struct emitter *e, const char *name);
void em_call_func(struct emitter *e, uint32_t func);
/* dst = the run-time function "rtcb_...", for a helper that calls it back */
void em_rt_addr(struct emitter *e, int dst, const char *name);
/* dst = a function of this code, for a helper that calls it back */
void em_func_addr(struct emitter *e, int dst, uint32_t func);
void em_map(struct emitter *e, int dst, uint32_t map_ref);
void em_map_value(struct emitter *e, int dst, uint32_t map_ref, uint32_t off);
void em_exit(struct emitter *e);

static inline bool fits_s32(uint64_t v)
{
	return (int64_t)v == (int32_t)v;
}
