/* SPDX-License-Identifier: MIT */
/*
 * The words outside of a language's heap that may hold its objects.
 *
 * Owns     nothing.
 * Errors   none: memory that is missing is left out.
 */
#pragma once

#include "mdb/census.h"

/* at: the address of the word; 0: it is in a register. */
typedef void root_visit(void *ctx, taddr at, uint64_t word);
void roots_walk(struct mdb *m, const struct census *s, root_visit *visit, void *ctx);
/* Visits the words of blocks of malloc in which no objects are. */
void roots_walk_blocks(struct mdb *m, const struct census *s, root_visit *visit, void *ctx);
/*
 * Finds the variables of frames, once: s->variables. The census keeps them, and frees them by the
 * second function.
 */
void roots_name(struct mdb *m, struct census *s);
void roots_free(struct census *s);
/* Adds what holds the word there: "the stack of thread 4711, frame 12". */
void root_place_add(struct mdb *m, taddr at, struct strbuf *out);
