/* SPDX-License-Identifier: MIT */
/*
 * A plan while windows are chosen: what plan.c and ways.c share.
 *
 * Owns     a struct planning lives as long as flow_plan() runs.
 */
#pragma once

#include "flow/impl.h"

struct taken { /* a bit for each byte of an area that a window uses */
	uint64_t *bits;
};

struct planning {
	const struct flow *f;
	const struct flow_site *sites;
	const struct flow_opts *opts;
	struct flow_plan *plan;
	struct taken *taken; /* by area */
	uint32_t first;	     /* of the windows that this round has made */
};

/* Where the body of a site runs: before this instruction. */
struct spot {
	struct flow_range bounds; /* its function */
	uint64_t at;
	struct flow_prologue prologue; /* of FLOW_ENTRY */
	bool is_entry;
	bool goes_back; /* the window may begin before it */
	/*
	 * Control may come from elsewhere to the instruction at `entered`, and from there to this
	 * one: all from there on is copied, and stays.
	 */
	bool is_copied;
	uint64_t entered;
	/* The instruction jumps to these, which are copied, too; NULL: it is none of that kind. */
	const struct flow_tail *tail;
};

/* Whether no window uses any of these bytes. */
bool range_is_free(const struct planning *p, uint64_t addr, uint32_t size);
/* Whether the nop of one of the file's own probes is in these bytes. */
bool has_nop(const struct planning *p, uint64_t addr, uint32_t size);
/* The bytes that a window uses, without its padding. */
uint32_t window_size(const struct flow_window *w);
/* Notes that its bytes are in use; false: they are none of the file. */
bool window_take(const struct planning *p, const struct flow_window *w);
/* Adds the body of a site to a window; false: it has too many. */
bool body_add(struct flow_window *w, const struct spot *s, uint32_t site);
/* Adds a body to a window, if that moves the instruction, or can. w may be NULL. */
bool window_join(const struct planning *p, struct flow_window *w, const struct spot *s,
		 uint32_t site);
/* Adds a new window with the body of a site to the plan, if its bytes are free. */
enum flow_lack window_put(const struct planning *p, struct flow_window *w, const struct spot *s,
			  uint32_t site);
/*
 * Tries the starts from the site back to where its block begins: the latest one that has room.
 * Returns what the first one lacks, or where they all would do but for padding, that.
 */
enum flow_lack starts_try(const struct planning *p, const struct spot *s, uint32_t jump,
			  uint32_t site);

/* ways.c: places exits that have no window yet; the windows of the plan are sorted. */
void ways_place(struct planning *p, uint32_t n);
