/* SPDX-License-Identifier: MIT */
/*
 * The user stacks of a session: which are asked for, who walks them, and what a walk needs.
 *
 * The kernel's walker (rt/unwind.c) finds the frames of a process with unwind tables of the files
 * that it maps (unwind/), and the names of frames of other languages with ustack helpers (helper/).
 * Both are given to the engine from here (unwind/tables.h). A walk that meets a file without a
 * table, or a process that no helper was chosen for, asks: requests of both kinds come from the
 * engine together, and are handed to the one that they are for.
 *
 *     stack_needs_find()   what the clauses ask for (needs.c)
 *     stacks_create()      who walks; the helpers that there are (stacks.c)
 *     stacks_begin()       the engine is open
 *     stacks_watch()       processes map files, execute, end: told to tables and helpers (watch.c)
 *     stacks_prepare()     tables and helpers of processes that run, as far as there is time
 *     stacks_serve()       requests of walks
 *     stacks_work()        requests, then tables that nobody has asked for yet
 *
 * Owns     what it knows of tables and helpers; what walks read is the engine's, and outlives it.
 * Errors   struct err *: the file of the option helper. What is wrong with one file or process
 *          becomes a notice.
 * Threads  the consumer's.
 */
#pragma once

#include <stdatomic.h>
#include <sys/types.h>

#include "dif/prog.h"
#include "helper/ustack.h"

struct stack_tables; /* unwind/tables.h */
struct stacks;
struct watch;

/* ---- what is asked for ---------------------------------------------------------------------- */

#define STACK_PIDS_MAX 8 /* with more, it may be any */

struct stack_needs {
	bool has_walks;	    /* of user stacks: ustack(), ucaller, ustackdepth, lfunc */
	bool has_addresses; /* clauses record addresses of processes */
	bool has_names;	    /* with names of frames: user stacks that have room for them, lfunc */
	/*
	 * Whose stacks with names are recorded: processes that predicates or probes give by number,
	 * and whether it may be any other one as well.
	 */
	uint64_t pids[STACK_PIDS_MAX];
	uint32_t npids;
	bool reaches_others;
	uint32_t frames;  /* most frames of a stack of the kernel */
	uint32_t uframes; /* the same of a user stack */
};

void stack_needs_find(struct prog_clause *const *clauses, uint32_t n, struct stack_needs *ret);
/*
 * Whether a predicate is seen to be 0 by its first comparison, of pid with a number: in all other
 * processes (*ret_is_one: pid == 7 && ...), or in that one (pid != 7 && ...).
 */
bool stack_pred_pid(const struct difo *pred, uint64_t *ret_pid, bool *ret_is_one);

/* ---- their walks ---------------------------------------------------------------------------- */

struct stacks_opts {
	struct stack_needs needs;
	int64_t max_frames;	    /* option maxframes; 0 and less: it is not set */
	uint64_t unwindsize;	    /* size of the unwind tables, in bytes */
	struct ustack_opts helpers; /* without ctx and functions; what it names outlives s */
	void *ctx;
	void (*notice)(void *ctx, const char *msg);
	/* The same for what differs from what the user asked for. */
	void (*adjusted)(void *ctx, const char *msg);
	void (*debug)(void *ctx, const char *msg); /* NULL: nobody wants it */
	/* A process uses a file that we have no right to open, so its stacks are cut. */
	void (*denied)(void *ctx, uint64_t pid);
	/* Called now and then while a large file is read: hears what processes have mapped. */
	void (*between)(void *ctx);
};

MUST_CHECK struct err *stacks_create(const struct stacks_opts *opts, struct stacks **ret);
void stacks_destroy(struct stacks *s); /* NULL is allowed */

/*
 * Returns the size of the unwind tables, in bytes: the engine makes room for them. 0: the kernel
 * walks user stacks.
 */
uint64_t stacks_tables_size(const struct stacks *s);
bool stacks_has_helpers(const struct stacks *s);
/* Whether walks use unwind tables: after stacks_begin(). s may be NULL. */
bool stacks_has_tables(const struct stacks *s);
/* The same, and clauses record the frames of user stacks, not only their number. s may be NULL. */
bool stacks_has_frames(const struct stacks *s);
/* Whether a helper is for processes that map a file of this path. */
bool stacks_has_helper(const struct stacks *s, const char *path);
/* Returns the option maxframes, or the kernel's limit, with a notice, if that is lower. */
uint32_t stacks_max_frames(const struct stacks *s);
/* The same for user stacks that we walk; 0 = we walk none. */
uint32_t stacks_max_uframes(const struct stacks *s);

/* The engine walks with these tables, whose request_fd is to wake the caller. */
MUST_CHECK struct err *stacks_begin(struct stacks *s, const struct stack_tables *engine);
/* A process that the session was told of. */
struct stack_process {
	pid_t pid;
	bool is_held; /* by the caller, with ptrace(2) */
};
/*
 * Prepares the walks of processes that run, before any probe fires: loads the unwind tables of the
 * n processes, and attaches their helpers. Where clauses reach others, the same for all processes
 * whose files are named as a runtime's, first those that use a CPU, for half a second of CPU time
 * at most. Then, for a tenth of a second, loads tables of other processes, and looks for runtimes
 * in them where clauses reach them. What processes map from now on must be watched already. Ends
 * early when *is_interrupted is set. s may be NULL.
 */
void stacks_prepare(struct stacks *s, const struct stack_process *named, uint32_t n,
		    const atomic_int *is_interrupted);
/* Subscribes to what all processes do; stacks_watch_followed() to what followed ones do. */
void stacks_watch(struct stacks *s, struct watch *w);
void stacks_watch_followed(struct stacks *s, struct watch *w);
/* Serves the requests that there are, and does nothing else. s may be NULL. */
void stacks_serve(struct stacks *s);
/*
 * Serves requests, then loads tables of files that were queued, until deadline (ns,
 * CLOCK_MONOTONIC). Returns true if some are left. s may be NULL.
 */
bool stacks_work(struct stacks *s, uint64_t deadline);

/*
 * Writes how much is kept, and how much was removed to make room; false: nothing is kept. s may be
 * NULL, here and below.
 */
bool stacks_describe(const struct stacks *s, struct strbuf *out);
/* How many stacks were recorded before the helpers of their process were attached. */
uint64_t stacks_bare(const struct stacks *s);
/* Writes what helpers could not do in the kernel (ustacks_note()). */
bool stacks_note(const struct stacks *s, enum rt_note which, struct strbuf *out);
