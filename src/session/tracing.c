/* SPDX-License-Identifier: MIT */
/* Takes a session from compiled programs to firing probes, and back (tracing.h). */
#include "session/tracing.h"

#include <inttypes.h>
#include <linux/capability.h>
#include <time.h>

#include "base/text.h"
#include "d/text/source.h"
#include "dif/address.h"
#include "privilege/privilege.h"
#include "consume/wait.h"
#include "files/gate.h"
#include "kernel/kernel.h"
#include "provider/providers.h"
#include "sym/sym.h"
#include "target/control.h"
#include "target/maps.h"
#include "target/target.h"
#include "target/touch.h"
#include "watch/names.h"
#include "watch/watch.h"

/* ---- match ---------------------------------------------------------------------------------- */

static struct err *check_destructive(const struct arrivals *a)
{
	if (!match_is_destructive(a->match) || opt_flag(a->live->opts, OPT_destructive))
		return NULL;
	return err_hint(err_code(err_new("Destructive actions not allowed"), EDT_DESTRUCTIVE),
			"add -w");
}

/* Returns an error for a subroutine that this kernel does not allow, or that needs a core file. */
static struct err *check_features(const struct arrivals *a)
{
	if (a->live->remains.of)
		return NULL;
	if (match_calls(a->match, FX_ATTACH))
		return err_hint(err_code(err_new("lprop(), lnumber() and ltext() read objects of "
						 "a process that stands still"),
					 EDT_NOTSUP),
				"dtrace --core FILE|PID");
	if (!match_calls(a->match, FX_WRITES_USER) || feat_has(FEAT_WRITE_USER))
		return NULL;
	return err_hint(err_code(err_new("copyout() and copyoutstr(): this kernel refuses %s",
					 feat_what(FEAT_WRITE_USER)),
				 EDT_NOTSUP),
			kernel_has_cap(CAP_SYS_ADMIN)
				? "it is forbidden under kernel lockdown, and some kernels are "
				  "built without it"
				: "the kernel wants CAP_SYS_ADMIN for it, which no level gives");
}

/*
 * Returns an error when clauses record addresses of processes, but the process ids in /proc are
 * those of another PID namespace.
 */
static struct err *check_numbers(const struct arrivals *a)
{
	return a->live->stack_needs.has_addresses ? proc_check_numbers() : NULL;
}

/* Moves a rate that is outside its limits, with a notice. */
static void clamp_rate(struct arrivals *a, enum opt_id id, const char *what, int64_t min_ns,
		       int64_t max_ns)
{
	int64_t ns = a->live->opts->val[id], to = MIN(MAX(ns, min_ns), max_ns);

	if (ns == to)
		return;
	a->live->opts->val[id] = to;
	if (to <= 1000000000)
		report_adjusted(a->report, "%s %s to %lld hz", what,
				to > ns ? "reduced" : "increased", 1000000000LL / (long long)to);
	else
		report_adjusted(a->report, "%s %s to once every %lld seconds", what,
				to > ns ? "reduced" : "increased", (long long)to / 1000000000LL);
}

/* Where D's own memory lies is an address of the kernel, which needs a level to be known. */
static struct err *addresses_check(const struct arrivals *a)
{
	const struct privileges *p = a->env->privileges;
	char have[LEVELS_TEXT_MAX];
	struct source_loc at;
	const char *how;
	uint32_t span;

	if (!privileges_lack(p, LEVEL_KERNEL) ||
	    !addresses_are_told(a->match->used, a->match->nused, &span, &how))
		return NULL;
	at = source_locate(dsession_sources(a->compiler->dsession), span);
	return err_hint(err_new("%s%sline %u: an address of the kernel, that of memory of D's own, "
				"is %s, which needs %s; this session has %s",
				at.file && *at.file ? at.file : "", at.file && *at.file ? ", " : "",
				at.line, how, level_word(LEVEL_KERNEL),
				levels_text(p->levels, have)),
			"use what is at the address: a string, or *pointer");
}

/* Finds the probes of the enabled programs; clauses of others are known, too. */
static struct err *match_programs(struct arrivals *a)
{
	struct err *e = NULL;

