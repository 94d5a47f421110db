/* SPDX-License-Identifier: MIT */
/*
 * The assembler of eBPF: the encodings of all instructions, as constants.
 *
 *     static const struct bpf_insn insns[] = {
 *             INSN_MOV(R2, R10),
 *             INSN_ADD_IMM(R2, -8),
 *             INSN_CALL(BPF_FUNC_map_lookup_elem),
 *             INSN_EXIT,
 *     };
 *
 * The emitter (kernel/emit.h), with labels and relocations, makes code of unknown length out of the
 * same constants. Fixed code of more than a few instructions is written in C (rt).
 *
 * Facts    Documentation/bpf/standardization/instruction-set.rst; BPF_* are of linux/bpf.h.
 */
#pragma once

#include <linux/bpf.h>

#define R0  BPF_REG_0
#define R1  BPF_REG_1
#define R2  BPF_REG_2
#define R3  BPF_REG_3
#define R4  BPF_REG_4
#define R5  BPF_REG_5
#define R6  BPF_REG_6
#define R7  BPF_REG_7
#define R8  BPF_REG_8
#define R9  BPF_REG_9
#define R10 BPF_REG_10

/* clang-format off */
#define INSN(c, d, s, o, i)                                                                        \
	((struct bpf_insn){.code = (uint8_t)(c), .dst_reg = (uint8_t)(d) & 15,                      \
			   .src_reg = (uint8_t)(s) & 15, .off = (int16_t)(o), .imm = (int32_t)(i)})

/* 64 bits. op: BPF_ADD ... */
#define INSN_ALU(op, dst, src)		INSN(BPF_ALU64 | BPF_X | (op), dst, src, 0, 0)
#define INSN_ALU_IMM(op, dst, imm)	INSN(BPF_ALU64 | BPF_K | (op), dst, 0, 0, imm)
#define INSN_NEG(dst)			INSN(BPF_ALU64 | BPF_NEG, dst, 0, 0, 0)
#define INSN_MOV(dst, src)		INSN_ALU(BPF_MOV, dst, src)
#define INSN_MOV_IMM(dst, imm)		INSN_ALU_IMM(BPF_MOV, dst, imm)
#define INSN_ADD(dst, src)		INSN_ALU(BPF_ADD, dst, src)
#define INSN_ADD_IMM(dst, imm)		INSN_ALU_IMM(BPF_ADD, dst, imm)
/* 32 bits, zero-extended to 64; bits: 16, 32, 64 */
#define INSN_MOV32(dst, src)		INSN(BPF_ALU | BPF_X | BPF_MOV, dst, src, 0, 0)
#define INSN_MOV32_IMM(dst, imm)	INSN(BPF_ALU | BPF_K | BPF_MOV, dst, 0, 0, imm)
#define INSN_TO_BE(dst, bits)		INSN(BPF_ALU | BPF_END | BPF_TO_BE, dst, 0, 0, bits)

/* size: BPF_B, BPF_H, BPF_W, BPF_DW; loads zero-extend */
#define INSN_LOAD(size, dst, base, off)		INSN(BPF_LDX | BPF_MEM | (size), dst, base, off, 0)
#define INSN_STORE(size, base, off, src)	INSN(BPF_STX | BPF_MEM | (size), base, src, off, 0)
#define INSN_STORE_IMM(size, base, off, imm)	INSN(BPF_ST | BPF_MEM | (size), base, 0, off, imm)
/* op: BPF_ADD [| BPF_FETCH], BPF_XCHG, BPF_CMPXCHG (with r0) */
#define INSN_ATOMIC(size, op, base, off, src)	INSN(BPF_STX | BPF_ATOMIC | (size), base, src, off, op)

/* A constant of 64 bits takes two instructions; kind: 0 or BPF_PSEUDO_*. */
#define INSN_IMM64_LOW(dst, kind, imm)	INSN(BPF_LD | BPF_IMM | BPF_DW, dst, kind, 0, imm)
#define INSN_IMM64_HIGH(imm)		INSN(0, 0, 0, 0, imm)

/* op: BPF_JEQ ...; off: number of instructions that the jump skips */
#define INSN_GOTO(off)			INSN(BPF_JMP | BPF_JA, 0, 0, off, 0)
#define INSN_JMP(op, dst, src, off)	INSN(BPF_JMP | BPF_X | (op), dst, src, off, 0)
#define INSN_JMP_IMM(op, dst, imm, off)	INSN(BPF_JMP | BPF_K | (op), dst, 0, off, imm)
#define INSN_JMP32_IMM(op, dst, imm, off) INSN(BPF_JMP32 | BPF_K | (op), dst, 0, off, imm)
#define INSN_CALL(helper)		INSN(BPF_JMP | BPF_CALL, 0, 0, 0, helper)
#define INSN_CALL_KERNEL(btf_id)	INSN(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_KFUNC_CALL, 0, btf_id)
#define INSN_CALL_FUNC(rel)		INSN(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, rel)
#define INSN_EXIT			INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)
#define INSNS_RETURN(imm)		INSN_MOV_IMM(R0, imm), INSN_EXIT
/* clang-format on */
