/* SPDX-License-Identifier: MIT */
/*
 * A run of a session: takes the enabled clauses through the phases match, load and go, until the
 * run is stopped.
 *
 * match    clauses -> probes -> enablings (enable.c)
 * load     layout -> engine -> units: loaded into it (go.c, buffers.c)
 * go       BEGIN -> attach -> state ON (go.c, cpus.c)
 * stop     state OFF; END fires when the consumer has read what was recorded before
 *
 * Owns     layout, engine, units and attachments, from run_match() to run_undo().
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

struct session_unit {
	struct unit unit;
	const struct place_traits *traits; /* traits of unit.place */
	struct engine_run *engine;	   /* in which it is, or is to be, loaded; NULL: none yet */
	struct loaded *loaded;		   /* NULL until the unit is loaded */
	VEC(struct unit_clause) clauses;
	VEC(struct unit_probe) points;
	struct hashmap *by_key;	 /* key -> index in points, + 1 */
	struct hashmap *by_call; /* the same for keys without variants */
	/* place_site.rel of the operands of its points -> not NULL; how many operands they have */
	struct hashmap *by_operands;
	uint32_t noperands;
	struct arena *arena; /* the run's, or its own if the unit was added later */
	uint32_t group;	     /* group of its attachments; 0: the unit was there at the start */
};

/* A probe on which a clause was enabled while the session runs. */
struct late_enabling {
	uint32_t probe, epid;
};

/* A clause of any compiled program, and the probes it is enabled on. */
struct session_clause {
	struct prog_clause *clause;
	struct probe **probes; /* ascending id; the registry's */
	uint32_t *probe_idxs;  /* their indices in run.enabled, ascending */
	uint32_t n;
	struct probe **sources; /* of a derived clause: the probes on whose places it runs */
	uint32_t nsources;
	bool is_expanded; /* its description also means views of calls by other names */
	bool is_open;	  /* probes may be added while the session runs (later.h) */
	VEC(struct late_enabling) late; /* the probes that were added */
	VEC(uint32_t) joined;		/* clauses for whose probes it runs, too (join.h) */
};

/* Returns true if the clause has probes, or may get some later. */
static inline bool clause_counts(const struct session_clause *sc)
{
	return sc->n || sc->is_open;
}

/* Probes that were added to a clause while the session runs, ascending id. */
struct late_clause {
	uint32_t clause;
	struct probe_list list;
};

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
	const struct engine *const *engine_choice; /* the engines that may run it: engine_list */

	/* These are set by the phase match. */
	VEC(struct session_clause) clauses; /* of all programs; index = prog_clause.index */
	struct probe **enabled;		    /* by probe_idx, ascending id */
	uint32_t nenabled;
	struct strtab *strtab;
	struct rt_pidns pidns; /* dtrace's own */

	/* These are set by the phase load. */
	struct ustacks *ustacks; /* NULL: there are none */
	struct layout *layout;
	struct engines engines;
	struct engine_run *engine; /* engines.runs[0]: its control block is that of all */
	uint64_t bufsize;	   /* size of the principal buffers, which may have been lowered */
	VEC(struct session_unit *) units;
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

/* ---- match: enable.c ------------------------------------------------------------------------ */

MUST_CHECK struct err *run_match_clauses(struct run *run);
void run_make_units(struct run *run);
void run_number_epids(struct run *run);
/*
 * Returns the clause that has run at a probe, where a record has `clause`: itself, or one that was
 * joined to it.
 */
uint32_t run_clause_for(const struct run *run, uint32_t clause, uint32_t probe);
/* Returns the EPID of that clause on the probe; 0: it is not enabled there. */
uint32_t run_epid(const struct run *run, uint32_t clause, uint32_t probe);
/* Returns the clause of an EPID on a probe. */
uint32_t run_clause_of(const struct run *run, uint32_t epid, uint32_t probe);
/* The numbers that a unit for added probes is given. */
struct late_numbers {
	uint32_t idx, epid; /* the first free probe_idx and EPID; both are advanced */
	uint32_t group;	    /* group of the unit's attachments */
};
struct session_unit *run_make_late_unit(struct run *run, const struct late_clause *late, uint32_t n,
					struct late_numbers *numbers);
/* Takes a unit that was added later, and is detached, out of the run. */
void run_drop_unit(struct run *run, struct session_unit *u);
void run_unload_unit(struct run *run, struct session_unit *u);
void run_destroy_unit(struct run *run, struct session_unit *u);

/* ---- load: go.c, buffers.c, stacks.c -------------------------------------------------------- */

/* Returns true if any program reads this built-in variable. */
bool run_reads(const struct run *run, uint32_t var);
/*
 * Returns the bytes of option id, which is aggsize or dynvarsize, or, with bufresize=auto, what
 * there is memory for, and tells of it; what: the word of the message.
 */
uint64_t run_map_size(struct run *run, enum opt_id id, const char *what);
/* Opens the engines, with principal buffers of the size of option bufsize, or smaller ones. */
MUST_CHECK struct err *run_open_engines(struct run *run);
/* Finds the engine of a unit that was added while the session runs. */
MUST_CHECK struct err *run_choose_engine(struct run *run, struct session_unit *u);
/* Loads a unit into the engine. */
MUST_CHECK struct err *run_load_unit(struct run *run, struct session_unit *u);
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

/* ---- go: go.c, cpus.c, processes.c ---------------------------------------------------------- */

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
