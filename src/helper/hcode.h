/* SPDX-License-Identifier: MIT */
/*
 * Translates the clauses of ustack helpers to the instructions of the helper machine
 * (rt/helper.h).
 *
 * All helpers of a process make one program. Their variables are numbered together: variables of
 * the same name in two helpers are two variables. Clause-local numbers of two helpers may have the
 * same register if none of them keeps a value from one frame to the next (hcode_live.c): the
 * machine's instructions have room for 95 (rt/helper.h).
 *
 * Owns     a struct hcode its words; texts lie in the words, too.
 * Errors   what the machine cannot do, with the place in the helper's text.
 */
#pragma once

#include "base/err.h"
#include "base/vec.h"
#include "dif/prog.h"

struct helper;

/* A global variable of one of the helpers. */
struct hcode_global {
	const struct helper *helper;
	const struct prog_var *var;
	uint32_t slot; /* in struct rt_hproc.globals */
};

/* The statement from which the words from `word` on were made. */
struct hcode_line {
	uint32_t word, span;
	const struct helper *helper;
};

struct hcode {
	VEC(struct hcode_line) lines; /* ascending */
	VEC(uint64_t) words; /* the first is the entry; jumps are relative, texts are not */
	uint32_t ninsns;     /* words before the texts */
	uint32_t frames;     /* index of HOP_FRAMES */
	bool names_frames; /* a string may be the value of the clauses: it names the native frame */
	VEC(struct hcode_global) globals;
};

/* base: the word of MAP_HCODE where the program will lie. */
MUST_CHECK struct err *hcode_make(struct helper *const *helpers, uint32_t n, uint32_t base,
				  struct hcode *ret);
void hcode_deinit(struct hcode *h);
