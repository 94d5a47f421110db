/* SPDX-License-Identifier: MIT */
/*
 * Jumps to addresses in registers, followed back to where their addresses come from.
 *
 * Compilers make of a switch
 *
 *         cmp    $0x8,%edi                  checked: no more than 9 entries are used
 *         ja     default
 *         mov    %edi,%eax
 *         lea    table(%rip),%rdx           the base
 *         movslq (%rdx,%rax,4),%rax         the entry: a distance from the base
 *         add    %rdx,%rax
 *         jmp    *%rax
 *
 * The instructions are read backwards, up to a number of them, and over a branch that leads to the
 * block. What they do not say is open: tables.c asks the rest of the function then.
 */
#pragma once

#include <Zydis/Zydis.h>

#include "flow/impl.h"

#define BACK_MAX 32 /* instructions that are looked at before a jump to a register */

/* The last instructions before the one that is decoded. */
struct trail {
	ZydisDecoder decoder;
	const struct flow_area *area;
	uint64_t end; /* of the function */
	uint64_t recent[BACK_MAX];
	uint32_t n;
};

enum origin {
	ORIGIN_OPEN,	 /* nothing before the jump gives the register a value */
	ORIGIN_POINTER,	 /* from memory, or the address of code */
	ORIGIN_LISTED,	 /* from a list of pointers in memory, by a number */
	ORIGIN_COMPUTED, /* a sum, or a number of less than 64 bits */
};

/* Fills ret, but for its function, if the value is computed. */
enum origin jump_origin(const struct trail *t, uint64_t jump, ZydisRegister reg,
			struct flow_jump *ret);
