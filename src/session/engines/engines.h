/* SPDX-License-Identifier: MIT */
/*
 * The engines of a session: which there are, which units each of them runs, and what is asked of
 * all of them.
 *
 * A unit runs in the first engine of the list that takes it and all units that must stay with it
 * (session/match/together.h). Only engines that have units are opened, and one that makes the
 * control block which another one needs. The first one makes the session's control block, the
 * others are given it.
 *
 * Owns     struct engines owns the opened engines; engines_close() closes them.
 * Errors   struct err *: why no engine takes a unit, or what an engine refused.
 * Threads  that of the session.
 */
#pragma once

#include "probe/engine.h"
#include "record/layout.h"

struct agg_merge;

#define ENGINES_MAX 4 /* in engine_list */

struct engines {
	struct engine_run **runs; /* one an engine; of one that asks for a process, one each */
	uint32_t n;
	/* The session's control block, which all open engines share; NULL: no engine is open. */
	struct rt_control *control;
	uint32_t ncpus; /* possible CPUs: entries of control->cpu */
};

/* All engines, by preference, NULL-terminated. */
extern const struct engine *const engine_list[];
/* The layout_opts.max_maps with which all of the engines can run. */
uint32_t engines_max_maps(const struct engine *const *list, uint32_t ncpus);

/*
 * Finds the engine of each unit. ret[i]: not NULL before the call if unit i is in an engine
 * already; set for the others.
 */
MUST_CHECK struct err *engines_choose(const struct engine *const *list,
				      const struct unit *const *units, uint32_t n,
				      const struct layout *l, const struct engine **ret);
/*
 * Opens each engine that occurs in chosen, or the first that needs no other if chosen is empty, and
 * those that are for processes. After an error none is open. opts->control and opts->process are
 * not used.
 */
MUST_CHECK struct err *engines_open(struct engines *es, const struct engine *const *list,
				    const struct engine *const *chosen, uint32_t n,
				    const struct engine_opts *opts);
void engines_close(struct engines *es);
/* The first opened run of an engine; NULL: it is not open. */
struct engine_run *engines_find(const struct engines *es, const struct engine *engine);
/* The run of the engine that takes the unit: that of its process; NULL: there is none. */
struct engine_run *engines_find_for(const struct engines *es, const struct engine *engine,
				    const struct unit *u);
/* ret has room for ENGINES_MAX + 1: the opened engines in the order of the list, then NULL. */
void engines_opened(const struct engines *es, const struct engine *const *list,
		    const struct engine **ret);

/* Each of these does in all engines what the function of struct engine does in one. */
MUST_CHECK struct err *engines_ready(const struct engines *es);
void engines_set_state(const struct engines *es, enum rt_state state);
bool engines_add_strings(const struct engines *es);
uint32_t engines_fill(const struct engines *es);
/* The size of the smallest buffer of a CPU. */
uint32_t engines_bufsize(const struct engines *es);
/* The most scratch memory that a firing has in one of them. */
uint32_t engines_scratch_size(const struct engines *es);
/* Whether the CPU was there when they were opened. */
bool engines_has_cpu(const struct engines *es, uint32_t cpu);
uint64_t engines_links_missed(const struct engines *es, const struct attachments *a);
MUST_CHECK struct err *engines_add_child(const struct engines *es, struct attachments *a, pid_t pid,
					 pid_t child, const struct attach_opts *opts);
void engines_forget_child(const struct engines *es, struct attachments *a, pid_t child);
/* Lets what is attached at addresses of the process go to where its code is now. */
MUST_CHECK struct err *engines_follow_maps(const struct engines *es, pid_t pid,
					   const struct attach_opts *opts);
uint32_t engines_nplaces(const struct engines *es, const struct attachments *a, pid_t pid);
MUST_CHECK struct err *engines_sweep(const struct engines *es, struct attachments *a, pid_t pid);
/* The tables of the engine that walks user stacks with them; NULL: none does. */
const struct stack_tables *engines_tables(const struct engines *es);
/* The aggregations of all; the caller destroys the result, before the engines are closed. */
struct agg_merge *engines_aggs(const struct engines *es, const struct layout *l);
