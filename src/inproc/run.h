/* SPDX-License-Identifier: MIT */
/*
 * The open engine of a process, and its loaded units: what engine.c and follow.c share.
 *
 * Owns     the engine owns its units, each unit its windows.
 * Threads  the one of the session.
 */
#pragma once

#include "inproc/impl.h"

struct inproc_run {
	struct engine_run run;
	struct inproc *p;
	int timer_fd;
	bool stops_when_full;
	int only_cpu;
	bool has_rings; /* their pages were made */
	bool has_owner; /* patch_has_owner(), as it was looked at last */
	/*
	 * When these are due; look_at: the mappings, whatever tells of changes; retry_at: what
	 * could not be written (struct inproc.is_behind).
	 */
	uint64_t clock_at, kin_clock_at, sweep_at, maps_at, look_at, retry_at;
	bool has_no_turn;     /* mappings have changed, and another tracer has the turn */
	struct loaded *units; /* all that are loaded */
};

/* The tail of a window, by the window's index; its address is that of the file. */
struct loaded_tail {
	uint32_t window;
	struct flow_tail tail;
};

struct loaded {
	struct loaded *next;
	const struct unit *unit;
	/* The windows that were given to patch_write(), their files, and what became of them. */
	VEC(struct patch_window) windows;
	VEC(const struct inproc_file *) files;
	VEC(uint64_t) biases; /* of the files, when the stubs of the windows were made */
	enum patch_state *states;
	uint32_t ntries;
	/* Windows at first instructions: flow_window.is_first_jump. */
	VEC(taddr) firsts;
	VEC(uint32_t) returns; /* by index: those with flow_window.is_first_return */
	VEC(struct loaded_tail) tails;
	bool is_hidden_told, is_lost_told, is_tail_told;
	/* as in struct attach_opts */
	void (*notice)(void *ctx, const char *msg);
	void *notice_ctx;
};

static inline struct inproc_run *inproc_run_of(const struct engine_run *r)
{
	return CONTAINER_OF(r, struct inproc_run, run);
}

#define INPROC_LOOK_NS	 10000000000ull
#define INPROC_MAPS_PART 20u /* of the time is spent with looking at mappings, at most */

/* ---- engine.c -------------------------------------------------------------------------------- */

/* Makes the stub of a window where the file is, and adds it, if it belongs to the unit. */
MUST_CHECK struct err *inproc_window_add(struct inproc *p, const struct inproc_file *f,
					 const struct flow_window *w, struct loaded *l,
					 struct inproc_stubs *to);

/* ---- follow.c -------------------------------------------------------------------------------- */

/* struct engine: follow_maps. */
MUST_CHECK struct err *inproc_follow_maps(struct engine_run *er, const struct attach_opts *opts);
