/* SPDX-License-Identifier: MIT */
/*
 * Adds and removes probes while a session runs: which clauses may get some, and the subscriber of
 * the watch for the processes that clauses name.
 */
#include "session/arrivals_impl.h"

#include "consume/wait.h"
#include "target/control.h"

/* Room for the names of added probes: with patterns, and with named functions only. */
#define NAMES_ROOM_MANY (2u << 20)
#define NAMES_ROOM_FEW	(64u << 10)

/* ---- before the start ----------------------------------------------------------------------- */

static void id_add(struct later *l, const struct proc_id *id)
{
	for (uint32_t i = 0; i < l->ids.len; i++)
		if (l->ids.data[i] == id)
			return;
	vec_push(&l->ids, id);
}

static struct later *later_get(struct run *run)
{
	if (!run->later) {
		run->later = xcalloc(1, sizeof(*run->later));
		run->later->survey_at = UNUSED_MAX;
	}
	return run->later;
}

/* Finds out of which processes a clause may get more probes of a provider. */
static void plan_clause(struct run *run, const struct provider_arrivals *from,
			struct session_clause *sc)
{
	const struct probe_desc *desc = &sc->clause->desc;
	const struct proc_id *id;
	struct later *l;

	for (uint32_t i = 0;
	     from->processes && (id = from->processes->described(probes_env(run->probes), desc, i));
	     i++) {
		l = later_get(run);
		sc->is_open = true;
		l->wants_libraries |=
			from->processes->waits_for_library(probes_env(run->probes), desc, id);
		l->wants_patterns |= !*desc->func || !glob_is_literal(desc->func);
		id_add(l, id);
	}
	if (later_clause_wants_modules(run, from, sc)) {
		l = later_get(run);
		sc->is_open = true;
		l->wants_patterns |= !*desc->func || !glob_is_literal(desc->func);
		if (!l->modules_fd)
			l->modules_fd = modules_listen();
	}
	if (from->files && from->files->wants(probes_env(run->probes), desc)) {
		l = later_get(run);
		sc->is_open = true;
		l->wants_all = l->wants_patterns = true;
		if (!l->missed)
			l->missed = missed_create();
	}
}

static bool wants_children(const struct run *run)
{
	return run->opts->val[OPT_follow] == FOLLOW_OPT_FORK;
}

struct err *later_check(struct run *run)
{
	if (!wants_children(run))
		return NULL;
	if (!feat_has(FEAT_UPROBE_TGID))
		return err_hint(err_new("option follow: this kernel lacks %s",
					feat_what(FEAT_UPROBE_TGID)),
				"without it children cannot be told from their parents");
	pid_have_children(probes_env(run->probes));
	return NULL;
}

void later_plan(struct run *run)
{
	bool has_functions = false;
	uint32_t nepids = 0;

	for (uint32_t i = 0; i < run->compiler->progs.len; i++) {
		const struct prog *p = run->compiler->progs.data[i]->prog;

		for (uint32_t k = 0; run->compiler->progs.data[i]->is_enabled && k < p->nclauses;
		     k++) {
			struct session_clause *sc = &run->match->clauses.data[p->clauses[k]->index];

			for (uint32_t n = 0; provider_arrivals[n]; n++)
				plan_clause(run, provider_arrivals[n], sc);
			has_functions |=
				pid_arrivals.processes->described(probes_env(run->probes),
								  &sc->clause->desc, 0) != NULL;
			nepids += sc->n;
		}
	}
	if (!has_functions && wants_children(run))
		report_notice(
			run->report,
			"option follow changes nothing: no clause is about functions of a process "
			"(provider pid)");
	if (!run->later)
		return;
	run->later->wants_children = has_functions && wants_children(run);
	run->later->numbers =
		(struct late_numbers){.idx = run->match->nenabled, .epid = nepids + 1};
}

bool later_has_pids(const struct run *run)
{
	return run->later && run->later->wants_all;
}

bool later_has_children(const struct run *run)
{
	return run->later && run->later->wants_children;
}

uint32_t later_strtab_room(const struct run *run)
{
	if (!run->later)
		return 0;
	return run->later->wants_patterns ? NAMES_ROOM_MANY : NAMES_ROOM_FEW;
}

/* ---- the subscriber ------------------------------------------------------------------------- */

static void probes_mapped(void *ctx, const struct watch_subject *s, const struct sym_map *m)
{
	struct run *run = ctx;

	run->later->has_changed = true;
}