	for (uint32_t i = 0; i < a->compiler->progs.len; i++)
		match_add_program(a->match, a->compiler->progs.data[i]->prog);
	e = arrivals_check(a);
	for (uint32_t i = 0; i < a->compiler->progs.len && !e; i++)
		if (a->compiler->progs.data[i]->is_enabled)
			e = match_find_probes(a->match, a->compiler->progs.data[i]->prog);
	if (e)
		return e;
	match_number(a->match);
	arrivals_plan(a);
	match_note_used(a->match);
	if (!a->live->remains.of)
		stack_needs_find(a->match->used, a->match->nused, &a->live->stack_needs);
	return addresses_check(a);
}

/*
 * Keeps breakpoints out of the processes of others. Where links to many instructions can only be
 * filtered by a thread (before Linux 6.10), they are made for all processes, and their programs
 * leave out the others; a user with levels gets single ones, which the kernel makes for a process.
 */
static void uprobes_narrow(const struct privileges *p)
{
	if (privileges_lack(p, LEVEL_PROC_OWNER) && feat_has(FEAT_UPROBE_MULTI) &&
	    !feat_has(FEAT_UPROBE_TGID))
		feat_force_absent(FEAT_UPROBE_MULTI, true);
}

struct err *tracing_match(struct arrivals *a)
{
	struct err *e;

	uprobes_narrow(a->env->privileges);
	clamp_rate(a, OPT_statusrate, "status rate", 1, 10000000000);
	clamp_rate(a, OPT_cleanrate, "cleaning rate", 200000, 60000000000);
	e = match_programs(a);
	if (!e)
		e = check_destructive(a);
	if (!e)
		e = check_features(a);
	if (!e && !a->live->remains.of)
		e = pidns_find(&a->live->pidns);
	return e ? e : check_numbers(a);
}

/* ---- load ----------------------------------------------------------------------------------- */

struct err *tracing_load(struct arrivals *a)
{
	struct live *live = a->live;
	struct err *e = live_make_stacks(live);

	if (!e)
		e = live_make_layout(live, arrivals_has_pids(a));
	if (e)
		return e;
	match_make_units(a->match);
	e = live_divide_units(live);
	if (!e)
		e = live_open(live, arrivals_strtab_room(a));
	if (!e)
		e = live_load_units(live);
	if (!e)
		e = engines_ready(&live->engines);
	gate_set_patient(live->names->file_opts.gate, false);
	return e ? e : live_make_waiter(live);
}

/* ---- the watch of processes ----------------------------------------------------------------- */

static void debug_mapped(void *ctx, const struct watch_subject *s, const struct sym_map *m)
{
	CLEANUP(free) char *path = text_clean(xstrdup(m->path));

	report_debug(ctx, "process %" PRIu64 " maps '%s'", s->pid, path);
}

static void debug_unmapped(void *ctx, const struct watch_subject *s, uint64_t dev, uint64_t ino)
{
	report_debug(ctx, "process %" PRIu64 " unmaps inode %" PRIu64, s->pid, ino);
}

static void debug_execed(void *ctx, const struct watch_subject *s)
{
	report_debug(ctx, "process %" PRIu64 " executes another program%s", s->pid,
		     s->is_other_task ? ", by a thread that was not the first" : "");
}

static void debug_forked(void *ctx, const struct watch_subject *s, uint64_t parent)
{
	report_debug(ctx, "process %" PRIu64 " begins, below %" PRIu64, s->pid, parent);
}

static void debug_ended(void *ctx, const struct watch_subject *s)
{
	report_debug(ctx, "process %" PRIu64 " ends", s->pid);
}

static const struct watch_subscriber debug_subscriber = {
	.name = "debug",
	.scope = WATCH_FOLLOWED,
	.mapped = debug_mapped,
	.unmapped = debug_unmapped,
	.execed = debug_execed,
	.forked = debug_forked,
	.ended = debug_ended,
};

/*
 * Watches all processes when clauses record addresses of processes, or mean probes of them all, and
 * follows those that clauses name.
 */
static struct err *processes_watch(struct arrivals *a)
{
	struct live *live = a->live;
	bool has_addresses = live->stack_needs.has_addresses;
	struct err *e = NULL;

	if (has_addresses)
		watch_subscribe(live_watch(live), &watch_names, names_syms(live->names));
	if (has_addresses || arrivals_has_pids(a) || a->match->layout->live_size) {
		stacks_watch(live->stacks, live_watch(live));
		arrivals_watch_all(a);
		e = live_watch_all(live);
	}
	if (e)
		return e;
	if (a->is_possible && report_is_debugging(a->report))
		watch_subscribe(live_watch(live), &debug_subscriber, a->report);
	arrivals_start(a);
	if (live->watch)
		stacks_watch_followed(live->stacks, live->watch);
	live_prepare_stacks(live);
	return NULL;
}

