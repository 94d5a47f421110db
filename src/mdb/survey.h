/* SPDX-License-Identifier: MIT */
/*
 * What the memory of a target is used for, as the command memprof shows it: what has leaked, and
 * what is alive, by type.
 *
 * A type is a class of C++ (blocktype.h), the size of a block of malloc of which no more is known,
 * or a class of the language whose objects a census has counted.
 *
 * Owns     everything in a struct survey, until survey_deinit().
 * Errors   struct err *: the memory is that of an allocator or a runtime that is not known. What
 *          could not be read, and therefore may be wrong in the numbers, is a note.
 * Units    bytes of memory; of a block of malloc with its header.
 */
#pragma once

#include "base/err.h"
#include "base/vec.h"

struct mdb;

struct survey_type {
	char *name;	  /* foreign text; the caller escapes it */
	const char *kind; /* "c++", "block", or the language: "python", "js" */
	uint64_t count, bytes;
	uint64_t held;	   /* leaks: bytes of these, and of what only they hold */
	uint64_t example;  /* the address of one of them, as the language has it */
	const char *place; /* leaks: what survey_place_f has returned; NULL: not known */
};

/*
 * Returns the place where the block at an address was asked for, in memory of the caller that lives
 * longer than the survey; the same pointer for the same place. NULL: it is not known.
 */
typedef const char *survey_place_f(void *arg, uint64_t addr);

struct survey {
	VEC(struct survey_type) types; /* the most bytes first */
	VEC(char *) notes;	       /* sentences, without a full stop */
	uint64_t nblocks, nbytes;      /* blocks of malloc that are in use */
	/* alive: the language of objects, NULL: none is known; how many there are */
	const char *language;
	uint64_t nobjects, nobject_bytes;
	/* leaks: blocks to which nothing leads, those that others of these hold included */
	uint64_t nlost, nlost_bytes;
	uint64_t nplaced; /* of those that no other block holds: how many have a place */
};

/*
 * Blocks of malloc to which nothing leads, by the types of those that no other block holds, and by
 * place; place NULL: no place is known.
 */
MUST_CHECK struct err *survey_leaks(struct mdb *m, survey_place_f *place, void *arg,
				    struct survey *s);
/*
 * Objects of a language, and blocks of malloc that have none of these. Objects that are garbage,
 * but not freed yet, are there, too. with_sizes: blocks are types by their sizes also where there
 * are objects of a language; else they are one type there.
 */
MUST_CHECK struct err *survey_alive(struct mdb *m, bool with_sizes, struct survey *s);
void survey_deinit(struct survey *s);
