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

/*
 * A search for what holds some objects of a census: of each the shortest chain, as in chain_show().
 * wanted: by number of an object, whether it is one of them; it must stay. The number of an object
 * is its index in s->objects. An interrupted search is told by m->is_interrupted.
 */
struct chain_search;
struct chain_search *chain_search_make(struct mdb *m, struct census *s, const uint8_t *wanted);
void chain_search_free(struct chain_search *c); /* NULL is allowed */
/* The object that holds an object; CHAIN_ROOT: a root does; CHAIN_NONE: nothing that was met. */
#define CHAIN_NONE UINT32_MAX
#define CHAIN_ROOT (UINT32_MAX - 1)
uint32_t chain_holder(const struct chain_search *c, uint32_t object);
/* Adds the root that holds an object. */
void chain_root_add(struct chain_search *c, uint32_t object, struct strbuf *out);
/* Adds how a root holds it, if that leads through values that are no objects: "all[0]". */
bool chain_root_step_add(struct chain_search *c, uint32_t object, struct strbuf *out);
/* Adds how an object holds another one: "handlers of Bus". */
void chain_step_add(struct chain_search *c, uint32_t holder, uint32_t object, struct strbuf *out);
/* Whether an object is but a part of the value that holds it. */
bool chain_is_part(const struct chain_search *c, uint32_t object);

/* refs.c: shows an object that has a word, at an address or (0) somewhere; path: NULL or where. */
void ref_emit(struct mdb *m, const struct census *s, const struct object_at *o, uint64_t word,
	      uint64_t at, const struct strbuf *path);
/* Adds how an object holds a word: "handlers of Bus". */
void ref_text_add(struct mdb *m, const struct census *s, const struct object_at *o, uint64_t word,
		  const struct strbuf *path, struct strbuf *out);
/* Shows a root: a word at an address, or (0) elsewhere. */
void root_emit(struct mdb *m, taddr at, const char *place);
/* Adds by which items a value leads to another through values that no census has; false: none. */
bool ref_path_add(struct mdb *m, const struct census *s, uint64_t holder, uint64_t word,
		  struct strbuf *path);
