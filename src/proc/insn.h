/*
 * The instructions of a function: where each begins, and which of them leave the function.
 *
 * A probe replaces the first byte of an instruction, so a wrong boundary would break the program.
 * Compiled code is decoded from the first byte to the last. If the result contradicts itself (bytes
 * that are no instruction, or a jump into the middle of one), data lies between the instructions:
 * then only those are kept that control can reach from the first one.
 *
 * Units    offsets in bytes from the function's start.
 * Facts    Intel SDM vol. 2; decoding is Zydis'.
 */
#pragma once

#include "base/vec.h"

enum insn_kind {
	INSN_PLAIN,
	/* the kernel may replace it by a call: Linux 6.18 arch/x86/kernel/uprobes.c */
	INSN_NOP5,
	INSN_RET,	/* back to the caller */
	INSN_JMP,	/* to target */
	INSN_JCC,	/* to target, or on */
	INSN_JMP_TAIL,	/* through memory or a register, out of the function */
	INSN_JMP_TABLE, /* through memory or a register, inside the function: a switch */
	INSN_STOP,	/* control does not go on: ud2, hlt */
};

struct insn {
	uint32_t off, len;
	enum insn_kind kind;
	bool is_refused; /* insn_is_refused() */
	int64_t target;	 /* of INSN_JMP and INSN_JCC; may lie outside the function */
};

struct insns {
	VEC(struct insn) list; /* ascending */
	bool is_partial;       /* only the instructions that control reaches are listed */
};

void insns_decode(const uint8_t *code, uint32_t size, bool is_32bit, struct insns *ret);
/*
 * Decodes only what control can reach from the first instruction: for code whose end is not known.
 */
void insns_follow(const uint8_t *code, uint32_t size, bool is_32bit, struct insns *ret);
void insns_deinit(struct insns *s);
/* Returns the instruction that begins at off, or NULL. */
const struct insn *insns_find(const struct insns *s, uint32_t off);

/*
 * Returns the offset at which to place an entry probe: behind an endbr64 if a probe on the next
 * instruction is cheaper, or behind vector instructions that cannot be probed, provided that
 * arguments and stack are unchanged there; else 0.
 */
uint32_t insn_entry_skip(const uint8_t *code, size_t size);
bool insn_is_nop5(const uint8_t *code, size_t size);
/* Returns the length of the instruction at code, 0 if the bytes are none. */
uint32_t insn_len(const uint8_t *code, size_t size, bool is_32bit);
/*
 * True if the kernel refuses a probe on the instruction (some prefixes, privileged instructions),
 * or we do.
 */
bool insn_is_refused(const uint8_t *code, size_t size);
