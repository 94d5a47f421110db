/* SPDX-License-Identifier: MIT */
/* Writing machine code for x86-64 that will lie at a known address: for stub.c and move.c. */
#pragma once

#include "arch/stub.h"

#define EMIT_CONSTS_MAX 16

struct emit {
	uint8_t *buf;
	uint32_t size, n;
	taddr code;	  /* the address of buf[0] */
	bool is_full;	  /* it did not fit */
	bool is_far;	  /* an address could not be reached */
	uint32_t nconsts; /* words that stand behind the code */
	struct emit_const {
		uint32_t at; /* of the 4 bytes of the distance */
		uint64_t value;
	} consts[EMIT_CONSTS_MAX];
};

void code_bytes(struct emit *e, const void *bytes, uint32_t n);
/* Writes bytes that are given one by one. */
#define EMIT(e, ...)                                                                               \
	code_bytes((e), (const uint8_t[]){__VA_ARGS__},                                            \
		   (uint32_t)sizeof((const uint8_t[]){__VA_ARGS__}))
void code_u32(struct emit *e, uint32_t v);
/* Writes the distance to an address; after: bytes of the instruction that follow the distance. */
void code_distance(struct emit *e, taddr to, uint32_t after);
/* Writes the distance to a word with this value, which code_consts() writes behind the code. */
void code_const_distance(struct emit *e, uint64_t value);
void code_consts(struct emit *e);
/* Writes jmp rel32. */
void code_jump(struct emit *e, taddr to);
/* A forward distance of 1 byte, or of 4: written when it is known, when the code has arrived. */
uint32_t code_forward(struct emit *e);
void code_arrive(struct emit *e, uint32_t forward);
uint32_t code_forward32(struct emit *e);
void code_arrive32(struct emit *e, uint32_t forward);

/*
 * Writes the instruction code[0..len), which stands at address at. before() writes what is executed
 * before it, and before a conditional jump only when that jumps. is_last: no other instruction of
 * the window follows. *ret_ends: control does not go on behind it. NULL, or why it cannot be moved.
 */
const char *insn_move(struct emit *e, const uint8_t *code, uint32_t len, taddr at, bool is_last,
		      bool has_shadow_stack, void (*before)(struct emit *e, void *ctx), void *ctx,
		      bool *ret_ends);
