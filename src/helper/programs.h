/* SPDX-License-Identifier: MIT */
/*
 * The programs of a session's ustack helpers, in the words of MAP_HCODE: one for each set of
 * helpers that a process has had.
 *
 * A program is made once and stays until the session ends, and so do the texts that are values of
 * variables. The words that helpers which programs carry (carried.h) may use are limited, because
 * anybody can run such a program.
 *
 * Owns     struct programs its programs; helpers stay the caller's, and outlive them.
 * Errors   what the machine cannot do, or that there is no room.
 * Threads  the consumer's.
 */
#pragma once

#include "helper/hcode.h"
#include "unwind/tables.h"

struct rt_hproc;
struct programs;

struct program {
	uint64_t set; /* bits: numbers of helpers */
	VEC(struct helper *) helpers;
	uint32_t base;	   /* word of MAP_HCODE where it lies */
	struct hcode code; /* without its words */
	struct helper_code compiled;
	bool is_walked; /* it is to be compiled */
};

struct programs *programs_create(void);
void programs_destroy(struct programs *ps); /* NULL is allowed */
/*
 * Gives the maps of the engine, which must outlive ps. To be called before any program is made.
 */
void programs_begin(struct programs *ps, const struct stack_tables *tables);
/* Finds or makes the program of a set; helpers: all of the session, by their numbers. */
MUST_CHECK struct err *programs_get(struct programs *ps, struct helper *const *helpers,
				    uint32_t nhelpers, uint64_t set, const struct program **ret);
/* Finds the words of MAP_HCODE where the text is: HOP_TEXT makes an address of them. */
MUST_CHECK struct err *programs_text(struct programs *ps, const char *text, bool is_foreign,
				     uint64_t *ret);
/*
 * A walk has met a process that has the program, whose number is rt_hproc.program; 0 is none.
 * Programs are compiled from then on: to verify one takes the kernel as long as some thousand walks
 * by the machine, and most processes that are attached are never walked.
 */
void programs_walked(struct programs *ps, uint64_t number);
/*
 * Compiles such programs in a thread, one after the other. True: one was compiled, or (*ret) the
 * kernel has refused it. To be called now and then.
 */
bool programs_work(struct programs *ps, struct err **ret);
/* The statement from which a word of MAP_HCODE was made; NULL: none was. */
const struct hcode_line *programs_line(const struct programs *ps, uint64_t word);

/* Fills what a walk of a process needs to run the program. */
void program_fill(const struct program *p, struct rt_hproc *hp);
/* Whether walks of a process with these values restore callee-saved registers. */
bool program_saves(const struct program *p, const struct rt_hproc *hp);
