/* SPDX-License-Identifier: MIT */
/*
 * Writes the core of a process that was in a container into a directory of that container, where
 * its users look for it.
 *
 * A process of ours does so that has the ids of the one that has died, no other groups and no
 * capability, from the root directory that the capturer has opened while that one stood still. No
 * path leads out of that directory, and none through the links of /proc. So it can do nothing that
 * the process itself could not have done.
 *
 * Errors   struct err *: the directory is not there, or cannot be written by that user; the file is
 *          there; it took too long; the process is not to have a core (ulimit -c, set-user-id).
 * Facts    openat2(2): RESOLVE_IN_ROOT, RESOLVE_NO_MAGICLINKS. core(5): RLIMIT_CORE.
 */
#pragma once

#include "base/err.h"
#include "crash/pairs.h"

struct crash_into {
	int root;	    /* of the container, O_PATH */
	const char *folder; /* in it */
	int core;	    /* a core file, not packed */
	const struct pairs *capture;
};

/* *ret_name: of the file in the folder; the caller's. */
MUST_CHECK struct err *crash_into_container(const struct crash_into *in, char **ret_name);
