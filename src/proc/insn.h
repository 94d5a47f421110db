/*
 * Instructions of a function: where each begins, where the function is left.
 *
 * A probe replaces the first byte of an instruction, so a wrong boundary would break the program. What a
 * compiler makes is decoded from the first byte to the last. When that contradicts itself (bytes
 * that are no instruction, a jump into the middle of one), there is data in between: then only what
 * control can reach from the first instruction counts.
 *
 * Units    offsets in bytes from the function's start.
 * Facts    Intel SDM vol. 2; decoding is Zydis'.
 */
#pragma once

#include "base/vec.h"

enum insn_kind {
	INSN_PLAIN,
	INSN_NOP5,	/* the one the kernel may turn into a call: Linux 6.18 arch/x86/kernel/uprobes.c */
	INSN_RET,	/* back to the caller */
	INSN_JMP,	/* to target */
	INSN_JCC,	/* to target, or on */
	INSN_JMP_TAIL,	/* through memory or a register, out of the function */
	INSN_JMP_TABLE, /* the same inside it: a switch */
	INSN_STOP,	/* control does not go on: ud2, hlt */
};

struct insn {
	uint32_t off, len;
	enum insn_kind kind;
	bool is_refused; /* insn_is_refused() */
	int64_t target; /* of INSN_JMP, INSN_JCC: may be outside */
};

struct insns {
	VEC(struct insn) list; /* ascending */
	bool is_partial;       /* contradictions: what was not reached is left out */
};

void insns_decode(const uint8_t *code, uint32_t size, bool is_32bit, struct insns *ret);
/* Only what control reaches: for code whose end is not known. */
void insns_follow(const uint8_t *code, uint32_t size, bool is_32bit, struct insns *ret);
void insns_deinit(struct insns *s);
/* The instruction that begins at off, or NULL. */
const struct insn *insns_find(const struct insns *s, uint32_t off);

/*
 * Where to put an entry probe: behind an endbr64 when what follows costs less, behind vector instructions
 * that cannot be probed, as long as the arguments and the stack are the same there; else 0.
 */
uint32_t insn_entry_skip(const uint8_t *code, size_t size);
bool insn_is_nop5(const uint8_t *code, size_t size);
/* Length of the instruction, 0 when it is none. */
uint32_t insn_len(const uint8_t *code, size_t size, bool is_32bit);
/* The kernel places no probe on it: some prefixes, instructions of the system. */
bool insn_is_refused(const uint8_t *code, size_t size);
