/* SPDX-License-Identifier: MIT */
/*
 * A run of a session: takes the enabled clauses through the phases match, load and go, until the
 * run is stopped.
 *
 * match    clauses -> probes -> enablings (match/match.h)
 * load     layout -> engine -> units: loaded into it (start.c, buffers.c)
 * go       BEGIN -> attach -> state ON (start.c, cpus.c)
 * stop     state OFF; END fires when the consumer has read what was recorded before
 *
 * Owns     engine and attachments, from run_load() to run_undo().
 * Errors   struct err *, to the caller of the phase. What goes wrong later is reported.
 * Threads  one, but for is_interrupted, which a signal handler or another thread sets.
 */
#pragma once

#include <stdatomic.h>

#include "base/hashmap.h"
#include "record/layout.h"
#include "kernel/kernel.h"
#include "kernel/pidns.h"
#include "probe/attachments.h"
#include "probe/engine.h"
#include "probe/probe.h"
#include "session/compiler.h"
#include "session/engines.h"
#include "session/match/match.h"
#include "session/names.h"
#include "session/options.h"
#include "session/report.h"
#include "session/targets.h"

struct ustacks; /* ustack helpers (helper/ustack.h) */
struct ustack_opts;
struct later;	/* probes that are added while the session runs (later.h) */
struct unwinds; /* unwind tables of user stacks (unwind.h) */
struct waiter;	/* waits until there is something to consume (consume/wait.h) */
struct watch;	/* reports what processes do (watch/watch.h) */

/* The attached timers, and which CPUs were online when they were attached (cpus.c). */
struct cpu_watch {
	struct attachments timers; /* in groups of CPUs: TIMERS_OF() */
	bool is_needed, has_timers, is_rate_told;
	int events_fd;	   /* the kernel's reports about CPUs; -1 = it makes none */
	uint64_t slept_ns; /* how long the machine was suspended, at most */
	uint32_t *online;  /* numbers of the CPUs */
	uint32_t nonline;
	uint32_t single_on; /* the CPU of the timers of TIMERS_SINGLE */
};

struct run {
	/* These belong to the handle, and outlive the run. */
	struct arena *arena;
	struct options *opts;
	struct report *report;
	struct probes *probes;
	const struct compiler *compiler;
	struct targets *targets;
	struct names *names;
	struct match *match;			   /* its units are loaded */
	const struct engine *const *engine_choice; /* the engines that may run it: engine_list */

	/* This is set by the phase match. */
	struct rt_pidns pidns; /* dtrace's own */

	/* These are set by the phase load. */
	struct ustacks *ustacks; /* NULL: there are none */
	struct engines engines;
	struct engine_run *engine; /* engines.runs[0]: its control block is that of all */
	uint64_t bufsize;	   /* size of the principal buffers, which may have been lowered */
	struct waiter *waiter;
	struct rt_ukernel ukernel;
	bool unwinds_here; /* user stacks are walked by our own means */
	/* NULL: no clause asks for user stacks, or the kernel walks them. */
	struct unwinds *unwinds;

	/* These are set by the phase go. */
	struct attachments attachments; /* all but timers */
	struct cpu_watch cpu_watch;
	struct later *later; /* NULL: no probes can be added */
	struct watch *watch; /* NULL: there are no subscribers */
	struct watch *early; /* from the match of a pattern until watch has begun (early.h) */
	bool is_active, is_stopped;
	uint64_t nmissed;	/* firings that the kernel left out; known when it is stopped */
	uint64_t nmissed_early; /* before the state was ON: they are no loss */

	/* These are set at the end. */
	bool exit_seen; /* the record of exit() was consumed */
	int exit_status;

	/*
	 * These two live as long as the run: a signal handler or another thread may use them at any
	 * time (run_interrupt()).
	 */
	atomic_int is_interrupted; /* calls of dtrace_interrupt() */
	int wake_fd;		   /* an eventfd, which ends the waits; -1: it could not be made */
};

void run_init(struct run *run, const struct run *parts); /* parts: has the handle's members set */
/* dtrace_interrupt(): any thread and signal handlers may call it between init and deinit. */
void run_interrupt(struct run *run);
void run_deinit(struct run *run);

