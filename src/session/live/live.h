/* SPDX-License-Identifier: MIT */
/*
 * What of a session is alive: the engines that run its clauses, the attached units, the CPUs that
 * come and go, the walks of user stacks, the watch of processes.
 *
 *     live_make_stacks()   who walks user stacks, and with which helpers (stacks.c)
 *     live_make_layout()   the layout of the match's data, by options and memory (sizes.c)
 *     live_open()          engines with buffers for which there is memory (engine.c)
 *     live_load_units()    the units of the match, in their engines (units.c)
 *     live_make_waiter()   what wakes the consumer
 *     live_attach_units()  from now on, probes fire in the state ON
 *     live_end()           nothing fires any more; links that close fast are closed
 *     live_undo()          frees the rest
 *
 * The steps are taken by tracing.c, and the arrivals load and attach units of their own.
 *
 * Owns     engines and attachments, from live_open() to live_undo().
 * Errors   struct err *, to the caller. What goes wrong later is reported.
 * Threads  one, but for is_interrupted, which a signal handler or another thread sets.
 */
#pragma once

#include <stdatomic.h>

#include "inproc/inproc.h"
#include "kernel/kernel.h"
#include "kernel/pidns.h"
#include "probe/attachments.h"
#include "probe/engine.h"
#include "session/compiler.h"
#include "session/engines/engines.h"
#include "session/match/match.h"
#include "session/names.h"
#include "session/options.h"
#include "session/report.h"
#include "session/targets.h"
#include "stacks/stacks.h"
#include "target/turn.h"

struct remains; /* remains/remains.h */
struct waiter;	/* waits until there is something to consume (consume/wait.h) */
struct watch;	/* reports what processes do (watch/watch.h) */

/* The attached timers, and which CPUs were online when they were attached (cpus.c). */
struct cpu_watch {
	struct attachments *timers; /* in groups of CPUs: TIMERS_OF() */
	bool is_needed, has_timers, is_rate_told;
	int events_fd;	   /* the kernel's reports about CPUs; -1 = it makes none */
	uint64_t slept_ns; /* how long the machine was suspended, at most */
	uint32_t *online;  /* numbers of the CPUs */
	uint32_t nonline;
	uint32_t single_on; /* the CPU of the timers of TIMERS_SINGLE */
};

/*
 * What is left of a process, which the session is over (dtrace_core()): nothing is attached to the
 * running system, and the engine fires its probes when it is asked to.
 */
struct live_remains {
	struct remains *of; /* NULL: the session is over the running system */
	void (*close)(struct remains *of);
	void (*interrupt)(struct remains *of); /* called by signal handlers */
};

struct live {
	/* The parts of the session that it uses. */
	struct arena *arena;
	struct options *opts;
	const struct privileges *privileges;
	struct report *report;
	const struct compiler *compiler;
	struct targets *targets;
	struct names *names;
	struct match *match;			   /* its units are loaded */
	const struct engine *const *engine_choice; /* the engines that may run it: engine_list */
	struct live_remains remains;

	struct rt_pidns pidns;		/* dtrace's own */
	struct stack_needs stack_needs; /* of the match */

	/* These are set when programs are loaded. */
	struct inproc_list inprocs; /* option inproc: processes that clauses may go to */
	struct sites *sites;	    /* lines of languages there; NULL: nobody asks (sites.h) */
	VEC(pid_t) coded;	    /* processes whose code is probed by name, ascending */
	VEC(struct turn) turns;	    /* which we have now (turns.c) */
	bool shares_turns;	    /* with those that place uprobes only, as we do */
	struct engines engines;
	uint64_t bufsize; /* size of the principal buffers, which may have been lowered */
	struct waiter *waiter;
	struct stacks *stacks;

	/* These are set when probes are attached. */
	struct attachments *attachments; /* all but timers */
	struct cpu_watch cpu_watch;
	struct watch *watch; /* NULL: there are no subscribers */
	bool is_active, is_stopped;
	uint64_t nmissed;	/* firings that the kernel left out; known when it is stopped */
	uint64_t nmissed_early; /* before the state was ON: they are no loss */

	/* These are set by the consumer. */
	bool exit_seen; /* the record of exit() was consumed */
	int exit_status;

	/*
	 * These two live as long as the handle: a signal handler or another thread may use them at
	 * any time (live_interrupt()).
	 */
	atomic_int is_interrupted; /* calls of dtrace_interrupt() */
	int wake_fd;		   /* an eventfd, which ends the waits; -1: it could not be made */
};

