/*
 * Instructions of a processor, as a tracer sees them: where each ends, which leave a function, and
 * where the kernel accepts a probe.
 *
 * Units    offsets in bytes from the begin of the code that was given.
 */
#pragma once

#include "base/base.h"

enum insn_kind {
	INSN_PLAIN,
	/* the kernel may replace it by a call: Linux 6.18 arch/x86/kernel/uprobes.c */
	INSN_NOP5,
	INSN_RET,	/* back to the caller */
	INSN_JMP,	/* to target */
	INSN_JCC,	/* to target, or on */
	INSN_JMP_TAIL,	/* through memory or a register, out of the function */
	INSN_JMP_TABLE, /* through memory or a register, inside the function: a switch */
	INSN_STOP,	/* control does not go on: an invalid instruction, a halt */
};

struct insn {
	uint32_t off, len;
	enum insn_kind kind;
	bool is_refused; /* arch_insns.is_refused() */
	int64_t target;	 /* of INSN_JMP and INSN_JCC; may lie outside the function */
};

/* How the code in memory differs from that of the file. */
enum insn_patch {
	INSN_PATCH_OTHER,
	INSN_PATCH_BREAKPOINT, /* a debugger or a uprobe stands on the first instruction */
	INSN_PATCH_OPTIMIZED,  /* the kernel made a faster probe of a nop */
};

/* A decoder's state from one instruction to the next. */
struct insn_decoder {
	uint64_t state[12]; /* the architecture's own */
};

struct arch_insns {
	uint32_t max_len; /* bytes of the longest instruction */
	/* is_begin: what is decoded next is the begin of a function */
	void (*start)(struct insn_decoder *d, bool is_32bit, bool is_begin);
	/* False if the bytes at code + off are no instruction. */
	bool (*decode)(struct insn_decoder *d, const uint8_t *code, uint32_t size, uint32_t off,
		       struct insn *ret);
	/* True if the kernel refuses a probe on the instruction at code, or Fathom does. */
	bool (*is_refused)(const uint8_t *code, size_t size);
	/*
	 * Returns the offset at which to place an entry probe: behind instructions that cannot be
	 * probed, or only at a high cost, and that leave arguments and stack as they are; else 0.
	 */
	uint32_t (*entry_skip)(const uint8_t *code, size_t size);
	/*
	 * Of a function of the Go compiler: the size of the comparison with the stack's end at its
	 * begin; 0 if there is none.
	 */
	uint32_t (*go_entry_skip)(const uint8_t *code, size_t size);
	/* file, mem: len bytes, at most max_len, that differ. */
	enum insn_patch (*patch)(const uint8_t *file, const uint8_t *mem, size_t len);
};
