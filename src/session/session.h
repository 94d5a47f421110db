/*
 * A tracing session: what a dtrace_hdl_t is inside. Implements include/dtrace.h.
 *
 * The order of a run (go.c, work.c): compile -> match probes -> layout -> maps -> units (generate,
 * link, load) -> BEGIN -> attach -> state ON ... exit() or stop -> state OFF -> detach -> drain ->
 * END -> drain -> print aggregations.
 *
 * Owns     everything of the handle: compiler session, probe registry, layout, maps, attachments,
 *          ring consumers, printer.
 */
#pragma once

#include <signal.h>

#include "agg/agg.h"
#include "base/hashmap.h"
#include "bpf/attach.h"
#include "bpf/engine.h"
#include "kernel/pidns.h"
#include "dtrace.h"
#include "render/print.h"
#include "probe/probe.h"
#include "session/options.h"
#include "session/compiler.h"
#include "session/report.h"
#include "session/targets.h"
#include "sym/debugfile.h"

struct later; /* probes that come while the session runs (later.h) */
struct latest;
struct specs;	/* speculations that wait (spec.h) */
struct unwinds; /* user stacks without frame pointers (unwind.h) */
struct rings;	/* consumer side of the ring buffers (rings.h) */
struct watch;	/* what processes do (watch/watch.h) */

struct session_unit {
	struct unit unit;
	const struct place_traits *traits; /* of its place */
	struct loaded loaded;
	VEC(struct unit_clause) clauses;
	VEC(struct unit_probe) points;
	struct hashmap *by_key;	 /* key -> place in points, + 1 */
	struct hashmap *by_call; /* the same for keys without variants */
};

/* A probe that has come to a clause while the session runs. */
struct late_enabling {
	uint32_t probe, epid;
};

/* A clause of any compiled program, and the probes it is enabled on. */
struct session_clause {
	struct prog_clause *clause;
	struct probe **probes; /* ascending id; the registry's */
	uint32_t *probe_idxs;  /* their places in dtrace_hdl.enabled, ascending */
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

struct dtrace_hdl {
	struct arena *arena; /* of the handle */
	unsigned int flags;  /* DTRACE_O_* */
	struct options opts;
	struct file_opts file_opts;
	struct syms *syms; /* names of addresses; made by session_syms() */
	bool denial_told;  /* that we may not look into some processes */
	struct probes *probes;
	struct targets targets;
	struct compiler compiler;
	VEC(struct session_clause) clauses; /* of all programs; index = prog_clause.index */

	/* after dtrace_go() */
	struct probe **enabled; /* by probe_idx, ascending id */
	uint32_t nenabled;
	struct kfields kfields;
	struct rt_pidns pidns; /* dtrace's own */
	struct layout *layout;
	struct strtab *strtab;
	struct kmaps *maps;
	VEC(struct session_unit *) units;
	struct attachments attachments; /* all but timers */
	struct later *later;		/* NULL: none can come */
	struct cpu_watch cpu_watch;
	struct rings *rings;
	struct rt_ukernel ukernel;
	bool unwinds_here; /* user stacks are walked by our own means */
	/* NULL: no clause asks for user stacks, or the kernel walks them */
	struct unwinds *unwinds;
	struct specs *specs;
	struct latest *latest; /* policy ring (latest.h), NULL for the others */
	uint64_t spec_drops_seen;
	struct watch *watch; /* NULL: nobody wants to know what processes do, or it is refused */
	struct aggs *aggs;
	struct printer *printer;
	struct print_opts print_opts;
	struct print_hooks print_hooks;
	bool is_active, is_stopped, is_ended, exit_seen; /* is_ended: END has fired */
	volatile sig_atomic_t is_interrupted;		 /* calls of dtrace_interrupt() */
	int exit_status;

	/* consuming (work.c); times in ns of CLOCK_MONOTONIC */
	FILE *work_fp;
	uint64_t work_at, work_interval; /* last dtrace_work(), and how soon the next is due */
	uint64_t status_at;		 /* when drops are looked at */
	uint64_t snap_at;		 /* when aggregations may be read again */
	bool is_snapped;		 /* in this dtrace_work() */
	uint64_t drops_total[DTRACEDROP_STKSTROVERFLOW + 1]; /* reported so far */
	uint32_t remedies_told;				     /* bits of drops.c */
	uint32_t faults, faults_held; /* reported and held back since the last look at status */
	uint64_t bufsize;	      /* of the principal buffers, which may have been lowered */
	struct rt_cpu *drops_seen;    /* [ncpus]: counters reported already */

