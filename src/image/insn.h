/* SPDX-License-Identifier: MIT */
/*
 * The instructions of a function: where each begins, and which of them leave the function.
 *
 * A probe replaces the first byte of an instruction, so a wrong boundary would break the program.
 * Compiled code is decoded from the first byte to the last. If the result contradicts itself (bytes
 * that are no instruction, or a jump into the middle of one), data lies between the instructions:
 * then only those are kept that control can reach from the first one.
 *
 * Units    offsets in bytes from the function's start.
 */
#pragma once

#include "arch/insn.h"
#include "base/vec.h"

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
/* Returns the instruction that has the byte at off, or NULL. */
const struct insn *insns_around(const struct insns *s, uint32_t off);
/* Returns the length of the instruction at code, 0 if the bytes are none. */
uint32_t insn_len(const uint8_t *code, size_t size, bool is_32bit);
