/* SPDX-License-Identifier: MIT */
/*
 * A copy of a process: its private memory and its registers, taken while it stands still, in a
 * sparse core file that gdb reads, too.
 *
 * Owns     the target owns the copy. The file of a path stays.
 * Errors   struct err *: as target_hold() and the file; a process with words of 32 bits. The
 *          process goes on in each case, also if we are killed.
 * Units    bytes of memory; ns for which the process stood still.
 */
#pragma once

#include "target/target.h"

struct target_copied {
	uint64_t bytes, stopped_ns;
};

/*
 * Writes the core file of a process whose threads the caller holds, and goes on holding. why: the
 * signal that the thread is about to die of; NULL: none is known. path must not exist. Of *stats,
 * bytes are set.
 */
MUST_CHECK struct err *target_save_held(struct target *held, pid_t tid, const siginfo_t *why,
					const char *path, struct target_copied *stats);
/* path: the core file to make, which must not exist; NULL: a temporary one without a name. */
MUST_CHECK struct err *target_copy(pid_t tid, const char *path, struct gate *g,
				   struct target_copied *stats, struct target **ret);
/* The same of a process that the caller holds, and lets go afterwards. */
MUST_CHECK struct err *target_copy_held(struct target *held, pid_t tid, struct gate *g,
					struct target **ret);
