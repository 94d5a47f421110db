/* SPDX-License-Identifier: MIT */
/*
 * Who holds an object: the shortest chain of objects from a root to it.
 *
 * Owns     nothing.
 * Errors   struct err *: no root leads to the object.
 */
#pragma once

#include "mdb/census.h"

/* Shows the chain from the value on, a row for each object, and the root as the last one. */
MUST_CHECK struct err *chain_show(struct mdb *m, struct census *s, uint64_t value);

/* refs.c: shows an object that has a word, at an address or (0) somewhere; path: NULL or where. */
void ref_emit(struct mdb *m, const struct census *s, const struct object_at *o, uint64_t word,
	      uint64_t at, const struct strbuf *path);
/* Shows a root: a word at an address, or (0) elsewhere. */
void root_emit(struct mdb *m, taddr at, const char *place);
/* Adds by which items a value leads to another through values that no census has; false: none. */
bool ref_path_add(struct mdb *m, const struct census *s, uint64_t holder, uint64_t word,
		  struct strbuf *path);