void live_init(struct live *live, const struct live *parts); /* parts: the first members */
/* dtrace_interrupt(): any thread and signal handlers may call it between init and deinit. */
void live_interrupt(struct live *live);
void live_deinit(struct live *live);

/* ---- the engine: engine.c, sizes.c ---------------------------------------------------------- */

/* has_pids: added probes may have the id of the process that fires them in their names. */
MUST_CHECK struct err *live_make_layout(struct live *live, bool has_pids);
/* Divides units of code for the engine in the process: option inproc (inproc.c). */
MUST_CHECK struct err *live_divide_units(struct live *live);
/* As session_is_all_inproc(). */
bool live_is_all_inproc(const struct live *live, const char *agg);
/* Lets a unit that the engine in the process has given up go to another one. */
void live_unit_to_kernel(struct session_unit *u);
/* Reasons, one a site; NULL: it has none. */
struct live_whys {
	const char *const *data;
	uint32_t len;
};
/* Says how many places are probed in the process, and why others are uprobes, or are relayed. */
void live_tell_places(const struct live *live, pid_t pid, uint32_t n, const struct live_whys *lacks,
		      const struct live_whys *relayed);
/*
 * Says how many places of processes were left out, and how many entries of what is alive; and, with
 * several processes, which of them has had drops of its own. After the last drain.
 */
void live_tell_inproc_drops(const struct live *live);
/* Says which jumps could not be taken back. After all processes were left. */
void live_tell_inproc_left(const struct live *live);
/* The process whose engine has a unit, of which unit.is_inproc is true. */
struct inproc *live_inproc_of(const struct live *live, const struct session_unit *u);
/*
 * The engine in the process has refused unit i, while units are loaded or attached: its units
 * become uprobes, if the user allows that and the process is as it was. Else the error is returned.
 */
MUST_CHECK struct err *live_leave_process(struct live *live, uint32_t i, bool attaches,
					  struct err *e);

/* ---- turns: turns.c -------------------------------------------------------------------------- */

/*
 * While code of processes is looked at and changed, other tracers wait (target/turn.h). With option
 * inproc nobody else may do so meanwhile; else those may that place uprobes. Who is interrupted
 * gets no turn, and no error: live->is_interrupted is to be looked at before anything is written.
 */
void live_note_code(struct live *live, pid_t pid);
MUST_CHECK struct err *live_begin_turns(struct live *live); /* of all that were noted */
/* shares: uprobes are placed in this turn, and no jumps. */
MUST_CHECK struct err *live_begin_turn(struct live *live, pid_t pid, bool shares);
/*
 * Begins one without waiting, in which no jumps are written; false: another tracer has it. shares:
 * uprobes are placed, and nothing else is written either. waited_ns: for how long this was tried
 * before.
 */
bool live_try_turn(struct live *live, pid_t pid, bool shares, uint64_t waited_ns);
/*
 * The turn alone was not to be had, which e says: with inproc=auto nothing goes to processes from
 * now on, and the turns that begin are shared. With inproc=all, the error is returned.
 */
MUST_CHECK struct err *live_share_turns(struct live *live, struct err *e);
void live_end_turns(struct live *live);
void live_deinit_turns(struct live *live);

/* ---- code that comes while the session runs: late.c ----------------------------------------- */

/*
 * Loads and attaches a unit that has come. *ret_part: another unit, with those of its sites that
 * are in the process; NULL: there is none. It must be unloaded and dropped before u.
 */
/*
 * Clauses of the unit may call live() with addresses of which no process is told: where addresses
 * are noted, all of them count as followed from now on (relay.c).
 */
void live_note_samples(const struct live *live, const struct unit *u);
MUST_CHECK struct err *live_place_late(struct live *live, struct session_unit *u,
				       struct session_unit **ret_part);
/* The unit and its part are unloaded, and its files are closed. */
void live_drop_late(struct live *live, const struct session_unit *u);
/* The process had jumps, which are gone because it has executed another program. */
bool live_has_execed(const struct live *live, pid_t pid);
/*
 * What such jumps were for is uprobes from now on. attaches: false: nothing is, since all probes of
 * the process come anew; else the caller has the turn.
 */
MUST_CHECK struct err *live_follow_exec(struct live *live, pid_t pid, bool attaches);

/* Option follow: children are probed as the process is from which they descend. */
static inline bool live_follows_children(const struct live *live)
{
	return live->opts->val[OPT_follow] == FOLLOW_OPT_FORK;
}
/*
 * Before a process gets what is attached to pid, from which it descends: what pid has jumps for is
 * left out (opts->only_children) as long as its own memory has them.
 */
