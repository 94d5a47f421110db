/*
 * A run of a session: what the enabled clauses become, in the phases match, load and go, until it
 * is stopped.
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

#include <signal.h>

#include "base/hashmap.h"
#include "bpf/layout.h"
#include "kernel/kernel.h"
#include "kernel/pidns.h"
#include "probe/attachments.h"
#include "probe/engine.h"
#include "probe/probe.h"
#include "session/compiler.h"
#include "session/names.h"
#include "session/options.h"
#include "session/report.h"
#include "session/targets.h"

struct helpers; /* ustack helpers (helpers.h) */
struct later;	/* probes that come while the session runs (later.h) */
struct unwinds; /* user stacks without frame pointers (unwind.h) */
struct waiter;	/* until something is to be consumed (consume/wait.h) */
struct watch;	/* what processes do (watch/watch.h) */

struct session_unit {
	struct unit unit;
	const struct place_traits *traits; /* of its place */
	struct loaded *loaded;		   /* NULL until it is */
	VEC(struct unit_clause) clauses;
	VEC(struct unit_probe) points;
	struct hashmap *by_key;	 /* key -> place in points, + 1 */
	struct hashmap *by_call; /* the same for keys without variants */
	struct arena *arena;	 /* what it points to: the run's or, of one that came, its own */
	uint32_t group;		 /* of its attachments; 0: it was there at the start */
};

/* A probe that has come to a clause while the session runs. */
struct late_enabling {
	uint32_t probe, epid;
};

/* A clause of any compiled program, and the probes it is enabled on. */
struct session_clause {
	struct prog_clause *clause;
	struct probe **probes; /* ascending id; the registry's */
	uint32_t *probe_idxs;  /* their places in run.enabled, ascending */
	uint32_t n;
	struct probe **sources; /* of a derived clause: on whose places it runs */
	uint32_t nsources;
	bool is_open;			/* probes may come while the session runs (later.h) ... */
	VEC(struct late_enabling) late; /* ... those that have */
};

/* Does it run, or may it come to that? */
static inline bool clause_counts(const struct session_clause *sc)
{
	return sc->n || sc->is_open;
}

/* Probes of a clause that have come while the session runs, ascending id. */
struct late_clause {
	uint32_t clause;
	struct probe_list list;
};

/* Timers, and what was seen of the CPUs when they were set (cpus.c). */
struct cpu_watch {
	struct attachments timers;
	bool is_needed, is_rate_told;
	uint64_t slept_ns; /* at most */
	char online[256];  /* a longer list is compared as far as this */
};

struct run {
	/* of the handle; all of it outlives the run */
	struct arena *arena;
	struct options *opts;
	struct report *report;
	struct probes *probes;
	const struct compiler *compiler;
	struct targets *targets;
	struct names *names;
	const struct engine *const *engines; /* that may run it: engine_list */

	/* match */
	VEC(struct session_clause) clauses; /* of all programs; index = prog_clause.index */
	struct probe **enabled;		    /* by probe_idx, ascending id */
	uint32_t nenabled;
	struct strtab *strtab;
	struct rt_pidns pidns; /* dtrace's own */

	/* load */
	struct helpers *helpers; /* NULL: there are none */
	struct layout *layout;
	struct engine_run *engine;
	uint64_t bufsize; /* of the principal buffers, which may have been lowered */
	VEC(struct session_unit *) units;
	struct waiter *waiter;
	struct rt_ukernel ukernel;
	bool unwinds_here; /* user stacks are walked by our own means */
	/* NULL: no clause asks for user stacks, or the kernel walks them */
	struct unwinds *unwinds;

	/* go */
	struct attachments attachments; /* all but timers */
	struct cpu_watch cpu_watch;
	struct later *later; /* NULL: none can come */
	struct watch *watch; /* NULL: nobody wants to know what processes do */
	bool is_active, is_stopped;

	/* how it ends */
	volatile sig_atomic_t is_interrupted; /* calls of dtrace_interrupt() */
	bool exit_seen;			      /* the record of exit() was consumed */
	int exit_status;
};

void run_init(struct run *run, const struct run *parts); /* parts: those of the handle are set */
void run_deinit(struct run *run);

/* ---- the phases, in order ------------------------------------------------------------------- */