/* ---- the phases, in order ------------------------------------------------------------------- */

/* Finds the probes of the enabled clauses, and checks that all they ask for is allowed. */
MUST_CHECK struct err *run_match(struct run *run);
/* Generates and loads the programs; nothing fires yet. */
MUST_CHECK struct err *run_load(struct run *run);
/* Fires BEGIN, attaches the other units, and lets their probes fire. */
MUST_CHECK struct err *run_start(struct run *run);
/* While it runs: handles events of the watch, and requests of the stack walker. */
void run_tend(struct run *run);
/* Sleeps until due (now_ns()) or until there is work; handles events of the watch meanwhile. */
void run_sleep(struct run *run, uint64_t due);
enum rt_state run_state(const struct run *run);
/* Returns true if the run is over: exit(), the end of all targets, or run_stop(). */
bool run_is_over(const struct run *run);
/* Lets nothing fire any more. Closes the links that close fast; run_undo() closes the rest. */
void run_stop(struct run *run);
/* Fires BEGIN or END, if a clause is enabled on it: DTRACE_KEY_BEGIN, _END. */
MUST_CHECK struct err *run_fire(const struct run *run, uint32_t key);
/* Detaches and frees everything; the handle can only be closed afterwards. */
void run_undo(struct run *run);

/* ---- load: start.c, buffers.c, stacks.c ----------------------------------------------------- */

/*
 * Returns the bytes of option id, which is aggsize or dynvarsize, or, with bufresize=auto, what
 * there is memory for, and tells of it; what: the word of the message.
 */
uint64_t run_map_size(struct run *run, enum opt_id id, const char *what);
/* Opens the engines, with principal buffers of the size of option bufsize, or smaller ones. */
MUST_CHECK struct err *run_open_engines(struct run *run);
/* Finds the engine of a unit that was added while the session runs. */
MUST_CHECK struct err *run_choose_engine(struct run *run, struct session_unit *u);
/* Loads a unit into its engine, and takes it out of it. */
MUST_CHECK struct err *run_load_unit(struct run *run, struct session_unit *u);
void run_unload_unit(struct run *run, struct session_unit *u);
/* Returns the option maxframes, or the kernel's limit, with a notice, if that is lower. */
uint32_t run_max_frames(struct run *run);
/* The same for user stacks that we walk; 0 = we walk none. */
uint32_t run_max_uframes(const struct run *run);
/* How the ustack helpers of the run are found; in the run's arena. */
void run_ustack_opts(struct run *run, struct ustack_opts *ret);
/* Decides whether we walk user stacks: a clause asks for one, and this kernel lets us. */
void run_plan_walks(struct run *run);
/* Returns true if clauses record addresses of processes. */
bool run_has_user_addresses(const struct run *run);
/* Whether a clause records a user stack with room for names of frames. */
bool run_names_frames(const struct run *run);
/*
 * Returns an error when clauses record addresses of processes, but the process ids in /proc are
 * those of another PID namespace.
 */
MUST_CHECK struct err *run_check_numbers(const struct run *run);

/* ---- go: start.c, cpus.c, processes.c --------------------------------------------------------- */

struct attach_opts run_attach_opts(struct run *run);
/* Attaches a loaded unit to its places. */
MUST_CHECK struct err *run_attach_unit(struct run *run, struct session_unit *u,
				       struct attachments *ret);
/* The value of option cpu; -1 = all CPUs. */
int run_cpu(const struct run *run);
bool unit_has_timers(const struct session_unit *u);
/*
 * run_start_timers() attaches the units that have timers. run_follow_cpus() attaches those of CPUs
 * that have come, or come back, again. It is called often, and is_check_due now and then: a change
 * that the kernel has not reported is found then. run_end_timers() detaches them.
 */
MUST_CHECK struct err *run_start_timers(struct run *run);
void run_follow_cpus(struct run *run, bool is_check_due);
void run_end_timers(struct run *run);
/*
 * Before probes fire: starts the watch. It watches all processes when clauses record addresses of
 * processes, and follows the processes that clauses name (later.h).
 */
MUST_CHECK struct err *run_watch_processes(struct run *run);
/* Returns the watch, and makes it at the first call. */
struct watch *run_watch(struct run *run);
