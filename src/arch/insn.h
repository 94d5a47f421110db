/* SPDX-License-Identifier: MIT */
/*
 * The properties of instructions that a tracer needs: their lengths, which of them leave a
 * function, and on which the kernel accepts a probe.
 *
 * Units    offsets in bytes from the begin of the code that is passed.
 */
#pragma once

#include "base/base.h"

enum insn_kind {
	INSN_PLAIN,
	/*
	 * A nop of 5 bytes. Linux 6.18 makes a call of it when it is probed and executed
	 * (FEAT_UPROBE_NOP5). The call destroys what a function keeps below the stack pointer, and
	 * leads to memory that a child of fork() does not have: the child ends with SIGSEGV. So no
	 * probe is placed on it there.
	 */
	INSN_NOP5,
	INSN_RET,	/* returns to the caller */
	INSN_JMP,	/* jumps to target */
	INSN_JCC,	/* jumps to target, or goes on */
	INSN_JMP_TAIL,	/* jumps through memory or a register out of the function */
	INSN_JMP_TABLE, /* jumps through memory or a register inside the function: a switch */
	INSN_STOP,	/* control does not go on: an invalid instruction, a halt */
};

struct insn {
	uint32_t off, len;
	enum insn_kind kind;
	bool is_refused; /* arch_insns.is_refused() */
	int64_t target;	 /* of INSN_JMP and INSN_JCC; may lie outside the function */
};

/* A call, or a jump, that says itself where it leads. */
struct insn_call {
	uint32_t len; /* bytes from its opcode to its end */
	bool is_jump;
	bool is_word;	 /* target is the address of a word in memory that has the address */
	uint64_t target; /* as the address of the instruction is counted */
};

/* How the code in memory differs from that of the file. */
enum insn_patch {
	INSN_PATCH_OTHER,
	INSN_PATCH_BREAKPOINT, /* a debugger or a uprobe has placed a breakpoint at the begin */
	INSN_PATCH_OPTIMIZED,  /* the kernel has replaced a nop by a call, for a faster uprobe */
};

/* A decoder's state from one instruction to the next. */
struct insn_decoder {
	uint64_t state[12]; /* its contents are private to the decoder of the architecture */
};

/* Changes of the stack by one instruction: image/nocfi.c follows code without call frame rows. */
struct insn_stack {
	int32_t pushed;	  /* bytes; negative: taken off */
	bool saves_fp;	  /* it pushes the frame pointer */
	bool restores_fp; /* it pops it */
	bool writes_fp;	  /* it changes it otherwise */
};

struct arch_insns {
	uint32_t max_len; /* number of bytes of the longest instruction */
	/* Begins to decode. is_begin says that the first instruction is the first of a function. */
	void (*start)(struct insn_decoder *d, bool is_32bit, bool is_begin);
	/* Decodes the instruction at code + off; false if the bytes there are none. */
	bool (*decode)(struct insn_decoder *d, const uint8_t *code, uint32_t size, uint32_t off,
		       struct insn *ret);
	/*
	 * False: the stack pointer becomes something that only a run of the program knows, or the
	 * bytes are no instruction. A call leaves it as it is.
	 */
	bool (*stack)(const uint8_t *code, size_t size, struct insn_stack *ret);
	/* True if the kernel refuses a probe on the instruction at code, or Fathom does. */
	bool (*is_refused)(const uint8_t *code, size_t size);
	/*
	 * Looks for the opcode of a call or of an unconditional jump, which would be at the address
	 * addr. That an instruction begins there, or before it with its prefixes, is not known.
	 */
	bool (*call)(const uint8_t *code, size_t size, uint64_t addr, struct insn_call *ret);
	/* True if the n bytes before that opcode are prefixes that leave the target as it is. */
	bool (*is_call_prefix)(const uint8_t *code, uint32_t n);
	/* True if the instruction at code is INSN_NOP5. */
	bool (*is_nop5)(const uint8_t *code, size_t size);
	/*
	 * Returns the offset at which to place an entry probe: behind instructions that cannot be
	 * probed, or only at a high cost, and that leave arguments and stack as they are; else 0.
	 */
	uint32_t (*entry_skip)(const uint8_t *code, size_t size);
	/*
	 * Returns the size of the comparison with the stack's end with which a function of the Go
	 * compiler begins; 0 if there is none.
	 */
	uint32_t (*go_entry_skip)(const uint8_t *code, size_t size);
	/*
	 * Says why the len bytes of an instruction in memory, at most max_len, differ from those in
	 * the file.
	 */
	enum insn_patch (*patch)(const uint8_t *file, const uint8_t *mem, size_t len);
};
