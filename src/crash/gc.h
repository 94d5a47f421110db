/* SPDX-License-Identifier: MIT */
/*
 * What the store may cost: a fifth of the room that would be free without it, and never so much
 * that less than a tenth of the file system is free. The oldest cores go first, then the oldest
 * entries.
 *
 * Units    bytes on the disk.
 * Errors   struct err *.
 */
#pragma once

#include "crash/entries.h"

struct crash_budget {
	uint64_t limit;	      /* for the store */
	uint64_t used;	      /* by the store */
	uint64_t disk_free;   /* for root */
	uint64_t disk_needed; /* more bytes that have to be free; 0: there are enough */
};

/* limit UINT64_MAX: as the file system says. */
MUST_CHECK struct err *crash_budget_read(const struct crash_store *s, uint64_t limit,
					 struct crash_budget *ret);

struct crash_gc {
	uint64_t limit; /* as crash_budget_read() takes it */
	bool is_dry;	/* nothing is removed */
	/* Is told what is removed, and why; what: "core", "crash", "unfinished crash" */
	void (*removed)(void *ctx, const char *id, const char *what, uint64_t bytes);
	void *ctx;
};
MUST_CHECK struct err *crash_gc_run(const struct crash_store *s, const struct crash_gc *how);
/* Entries that their capturer has left behind. */
MUST_CHECK struct err *crash_unfinished_count(const struct crash_store *s, uint32_t *ret);
