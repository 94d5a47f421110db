/* SPDX-License-Identifier: MIT */
/*
 * Adds and removes probes while a session runs: which clauses may get some, and the subscriber of
 * the watch for the processes that clauses name.
 */
#include "session/arrivals/impl.h"

#include "consume/wait.h"
#include "privilege/privilege.h"
#include "session/arrivals/prewatch.h"
#include "target/control.h"
#include "unwind/tables.h"

/* Room for the names of added probes: with patterns, and with named functions only. */
#define NAMES_ROOM_MANY (2u << 20)
#define NAMES_ROOM_FEW	(64u << 10)

/* ---- before the start ----------------------------------------------------------------------- */

static void id_add(struct arrivals *a, const struct proc_id *id)
{
	for (uint32_t i = 0; i < a->ids.len; i++)
		if (a->ids.data[i] == id)
			return;
	vec_push(&a->ids, id);
}

/* Finds out of which processes a clause may get more probes of a provider. */
static void plan_clause(struct arrivals *a, const struct provider_arrivals *from,
			struct session_clause *sc)
{
	const struct probe_desc *desc = &sc->clause->desc;
	const struct proc_id *id;

	for (uint32_t i = 0; from->processes && (id = from->processes->described(a->env, desc, i));
	     i++) {
		sc->is_open = a->is_possible = true;
		/* jumps in a library that goes and comes again have gone with it */
		a->wants_libraries |= from->processes->waits_for_library(a->env, desc, id) ||
				      a->live->opts->val[OPT_inproc] != INPROC_OFF;
		a->wants_patterns |= !*desc->func || !glob_is_literal(desc->func);
		id_add(a, id);
	}
	if (arrivals_clause_wants_modules(a, from, sc)) {
		sc->is_open = a->is_possible = true;
		a->wants_patterns |= !*desc->func || !glob_is_literal(desc->func);
		if (!a->modules_fd)
			a->modules_fd = modules_listen();
	}
	if (from->files && from->files->wants(a->env, desc)) {
		sc->is_open = a->is_possible = true;
		a->wants_all = a->wants_patterns = true;
		if (!a->missed)
			a->missed = missed_create();
	}
}

static bool wants_children(const struct arrivals *a)
{
	return a->live->opts->val[OPT_follow] == FOLLOW_OPT_FORK;
}

struct err *arrivals_check(struct arrivals *a)
{
	if (!wants_children(a))
		return NULL;
	if (!feat_has(FEAT_UPROBE_TGID))
		return err_hint(err_new("option follow: this kernel lacks %s",
					feat_what(FEAT_UPROBE_TGID)),
				"without it children cannot be told from their parents");
	pid_have_children(a->env);
	return NULL;
}

void arrivals_plan(struct arrivals *a)
{
	bool has_functions = false;
	uint32_t nepids = 0;

	for (uint32_t i = 0; i < a->compiler->progs.len; i++) {
		const struct prog *p = a->compiler->progs.data[i]->prog;

		for (uint32_t k = 0; a->compiler->progs.data[i]->is_enabled && k < p->nclauses;
		     k++) {
			struct session_clause *sc = &a->match->clauses.data[p->clauses[k]->index];

			for (uint32_t n = 0; provider_arrivals[n]; n++)
				plan_clause(a, provider_arrivals[n], sc);
			has_functions |=
				pid_arrivals.processes->described(a->env, &sc->clause->desc, 0) !=
				NULL;
			nepids += sc->n;
		}
	}
	if (!has_functions && wants_children(a))
		report_notice(
			a->report,
			"option follow changes nothing: no clause is about functions of a process "
			"(provider pid)");
	if (!a->is_possible)
		return;
	a->wants_children = has_functions && wants_children(a);
	a->numbers = (struct late_numbers){.idx = a->match->nenabled, .epid = nepids + 1};
}

bool arrivals_has_pids(const struct arrivals *a)
{
	return a->wants_all;
}

bool arrivals_has_children(const struct arrivals *a)
{
	return a->wants_children;
}

uint32_t arrivals_strtab_room(const struct arrivals *a)
{
	if (!a->is_possible)
		return 0;
	return a->wants_patterns ? NAMES_ROOM_MANY : NAMES_ROOM_FEW;
}

/* ---- the subscriber ------------------------------------------------------------------------- */

static void probes_mapped(void *ctx, const struct watch_subject *s, const struct sym_map *m)
{
	struct arrivals *a = ctx;

	a->has_changed = true;
}

static void probes_unmapped(void *ctx, const struct watch_subject *s, uint64_t dev, uint64_t ino)
{
	struct arrivals *a = ctx;

	a->has_changed = a->has_gone = true;
}