static void probes_unmapped(void *ctx, const struct watch_subject *s, uint64_t dev, uint64_t ino)
{
	struct run *run = ctx;

	run->later->has_changed = run->later->has_gone = true;
}

static void probes_execed(void *ctx, const struct watch_subject *s)
{
	struct run *run = ctx;

	run->later->has_changed = run->later->has_gone = true;
	if (!s->is_other_task)
		return;
	if (run->later->wants_children) {
		engines_forget_child(&run->engines, &run->attachments, watch_id(s->proc)->pid);
		return;
	}
	later_drop_probes(run, s->proc);
	run->later->is_other = true;
}

static void probes_forked(void *ctx, const struct watch_subject *s, uint64_t parent)
{
	struct run *run = ctx;

	run->later->has_changed = true;
}

static void probes_settled(void *ctx, const struct watch_subject *s)
{
	struct run *run = ctx;

	if (run->later->has_changed)
		later_proc_look(run, s->proc);
	run->later->has_changed = run->later->is_other = false;
	later_batches_retire(run);
}

static void probes_ended(void *ctx, const struct watch_subject *s)
{
	struct run *run = ctx;

	engines_forget_child(&run->engines, &run->attachments, watch_id(s->proc)->pid);
	for (uint32_t i = 0; provider_arrivals[i]; i++)
		if (provider_arrivals[i]->processes)
			provider_arrivals[i]->processes->ended(probes_env(run->probes),
							       watch_root(s->proc),
							       watch_id(s->proc));
	run->later->has_gone = true;
	later_batches_retire(run);
}

static uint64_t probes_nplaces(void *ctx, const struct watch_subject *s)
{
	const struct run *run = ctx;

	return engines_nplaces(&run->engines, &run->attachments, watch_id(s->proc)->pid);
}

static void probes_inherited(void *ctx, const struct watch_subject *s)
{
	struct run *run = ctx;
	struct err *e = engines_sweep(&run->engines, &run->attachments, watch_id(s->proc)->pid);

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
	.settled = probes_settled,
	.nplaces = probes_nplaces,
	.inherited = probes_inherited,
};

/* ---- beginning and end ---------------------------------------------------------------------- */

static const struct proc *proc_of(const struct run *run, pid_t pid)
{
	for (uint32_t i = 0; i < run->targets->procs.len; i++)
		if (proc_pid(run->targets->procs.data[i]) == pid)
			return run->targets->procs.data[i];
	return NULL;
}

/* A process of -c ends with dtrace, and is stopped until tracing begins, so it maps nothing. */
static uint32_t flags_of(const struct run *run, const struct proc_id *id)
{
	const struct proc *proc = proc_of(run, id->pid);
	bool looks = run->later->wants_libraries;

	if (proc && proc_is_created(proc))
		return WATCH_STOPS;
	if (proc && opt_flag(run->opts, OPT_libstop))
		return WATCH_STOPS | WATCH_OUTLIVES | (looks ? WATCH_LOOKS : 0);
	return looks ? WATCH_LOOKS : 0;
}

void later_start(struct run *run)
{
	const struct later *l = run->later;
	struct watch *w;
	struct err *e;
	int fd;

	if (l && l->wants_all)
		later_all_start(run);
	if (l && l->modules_fd)
		later_modules_start(run);
	if (!l || !l->ids.len)
		return;
	w = run_watch(run);
	watch_subscribe(w, &probes_subscriber, run);
	e = watch_following(w,
			    &(struct watch_following){.max = l->ids.len,
						      .ns = run->pidns,
						      .has_children = l->wants_children,
						      .wants_libraries = l->wants_libraries},
			    &fd);
	if (!e)
		e = waiter_listen(run->waiter, fd);
	for (uint32_t i = 0; i < l->ids.len && !e; i++)
		e = watch_follow(w, l->ids.data[i], flags_of(run, l->ids.data[i]));
	if (e)
		report_adjusted(run->report, "what processes map from now on is not probed: %s",
				err_text(e));
	err_destroy(e);
}

void later_destroy(struct run *run)
{
	if (run->later) {
		vec_deinit(&run->later->ids);
		vec_deinit(&run->later->batches);
		if (run->later->modules_fd > 0)
			(void)close(run->later->modules_fd);
		missed_destroy(run->later->missed);
	}
	free(run->later);
	run->later = NULL;
}
