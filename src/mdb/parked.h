/* SPDX-License-Identifier: MIT */
/*
 * What stands parked without a thread, of all languages of a target: fibers, coroutines,
 * generators, tasks, virtual threads, processes of Erlang.
 *
 * Owns     the list what is in it, until parked_free().
 * Errors   struct err *: no language has such, or where they are cannot be found.
 */
#pragma once

#include "helper/dump.h"
#include "mdb/lang.h"

struct parked {
	VEC(struct dump_parked) all;
	uint64_t nmore; /* at most so many others, which were not looked at */
};

/*
 * Reads at most `most` of them, those that have a stack; with_running: also those that a thread
 * runs, which have none here. word: 0, or the only one that is wanted.
 */
MUST_CHECK struct err *parked_read(struct mdb *m, uint64_t word, uint32_t most, bool with_running,
				   struct parked *ret);
void parked_free(struct parked *p);
/* Whether a language describes what stands parked in it. */
bool parked_is_described(struct mdb *m);
/* ::lfibers, for languages that have such. */
MUST_CHECK struct err *parked_list(struct mdb *m, const struct call *c);