static void probes_execed(void *ctx, const struct watch_subject *s)
{
	struct arrivals *a = ctx;

	a->has_changed = a->has_gone = true;
	arrivals_follow_exec(a, s->proc, s->is_other_task);
	live_forget_child(a->live, watch_id(s->proc)->pid);
	if (!s->is_other_task)
		return;
	if (a->wants_children) {
		engines_forget_child(&a->live->engines, a->live->attachments,
				     watch_id(s->proc)->pid);
		return;
	}
	arrivals_drop_probes(a, s->proc);
	a->is_other = true;
}

static void probes_forked(void *ctx, const struct watch_subject *s, uint64_t parent)
{
	struct arrivals *a = ctx;

	a->has_changed = true;
}

static void probes_reported(void *ctx, const struct watch_subject *s)
{
	struct arrivals *a = ctx;

	arrivals_follow_maps(a, s->proc);
	if (a->has_changed)
		arrivals_proc_look(a, s->proc);
	a->has_changed = a->is_other = false;
	arrivals_batches_retire(a);
}

static void probes_ended(void *ctx, const struct watch_subject *s)
{
	struct arrivals *a = ctx;

	arrivals_waiting_drop(a, s->proc);
	engines_forget_child(&a->live->engines, a->live->attachments, watch_id(s->proc)->pid);
	live_forget_child(a->live, watch_id(s->proc)->pid);
	for (uint32_t i = 0; provider_arrivals[i]; i++)
		if (provider_arrivals[i]->processes)
			provider_arrivals[i]->processes->ended(a->env, watch_root(s->proc),
							       watch_id(s->proc));
	a->has_gone = true;
	arrivals_batches_retire(a);
}

static uint64_t probes_nplaces(void *ctx, const struct watch_subject *s)
{
	const struct arrivals *a = ctx;

	return engines_nplaces(&a->live->engines, a->live->attachments, watch_id(s->proc)->pid);
}

static void probes_inherited(void *ctx, const struct watch_subject *s)
{
	struct arrivals *a = ctx;
	struct err *e =
		engines_sweep(&a->live->engines, a->live->attachments, watch_id(s->proc)->pid);

	err_destroy(e); /* the children keep the breakpoints: slower, but unharmed */
}

static const struct watch_subscriber probes_subscriber = {
	.name = "probes of functions",
	.scope = WATCH_FOLLOWED,
	.mapped = probes_mapped,
	.unmapped = probes_unmapped,
	.execed = probes_execed,
	.forked = probes_forked,
	.ended = probes_ended,
	.reported = probes_reported,
	.nplaces = probes_nplaces,
	.inherited = probes_inherited,
};

/* ---- beginning and end ---------------------------------------------------------------------- */

static const struct proc *proc_of(const struct arrivals *a, pid_t pid)
{
	for (uint32_t i = 0; i < a->live->targets->procs.len; i++)
		if (proc_pid(a->live->targets->procs.data[i]) == pid)
			return a->live->targets->procs.data[i];
	return NULL;
}

/*
 * A process of -c ends with dtrace unless it has changed its user, and is stopped until tracing
 * begins, so it maps nothing.
 */
static uint32_t flags_of(const struct arrivals *a, const struct proc_id *id)
{
	const struct proc *proc = proc_of(a, id->pid);
	bool looks = a->wants_libraries;

	if (proc && proc_is_created(proc))
		return WATCH_STOPS | WATCH_OUTLIVES;
	if (proc && opt_flag(a->live->opts, OPT_libstop))
		return WATCH_STOPS | WATCH_OUTLIVES | (looks ? WATCH_LOOKS : 0);
	return looks ? WATCH_LOOKS : 0;
}

static bool is_named(const struct arrivals *a, pid_t pid)
{
	for (uint32_t i = 0; i < a->ids.len; i++)
		if (a->ids.data[i]->pid == pid)
			return true;
	return false;
}

static bool has_created(const struct arrivals *a)
{
	for (uint32_t i = 0; i < a->live->targets->procs.len; i++)
		if (proc_is_created(a->live->targets->procs.data[i]))
			return true;
	return false;
}

static bool pred_declines_pid(const struct difo *pred, pid_t pid)
{
	uint64_t number;
	bool is_one;

	return stack_pred_pid(pred, &number, &is_one) && is_one == (number != (uint64_t)pid);
}

/*
 * Whether a clause may record a user stack of the process: not if its predicate excludes it, as far
 * as that is seen.
 */