	struct report report;
};

/* handle.c: options have changed, or what else is read with them. */
void session_refresh_opts(dtrace_hdl_t *h);

/* go.c: brings a unit into the kernel; hangs a loaded unit on its places. */
MUST_CHECK struct err *session_load_unit(dtrace_hdl_t *h, struct session_unit *u);
struct attach_opts session_attach_opts(dtrace_hdl_t *h);
MUST_CHECK struct err *session_attach_unit(dtrace_hdl_t *h, struct session_unit *u,
					   struct attachments *ret);

/*
 * buffers.c: creates the maps, with principal buffers of the size that option bufsize says, or
 * smaller ones.
 */
MUST_CHECK struct err *session_make_maps(dtrace_hdl_t *h);
/* go.c: whether any program reads this built-in variable. */
bool session_reads(const dtrace_hdl_t *h, uint32_t var);

/*
 * cpus.c: attaches the units that have timers; then, now and then, sees to it that they have all
 * CPUs.
 */
bool session_has_timers(const struct session_unit *u);
MUST_CHECK struct err *session_start_timers(dtrace_hdl_t *h);
void session_follow_cpus(dtrace_hdl_t *h);

/* stacks.c */
struct syms *session_syms(dtrace_hdl_t *h);
void session_refresh_syms(dtrace_hdl_t *h); /* options have changed */
/* The option maxframes and the kernel's limit; tells when more were asked for. */
uint32_t session_max_frames(dtrace_hdl_t *h);
/* Of user stacks that we walk; 0 = none are. */
uint32_t session_max_uframes(const dtrace_hdl_t *h);

/* What -c and -p processes have mapped now: the names that can be printed when they have ended. */
void session_see_targets(dtrace_hdl_t *h);
/*
 * Before probes fire: from now on the names of all processes are kept, when any address of one is
 * recorded.
 */
MUST_CHECK struct err *session_watch_processes(dtrace_hdl_t *h);
/*
 * An error when addresses of processes are asked for, but /proc numbers processes otherwise than we
 * do.
 */
MUST_CHECK struct err *session_check_numbers(const dtrace_hdl_t *h);
/* Sleeps until due (now_ns()) or something is to be done; what processes do meanwhile is noted. */
void session_sleep(dtrace_hdl_t *h, uint64_t due);

/*
 * Whether a clause asks for a user stack, and this kernel lets us walk it; says so if it does not.
 */
void session_plan_walks(dtrace_hdl_t *h);
/*
 * Says that we have no right to look into a process whose stacks are wanted; once. ctx: the
 * session.
 */
void session_denied(void *ctx, uint64_t pid);

/* enable.c: matches the enabled clauses, numbers probes and enablings, makes the units. */
MUST_CHECK struct err *session_match(dtrace_hdl_t *h);
void session_make_units(dtrace_hdl_t *h);
void session_number_epids(dtrace_hdl_t *h);
/* A unit for probes that have come: idx and epid are the first that are free, and are advanced. */
struct session_unit *session_make_late_unit(dtrace_hdl_t *h, const struct late_clause *late,
					    uint32_t n, uint32_t *idx, uint32_t *epid);

/* go.c */
void session_undo_go(dtrace_hdl_t *h);
MUST_CHECK struct err *session_fire(dtrace_hdl_t *h, uint32_t key); /* DTRACE_KEY_BEGIN, _END */

/* work.c: reads the aggregations unless that was done a moment ago; is_final: in any case. */
MUST_CHECK struct err *session_snap(dtrace_hdl_t *h, bool is_final);

/* drops.c */
MUST_CHECK struct err *session_report_drops(dtrace_hdl_t *h);
MUST_CHECK struct err *session_report_fault(dtrace_hdl_t *h, const struct rt_rec_fault *f);
/* A fault of the consumer's own while it printed a record. */
void session_report_library_fault(dtrace_hdl_t *h, uint32_t clause, uint32_t probe,
				  const char *text);
