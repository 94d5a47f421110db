/* SPDX-License-Identifier: MIT */
/*
 * The inside of the translation of helpers (hcode.h), for the files hcode*.c only.
 *
 *     hcode.c       clauses and actions, variables, texts
 *     hcode_difo.c  the instructions of one DIF object
 *     hcode_live.c  which registers hold a value that is still read
 *
 * Units    indexes of words in hcode.words; jumps count from the word behind them.
 * Errors   what the machine cannot do is kept by hcode_refuse(), the first only; the translation
 *          goes on, and hcode_make() returns the error.
 */
#pragma once

#include "rt/helper.h"
#include "helper/hcode.h"
#include "usdt/dof_prog.h"
#include "helper/helper.h"

struct fixup {
	uint32_t word;	/* whose imm is to become the distance */
	uint32_t label; /* index of an instruction, or of an action */
};

struct fixup_list {
	VEC(struct fixup) all;
};

/* An instruction that loads the address of a text. */
struct text_use {
	uint32_t word;
	const char *text;
};

struct local {
	const struct helper *helper;
	uint32_t id, slot;
};

/* What a register of the DIF object holds, which may not have been computed yet. */
struct value {
	enum value_kind {
		VALUE_HERE,  /* its own register has it */
		VALUE_CONST, /* imm */
		VALUE_SUM,   /* register reg + imm */
	} kind;
	uint32_t reg;
	int64_t imm;
};

#define REG_COMPARED 31u /* the result of a comparison of strings */
#define REG_VALUE    30u /* the value of an object with several returns */
#define REG_SPARE    29u /* constants that no instruction holds */
#define REG_KEPT     27u /* and the next one: arguments of unwind() */
#define REG_MOST     26u
_Static_assert(DOF_PROG_REGS == REG_MOST + 1, "registers of DIF that programs carry");

struct translator {
	struct hcode *out;
	uint32_t base;
	const struct helper *h;
	VEC(struct local) locals;
	VEC(struct text_use) texts;
	uint32_t nstrings; /* of locals */
	uint32_t nkept;	   /* numbers that keep their value between frames, of all helpers */
	uint32_t nscratch; /* the other numbers of the present helper, which follow those */
	struct err *err;   /* the first */
	uint32_t span;	   /* of the statement */
	bool names_frames; /* some statement so far had a string as its value */
	/* the DIF object that is translated */
	const struct difo *d;
	uint32_t i;   /* instruction */
	uint32_t *at; /* by instruction: its first word */
	bool *is_target;
	struct value values[HREG_LOCALS];
	uint32_t barrier; /* no instruction before this word may be changed */
	struct fixup_list jumps;
	uint32_t npushed;
	bool has_flags;
	uint32_t flag_a, flag_b; /* registers that the flags compare */
	bool flags_signed;
	/* of a condition: jumps to where it is false; NULL: a value is wanted */
	struct fixup_list *on_false;
};

/* ---- hcode.c --------------------------------------------------------------------------------- */

/* Notes that the helper uses what helpers may not use, with the location of the statement. */
PRINTF_LIKE(2, 3) void hcode_refuse(struct translator *t, const char *fmt, ...);
/* The word that the next instruction gets. */
uint32_t hcode_here(const struct translator *t);
/* Appends an instruction; returns its index. */
uint32_t hcode_put(struct translator *t, uint32_t op, uint32_t a, uint32_t b, uint32_t c,
		   int64_t imm);
/*
 * In a helper that is not trusted: an address that is neither one of the process nor one of the
 * helper's own memory is a fault. Goes before each instruction that reads or writes there.
 */
void hcode_guard(struct translator *t, uint32_t reg, int64_t imm);
/* Makes the jump at `word` go to the word `target`. */
void hcode_jump(struct translator *t, uint32_t word, uint32_t target);
/* Makes the instruction at `word` load the address of the text, which is to follow the program. */
void hcode_text(struct translator *t, uint32_t word, const char *text);
/* Return the register of a variable; an error is noted if there are too many. */
uint32_t hcode_global(struct translator *t, uint32_t id);
uint32_t hcode_local(struct translator *t, const struct dif_var *v);

/* ---- hcode_live.c ---------------------------------------------------------------------------- */

/* Registers of clause-local variables: bit n stands for HREG_LOCALS + n. */
struct reg_set {
	uint64_t bits[(RT_HELPER_LOCALS + 63) / 64];
};

bool hcode_has_local(const struct reg_set *s, uint32_t reg);
/* Adds to *ret what the words from..to-1 may read before they have written it. */
void hcode_live(const struct hcode *h, uint32_t from, uint32_t to, struct reg_set *ret);
/*
 * Whether a string may be the value of the clauses when the words from..to-1 have led to word `to`.
 */
bool hcode_names(const struct hcode *h, uint32_t from, uint32_t to);

/* ---- hcode_difo.c ---------------------------------------------------------------------------- */

/* Translates an object; returns what its value is: VALUE_CONST, or VALUE_SUM with imm 0. */
struct value hcode_difo(struct translator *t, const struct difo *d);
/* Translates a condition: goes on behind it if it is true, else by the jumps in *on_false. */
void hcode_condition(struct translator *t, const struct difo *d, struct fixup_list *on_false);