static bool is_walked(const struct arrivals *a, pid_t pid)
{
	for (uint32_t i = 0; i < a->compiler->progs.len; i++) {
		const struct prog *p = a->compiler->progs.data[i]->prog;

		for (uint32_t k = 0; a->compiler->progs.data[i]->is_enabled && k < p->nclauses;
		     k++) {
			const struct difo *pred = p->clauses[k]->pred;
			struct stack_needs needs;

			stack_needs_find(&p->clauses[k], 1, &needs);
			if ((needs.uframes || needs.has_names) &&
			    !(pred && pred_declines_pid(pred, pid)))
				return true;
		}
	}
	return false;
}

/*
 * Whether processes of -c wait for their unwind tables. That takes a breakpoint in their dynamic
 * linker, for which the fence (keeper/fence.h) ends a process that executes a program of others:
 * not for a session that has no other breakpoints.
 */
static bool created_waits(const struct arrivals *a)
{
	int64_t libstop = a->live->opts->val[OPT_libstop];

	return stacks_has_frames(a->live->stacks) && has_created(a) &&
	       (libstop == OPT_UNSET || libstop) &&
	       !privileges_lack(a->env->privileges, LEVEL_PROC_OWNER);
}

/*
 * Finds the processes of -c that no clause names, and whose stacks may be recorded. While one of
 * them maps a file, it waits for its unwind tables: else a virtual machine that its launcher opens
 * would run for some hundredths of a second before stacks through it are whole.
 */
static void created_find(struct arrivals *a)
{
	const struct targets *t = a->live->targets;
	struct proc_id id;

	for (uint32_t i = 0; i < t->procs.len; i++) {
		const struct proc *p = t->procs.data[i];
		struct err *e;

		if (!proc_is_created(p) || is_named(a, proc_pid(p)) || !is_walked(a, proc_pid(p)))
			continue;
		e = proc_id_open(proc_pid(p), &id);
		if (!e)
			vec_push(&a->created, id);
		err_destroy(e); /* it has ended */
	}
}

static struct err *processes_follow(struct arrivals *a, struct watch *w)
{
	struct err *e = NULL;

	for (uint32_t i = 0; i < a->ids.len && !e; i++)
		e = watch_follow(w, a->ids.data[i], flags_of(a, a->ids.data[i]));
	return e;
}

/* Where this fails, the tables of what they map are loaded while they run, as other processes'. */
static void created_follow(struct arrivals *a, struct watch *w)
{
	for (uint32_t i = 0; i < a->created.len; i++)
		err_destroy(
			watch_follow(w, &a->created.data[i],
				     WATCH_STOPS | WATCH_OUTLIVES | WATCH_SPARED | WATCH_KNOWN));
}

/* The maps that say for which files the session has unwind tables; NULL: it has none. */
static const int *known_fds(const struct arrivals *a)
{
	const struct stack_tables *tables =
		stacks_has_tables(a->live->stacks) ? engines_tables(&a->live->engines) : NULL;

	return tables ? tables->map_fds : NULL;
}

void arrivals_start(struct arrivals *a)
{
	bool waits = created_waits(a);
	struct watch *w;
	struct err *e;
	int fd;

	if (a->wants_all)
		arrivals_all_start(a);
	if (a->modules_fd)
		arrivals_modules_start(a);
	if (waits)
		created_find(a);
	if (!a->ids.len && !a->created.len)
		return;
	w = live_watch(a->live);
	if (a->ids.len)
		watch_subscribe(w, &probes_subscriber, a);
	e = watch_following(w,
			    &(struct watch_following){.max = a->ids.len + a->created.len,
						      .ns = a->live->pidns,
						      .has_children = a->wants_children,
						      .wants_libraries =
							      a->wants_libraries || waits,
						      .is_silent = !a->ids.len,
						      .known_fds = known_fds(a)},
			    &fd);
	if (!e)
		e = waiter_listen(a->live->waiter, fd);
	if (!e)
		e = processes_follow(a, w);
	if (!e)
		created_follow(a, w);
	if (e && a->ids.len)
		report_adjusted(a->report, "what processes map from now on is not probed: %s",
				err_text(e));
	err_destroy(e);
}

void arrivals_init(struct arrivals *a, const struct arrivals *parts)
{
	*a = *parts;
	a->survey_at = UNUSED_MAX;
	prewatch_enable(a);
}

void arrivals_undo(struct arrivals *a)
{
	prewatch_end(a);
	vec_deinit(&a->ids);
	for (uint32_t i = 0; i < a->created.len; i++)
		proc_id_close(&a->created.data[i]);
	vec_deinit(&a->created);
	vec_deinit(&a->batches);
	vec_deinit(&a->waiting);
	if (a->modules_fd > 0)
		(void)close(a->modules_fd);
	a->modules_fd = 0;
	missed_destroy(a->missed);
	a->missed = NULL;
	a->is_possible = a->wants_all = a->wants_children = false;
}
