/* SPDX-License-Identifier: MIT */
/*
 * Equal crashes: those with the same signature, of the same user.
 *
 * The first one keeps its entry, and its file `same` counts all of them; of the others, only the
 * newest has an entry.
 *
 * Errors   struct err *: the store cannot be changed.
 */
#pragma once

#include "crash/entries.h"

/*
 * Counts the entry id, which has this signature and user, if it is not the first one. ret_id is the
 * entry that is left for it: id, or the newer equal one that was counted before it. With an error,
 * ret_id is id as well.
 */
MUST_CHECK struct err *crash_same_merge(const struct crash_store *s, const char *id,
					const char *signature, int64_t uid, int64_t time_ns,
					uint64_t *ret_count, char ret_id[CRASH_ID_MAX + 1]);
