/* SPDX-License-Identifier: MIT */
/*
 * What a runtime has in place of threads: which there are, what each is, its stack.
 *
 * Owns     what is read, until value_free() and vec_deinit().
 * Errors   struct err *: where the runtime has them cannot be found.
 */
#pragma once

#include "mdb/lang.h"

/*
 * Adds the tasks of a language; kinds: TASK_KIND, or also PARKED_KIND (census.h), of objects in its
 * heap. *ret_is: which it has is described.
 */
MUST_CHECK struct err *tasks_of(struct mdb *m, const struct lang *lang, uint32_t kinds,
				value_words *ret, bool *ret_is);
/*
 * Reads the stack of one that no thread runs, from the innermost frame: an item with a name only is
 * a frame, others behind it are the values in it, and those without a name (VALUE_MEMBER) objects
 * of which the frame is one.
 */
void task_stack_read(struct mdb *m, const struct lang *lang, uint64_t word, struct value *ret);
/* Adds what an item says, in a line. */
void task_item_add(struct mdb *m, const struct lang *l, const struct value_item *item,
		   struct strbuf *out);