/* Which probes the enabled clauses are about, and whether all that they ask for is allowed. */
MUST_CHECK struct err *run_match(struct run *run);
/* Generates and loads the programs; nothing fires yet. */
MUST_CHECK struct err *run_load(struct run *run);
/* Fires BEGIN, attaches the rest, and lets it fire. */
MUST_CHECK struct err *run_start(struct run *run);
/* While it runs: attends to what processes have done, and to what the stack walker asks for. */
void run_tend(struct run *run);
/* Sleeps until due (now_ns()) or something is to be done; what processes do meanwhile is noted. */
void run_sleep(struct run *run, uint64_t due);
enum rt_state run_state(const struct run *run);
/* Has it come to its end: exit(), the end of the targets, run_stop()? */
bool run_is_over(const struct run *run);
/* Nothing fires any more; what costs no time is taken off, the rest by run_undo(). */
void run_stop(struct run *run);
/* Fires BEGIN or END, if a clause is enabled on it: DTRACE_KEY_BEGIN, _END. */
MUST_CHECK struct err *run_fire(const struct run *run, uint32_t key);
/* Takes everything off and apart; the handle can only be closed afterwards. */
void run_undo(struct run *run);

/* ---- match: enable.c ------------------------------------------------------------------------ */

MUST_CHECK struct err *run_match_clauses(struct run *run);
void run_make_units(struct run *run);
void run_number_epids(struct run *run);
/* The id of a clause's enabling on a probe; 0: it is not enabled there. */
uint32_t run_epid(const struct run *run, uint32_t clause, uint32_t probe);
/* The clause of an enabling on a probe. */
uint32_t run_clause_of(const struct run *run, uint32_t epid, uint32_t probe);
/* Where a unit for probes that have come gets its numbers. */
struct late_numbers {
	uint32_t idx, epid; /* the first that are free; they are advanced */
	uint32_t group;	    /* of its attachments */
};
struct session_unit *run_make_late_unit(struct run *run, const struct late_clause *late, uint32_t n,
					struct late_numbers *numbers);
/* Takes a unit that came, and is attached no more, out of the run. */
void run_drop_unit(struct run *run, struct session_unit *u);
void run_unload_unit(struct run *run, struct session_unit *u);
void run_destroy_unit(struct run *run, struct session_unit *u);

/* All engines, NULL-terminated (engines.c). */
extern const struct engine *const engine_list[];

/* ---- load: go.c, buffers.c, stacks.c -------------------------------------------------------- */

/* Whether any program reads this built-in variable. */
bool run_reads(const struct run *run, uint32_t var);
/* Opens the engine, with principal buffers of the size of option bufsize, or smaller ones. */
MUST_CHECK struct err *run_open_engine(struct run *run);
/* Brings a unit into the engine. */
MUST_CHECK struct err *run_load_unit(struct run *run, struct session_unit *u);
/* The option maxframes and the kernel's limit; reports when more were asked for. */
uint32_t run_max_frames(struct run *run);
/* Of user stacks that we walk; 0 = none are. */
uint32_t run_max_uframes(const struct run *run);
/* Whether a clause asks for a user stack, and this kernel lets us walk it; reports if not. */
void run_plan_walks(struct run *run);
/* Whether addresses of processes are recorded. */
bool run_has_user_addresses(const struct run *run);
/* An error when addresses of processes are asked for, but /proc has other numbers for them. */
MUST_CHECK struct err *run_check_numbers(const struct run *run);

/* ---- go: go.c, cpus.c, processes.c ---------------------------------------------------------- */

struct attach_opts run_attach_opts(struct run *run);
/* Attaches a loaded unit to its places. */
MUST_CHECK struct err *run_attach_unit(struct run *run, struct session_unit *u,
				       struct attachments *ret);
/* Option cpu; -1 = all. */
int run_cpu(const struct run *run);
bool unit_has_timers(const struct session_unit *u);
/* Attaches the units that have timers; then, now and then, sees to it that they have all CPUs. */
MUST_CHECK struct err *run_start_timers(struct run *run);
void run_follow_cpus(struct run *run);
/*
 * Before probes fire: what processes do is watched from now on, of all of them when any address of
 * one is recorded, and of those that clauses are about (later.h).
 */
MUST_CHECK struct err *run_watch_processes(struct run *run);
/* The watch, which is made when it is asked for first. */
struct watch *run_watch(struct run *run);
