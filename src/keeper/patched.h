/* SPDX-License-Identifier: MIT */
/*
 * The processes with windows of the tracer (patch/patch.h), which the keeper takes back when the
 * tracer has ended, in whatever way, and has left some.
 *
 * Owns     the descriptors, until patched_drop() or patched_undo().
 * Threads  all is async-signal-safe.
 */
#pragma once

#include "base/base.h"

#define PATCHED_MAX 256

struct patched {
	struct patched_process {
		uint64_t id;
		int mem_fd, journal_fd, region_fd;
	} list[PATCHED_MAX];
	uint32_t n;
};

/* Takes the descriptors over; false: there are too many processes. */
bool patched_add(struct patched *p, uint64_t id, int mem_fd, int journal_fd, int region_fd);
/* NULL: it has no windows. */
const struct patched_process *patched_find(const struct patched *p, uint64_t id);
void patched_drop(struct patched *p, uint64_t id);
bool patched_has_fd(const struct patched *p, int fd); /* whether it is one of theirs */
void patched_undo(struct patched *p);
