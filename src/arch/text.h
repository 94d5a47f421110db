/* SPDX-License-Identifier: MIT */
/*
 * The processor as text, for people who debug: names of registers, instructions.
 *
 * Units    words of struct pt_regs (arch/arch.h); offsets in bytes.
 * Errors   none: bytes that are no instruction have length 0.
 */
#pragma once

#include "base/base.h"

struct strbuf;

/*
 * A register of vectors or floating point: its bytes, the lowest first. numbers: they are read as
 * floating point numbers; "": they are none.
 */
typedef void vector_row_fn(void *ctx, const char *name, const uint8_t *bytes, size_t size,
			   const char *numbers);

struct arch_text {
	/* The name of each word of struct pt_regs, arch.nregs of them. */
	const char *const *registers;
	/*
	 * Calls row for each register of floating point and vectors in a note of a core file,
	 * arch.elf.vector_note or NT_PRFPREG. is_long: also for the longest forms of them, where
	 * the note has these. False: it is too short. The notes begin alike.
	 */
	bool (*vectors)(const uint8_t *note, size_t size, bool is_long, vector_row_fn *row,
			void *ctx);
};
extern const struct arch_text arch_text;

/* An instruction as assemblers of the system write it. */
struct insn_text {
	uint32_t len;	  /* 0: the bytes are no instruction */
	bool has_address; /* it jumps to, calls, or refers to data at this address: */
	uint64_t address;
};
/*
 * Adds the instruction of 64-bit code that begins at code, size bytes of which are there, and which
 * is at addr in the process.
 */
struct insn_text insn_text_add(struct strbuf *out, const uint8_t *code, size_t size, uint64_t addr);
