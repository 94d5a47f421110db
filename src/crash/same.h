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

#include "crash/store.h"

/* Counts the entry id, which has this signature and user, if it is not the first one. */
MUST_CHECK struct err *crash_same_merge(const struct crash_store *s, const char *id,
					const char *signature, int64_t uid, int64_t time_ns,
					uint64_t *ret_count);
