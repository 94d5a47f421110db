/* SPDX-License-Identifier: MIT */
/*
 * The inside of arrivals.h: batches of probes that are added while a session runs.
 *
 *     plan.c      the subscriber of the watch for followed processes, begin and end
 *     system.c    probes in all processes: files that the watch sees for the first time
 *     modules.c   modules of the kernel that come and go
 *     batches.c   a batch: its probes, its unit, and when that is detached again
 *     waiting.c   processes that run on while another tracer changes their code
 *
 * Owns     struct arrivals owns its batches; their units belong to the match, their probes to the
 *          registry.
 * Units    times in ns of CLOCK_MONOTONIC.
 * Errors   struct err *, which becomes a notice: what runs goes on without the new probes.
 * Threads  the one that works.
 */
#pragma once

#include "provider/arrivals.h"
#include "session/arrivals/arrivals.h"
#include "session/arrivals/short_lived.h"
#include "watch/watch.h"

#define UNUSED_MAX 64 /* batches without any mapped file that stay probed */

/* The probes that were added together, after an event of a process. */
struct arrival_batch {
	const struct provider_arrivals *from;
	uint32_t number;	   /* the provider's number */
	struct session_unit *unit; /* NULL: no clause matches */
	struct session_unit *part; /* those of its sites that are in the process; NULL: none */
	char mod[64];		   /* the module of the kernel that has brought them; "": none */
	uint64_t retired_at;	   /* ns; 0: it is attached */
};

/* ---- batches.c ------------------------------------------------------------------------------ */

/* Adds the probes of a provider's new batch; p: the process that has its code, or NULL. */
MUST_CHECK struct err *arrivals_batch_add(struct arrivals *a, const struct provider_arrivals *from,
					  uint32_t batch, const struct watch_proc *p);
/*
 * Makes the probes of the provider's new batch that clauses mean, and places none: when tracing
 * stops, the provider knows by them which files were meant.
 */
void arrivals_batch_match(struct arrivals *a, const struct provider_arrivals *from);
/* Detaches the unit of a batch. The unit is freed later: records of its probes may be unread. */
MUST_CHECK struct err *arrivals_batch_retire(struct arrivals *a, struct arrival_batch *b);
/*
 * Lets providers find out which files are mapped, when there are many batches, and twice as many as
 * the last time.
 */
void arrivals_batches_survey(struct arrivals *a);
/* Removes batches of files that no process maps any more, if these are too many. */
void arrivals_batches_retire(struct arrivals *a);
/* Drops the probes of a process whose links are dead (watch/procs.c). */
void arrivals_drop_probes(struct arrivals *a, const struct watch_proc *p);
/* After each event of a process: jumps in it go to where its code is now. */
void arrivals_follow_maps(struct arrivals *a, const struct watch_proc *p);
/* The process executes another program: is_other: and all its probes come anew. */
void arrivals_follow_exec(struct arrivals *a, const struct watch_proc *p, bool is_other);
/* Adds the probes of code that is new in a process. */
void arrivals_proc_look(struct arrivals *a, const struct watch_proc *p);

/* Gives a child the probes of the process from which it descends. */
void arrivals_child_place(struct arrivals *a, const struct watch_proc *p);

/* ---- waiting.c ------------------------------------------------------------------------------ */

/*
 * Begins the turn at the code of a process, which may be held. False: another tracer has it; then
 * what was to be done, of two things, is done later.
 */
bool arrivals_try_turn(struct arrivals *a, const struct watch_proc *p, bool has_execed);
/* It is done: ends the turn, and says if that comes late. */
void arrivals_end_turn(struct arrivals *a, const struct watch_proc *p, bool has_execed);
/* Does what waits, as far as turns can be had. */
void arrivals_waiting_work(struct arrivals *a);
void arrivals_waiting_drop(struct arrivals *a, const struct watch_proc *p); /* it has ended */
void arrivals_waiting_end(struct arrivals *a); /* when tracing stops: says what still waits */

/* system.c: adds what processes have mapped since the clauses were matched. */
void arrivals_all_start(struct arrivals *a);

/* ---- modules.c ------------------------------------------------------------------------------ */

/* Whether the clause may get probes of modules that come. */
bool arrivals_clause_wants_modules(const struct arrivals *a, const struct provider_arrivals *from,
				   const struct session_clause *sc);
/* Has the waiter wake up for reports of modules. */
void arrivals_modules_start(struct arrivals *a);
/* Reads the reports that there are. */
void arrivals_modules_look(struct arrivals *a);