/* ---- go ------------------------------------------------------------------------------------- */

/* The processes of -c are held: their clauses can read string constants from the beginning. */
static void constants_touch(const struct arrivals *a)
{
	bool reads = match_reads_user(a->match);

	for (uint32_t i = 0; reads && i < a->live->targets->procs.len; i++) {
		const struct proc *p = a->live->targets->procs.data[i];
		struct target *t = NULL;

		if (!proc_is_created(p))
			continue;
		err_destroy(target_held_open(proc_pid(p), a->live->names->file_opts.gate, &t));
		if (t) /* else the process has ended */
			touch_constants(t);
		target_close(t);
	}
}

/*
 * BEGIN fires before anything else is attached; when it calls exit(), which turns ON into EXITING,
 * nothing ever is. The rest is attached while the state is OFF, so that all probes begin at the
 * same instant. The watch begins before that, because programs that ask whether their probes are
 * traced know it as soon as the first one is attached. Only children are followed afterwards: they
 * get what is attached to their parents. A signal (dtrace_interrupt()) ends attaching early: then
 * only BEGIN has fired, and END will fire.
 */
struct err *tracing_start(struct arrivals *a)
{
	struct err *e;

	a->live->is_active = a->live->opts->is_active = true;
	live_set_state(a->live, RT_STATE_ON);
	e = live_fire(a->live, DTRACE_KEY_BEGIN);
	if (e)
		return err_wrap(e, "BEGIN");
	if (live_state(a->live) == RT_STATE_EXITING)
		return NULL;
	live_set_state(a->live, RT_STATE_OFF);
	if (!arrivals_has_children(a) && !a->live->remains.of)
		e = processes_watch(a);
	if (!e)
		e = live_attach_units(a->live);
	if (!e && a->live->is_interrupted) {
		tracing_stop(a);
		return NULL;
	}
	if (!e && arrivals_has_children(a))
		e = processes_watch(a);
	if (e)
		return e;
	constants_touch(a);
	live_note_missed(a->live);
	live_set_state(a->live, RT_STATE_ON);
	return NULL;
}

void tracing_stop(struct arrivals *a)
{
	if (!a->live->is_active || a->live->is_stopped)
		return;
	arrivals_stop(a);
	live_end(a->live);
}

void tracing_undo(struct arrivals *a)
{
	live_undo(a->live);
	arrivals_undo(a);
	match_undo(a->match);
}

/* ---- while it runs -------------------------------------------------------------------------- */

void tracing_tend(struct arrivals *a)
{
	watch_work(a->live->watch);
	arrivals_work(a);
	names_add_targets(a->live->names, a->live->targets);
	(void)stacks_work(a->live->stacks, 0); /* serves requests only */
}

/*
 * The files of a new process are opened within microseconds, before it can end. When very many
 * processes begin, we pause, so that not each of them wakes us several times.
 */
#define NOTES_AT_ONCE 50 /* within NOTE_PAUSE_NS */
#define NOTE_PAUSE_NS 5000000

#define STACKS_SLICE_NS 5000000 /* time for unwind tables before other work is done */

static bool pause_ns(uint64_t ns)
{
	struct timespec ts = {0, (long)ns};

	return nanosleep(&ts, NULL) == 0;
}

void tracing_sleep(struct arrivals *a, uint64_t due)
{
	uint64_t since = 0;
	uint32_t n = 0;

	for (uint64_t now = now_ns(); now < due; now = now_ns()) {
		bool more = stacks_work(a->live->stacks, MIN(due, now + STACKS_SLICE_NS));
		uint64_t until = due;

		now = now_ns();
		if (arrivals_are_waiting(a))
			until = MIN(due, now + ARRIVALS_PAUSE_NS);
		if (waiter_wait(a->live->waiter, more || now >= until ? 0 : until - now))
			return;
		watch_drain(a->live->watch);
		watch_work(a->live->watch);
		arrivals_work(a);
		if (now - since >= NOTE_PAUSE_NS) {
			since = now;
			n = 0;
		} else if (++n >= NOTES_AT_ONCE && !pause_ns(NOTE_PAUSE_NS)) {
			return; /* a signal */
		}
	}
}