MUST_CHECK struct err *live_prepare_child(struct live *live, pid_t pid, pid_t child,
					  struct attach_opts *opts);
void live_forget_child(struct live *live, pid_t child);

/* ---- engines: engine.c ---------------------------------------------------------------------- */

/*
 * Opens the engines of the units, with principal buffers of the size of option bufsize, or smaller
 * ones. strtab_room: bytes for names of added probes.
 */
MUST_CHECK struct err *live_open(struct live *live, uint32_t strtab_room);
/* Lets the engines fire probes that fire only when they are asked to. */
MUST_CHECK struct err *live_run(struct live *live);
/* Finds the engine of a unit that was added while the session runs. */
MUST_CHECK struct err *live_choose_engine(struct live *live, struct session_unit *u);
/* Makes what wakes the consumer: records, targets, the walks of stacks. */
MUST_CHECK struct err *live_make_waiter(struct live *live);
enum rt_state live_state(const struct live *live);
void live_set_state(struct live *live, enum rt_state state);
/* Returns true if it is over: exit(), the end of all targets, or live_end(). */
bool live_is_over(const struct live *live);
/* Counts what was missed, and closes the links that close fast. */
void live_end(struct live *live);
/* Detaches and frees everything; the handle can only be closed afterwards. */
void live_undo(struct live *live);

#define BUFSIZE_LEAST 4096 /* a buffer is not lowered below this size */
/* Returns the largest buffer of each CPU for which there is memory. */
uint64_t live_bufsize_max(void);
/*
 * Returns the bytes of option id, which is aggsize or dynvarsize, or, with bufresize=auto, what
 * there is memory for, and tells of it; what: the word of the message.
 */
uint64_t live_map_size(struct live *live, enum opt_id id, const char *what);
/* Tells that a buffer is smaller than what was asked for. */
void live_tell_size(struct live *live, const char *what, uint64_t size);

/* ---- units: units.c ------------------------------------------------------------------------- */

/* Loads a unit into its engine, and takes it out of it. */
MUST_CHECK struct err *live_load_unit(struct live *live, struct session_unit *u);
void live_unload_unit(struct live *live, struct session_unit *u);
MUST_CHECK struct err *live_load_units(struct live *live);
struct attach_opts live_attach_opts(struct live *live);
/* Attaches a loaded unit to its places. */
MUST_CHECK struct err *live_attach_unit(struct live *live, struct session_unit *u);
/* Gives back what the unit has of the quota of probes; before it is detached. */
void live_give_probes(struct session_unit *u);
/* Attaches all units but those that have come later, which are attached already. */
MUST_CHECK struct err *live_attach_units(struct live *live);
/* Fires BEGIN or END, if a clause is enabled on it: DTRACE_KEY_BEGIN, _END. */
MUST_CHECK struct err *live_fire(const struct live *live, uint32_t key);
/* What the kernel left out until now is no loss: clauses begin to run. */
void live_note_missed(struct live *live);
/* Adds what the kernel has left out since then to nmissed. */
void live_count_missed(struct live *live);
/* The value of option cpu; -1 = all CPUs. */
int live_cpu(const struct live *live);

/* ---- timers: cpus.c ------------------------------------------------------------------------- */

bool unit_has_timers(const struct session_unit *u);
/*
 * live_start_timers() attaches the units that have timers. live_follow_cpus() attaches those of
 * CPUs that have come, or come back, again. It is called often, and is_check_due now and then: a
 * change that the kernel has not reported is found then. live_end_timers() detaches them.
 */
MUST_CHECK struct err *live_start_timers(struct live *live);
void live_follow_cpus(struct live *live, bool is_check_due);
void live_end_timers(struct live *live);

/* ---- user stacks: stacks.c ------------------------------------------------------------------ */

/* How ustack helpers are found; in the arena. */
void live_helper_opts(struct live *live, struct ustack_opts *ret);
/* Decides who walks user stacks, and finds the ustack helpers if frames are to have names. */
MUST_CHECK struct err *live_make_stacks(struct live *live);
/* The engine is open: loads unwind tables and helpers, as far as there is time. */
MUST_CHECK struct err *live_begin_stacks(struct live *live);
/* Unwind tables and helpers of processes that run; what these map is watched by now. */
void live_prepare_stacks(struct live *live);

/* ---- the watch: watch.c --------------------------------------------------------------------- */

/* Returns the watch, and makes it at the first call. */
struct watch *live_watch(struct live *live);
/* Watches all processes; a failure is a notice. */
MUST_CHECK struct err *live_watch_all(struct live *live);
