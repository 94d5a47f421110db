/* SPDX-License-Identifier: MIT */
/*
 * The inside of a session's user stacks (stacks.h).
 *
 *     needs.c     which stacks the clauses ask for
 *     stacks.c    begin and end: tables, helpers, the engine that walks
 *     watch.c     what processes map, execute and leave, as subscribers of the watch
 *     requests.c  what walks have asked for
 *
 * Owns     what it knows of tables and helpers; what walks read is the engine's (stacks.h).
 * Threads  the one that works.
 */
#pragma once

#include "base/vec.h"
#include "rt/tables.h"
#include "stacks/stacks.h"
#include "unwind/unwind.h"

/* What a followed process has executed and opened. */
struct starting {
	uint64_t pid;
	enum {
		STARTING_OPENS,	   /* libraries, while it runs */
		STARTING_EXECUTES, /* a program; what the kernel has mapped is reported next ... */
		STARTING_LINKS,	   /* ... and then what its dynamic linker has */
	} state;
	/* how many files of runtimes' names it has mapped: by the last report, and since then */
	uint32_t nruntimes, nnew;
};

struct stacks {
	struct stacks_opts opts;
	bool walks_here;	 /* user stacks are walked by our own means */
	struct ustacks *helpers; /* NULL: no frame gets a name */
	/* These are set by stacks_begin(). NULL: the kernel walks. */
	const struct stack_tables *engine; /* what walks read is there, and they ask there */
	struct unwinds *tables;
	bool is_serving;	       /* stacks_serve() runs: it must not begin again */
	bool is_meeting;	       /* helpers of a process are attached */
	bool is_naming;		       /* symbols are read: what is known of processes must stay */
	VEC(struct rt_ureq) wanted;    /* requests for tables, in the order in which they came */
	VEC(struct rt_ureq) meetings;  /* the same for helpers */
	VEC(struct starting) starting; /* of followed processes */
};

/* ---- requests.c ----------------------------------------------------------------------------- */

/*
 * Called while a large file is read: takes requests, those for tables only if with_tables, and if
 * that file was not read for one.
 */
void requests_take_between(struct stacks *s, bool with_tables);
