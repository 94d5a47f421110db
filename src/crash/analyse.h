/* SPDX-License-Identifier: MIT */
/*
 * The analyser: makes the report of a crash from what the capturer has copied, after the process
 * has gone.
 *
 * Root opens files, starts a process without rights (confine.h) that does all reading, renames what
 * it has written, and removes what is not needed any more. If that process crashes or takes too
 * long, what was captured stays, the file `analysed` says so, and one more attempt is allowed.
 *
 * `analysed` has attempts=N, state=running|done|failed|timeout, why=, and of a report signature=,
 * where= (its innermost frames), exception=, and the sizes core_bytes= and packed_bytes=.
 * into_container= is the file that was written into the process's container, or why none was.
 *
 * Errors   struct err *: there is no such crash, or it was analysed already; the analysis has
 *          failed.
 */
#pragma once

#include "base/err.h"

struct pairs;

#define ANALYSE_ATTEMPTS 2

struct analyse_opts {
	const char *store, *id;
	const char *config; /* NULL: the usual one */
	int container;	    /* the root directory of the process's container, O_PATH; 0: none */
	/*
	 * The entry's directory, which the capturer has locked; crash_analyse() closes it. 0: it is
	 * opened and locked.
	 */
	int entry;
	bool skips_busy; /* an entry that another analyser has is no error */
};

MUST_CHECK struct err *crash_analyse(const struct analyse_opts *opts);
/* Whether a crash with this file `analysed` (without pairs: none) is to be analysed. */
bool crash_analyse_is_due(const struct pairs *analysed);
/*
 * Analyses all crashes that are due, and sends mails and posts that had to wait. config: as that of
 * analyse_opts. The first error is returned, after all was tried.
 */
MUST_CHECK struct err *crash_analyse_waiting(const char *store, const char *config);
