/* SPDX-License-Identifier: MIT */
/*
 * The aggregations of several engines as those of one.
 *
 * Clauses of one session may run in several engines, and update the same aggregation. Each engine
 * keeps elements of its own; struct agg_io of the merge hands out each key once, with the states of
 * all engines behind one another: those of CPU 0, 1, ... of the first engine, then those of the
 * second. Texts of keys are found in the engine that has them.
 *
 * Owns     a copy of the values that were read last; the engines are the caller's.
 * Threads  that of the caller.
 */
#pragma once

#include "probe/engine.h"
#include "record/layout.h"

struct agg_merge;

/* An engine's aggregations: its functions, and what they are given. */
struct agg_source {
	const struct agg_io *io;
	void *ctx;
};

/* sources: at least one; they are copied. The layout must live longer than the result. */
struct agg_merge *agg_merge_create(const struct layout *l, const struct agg_source *sources,
				   uint32_t n);
void agg_merge_destroy(struct agg_merge *m); /* NULL is allowed */
/* The functions of the whole, and what they are given: with one source these are its own. */
struct agg_source agg_merge_whole(struct agg_merge *m);
