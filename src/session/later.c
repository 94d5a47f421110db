/* Adds and removes probes while a session runs, as a subscriber of the watch. */
#include "session/later.h"

#include "proc/control.h"
#include "provider/pid_come.h"
#include "consume/wait.h"
#include "watch/watch.h"

/* Room for the names of added probes: with patterns, and with named functions only. */
#define NAMES_ROOM_MANY (2u << 20)
#define NAMES_ROOM_FEW	(64u << 10)

#define UNUSED_MAX    64	 /* batches without any mapped file that stay probed */
#define LINGER_NS     1000000000 /* BPF programs that began earlier have ended by then */
#define LATE_EPID_MAX 0xf0000000u

/* The probes that were added together, after an event of a process. */
struct later_batch {
	uint32_t number;	   /* the provider's number, and the group of attachments */
	struct session_unit *unit; /* NULL: no clause matches */
	uint64_t retired_at;	   /* ns; 0: it is attached */
};

struct later {
	VEC(const struct proc_id *) ids; /* processes that clauses name; the provider owns them */
	bool wants_libraries, wants_patterns, wants_children;
	bool has_changed;	     /* the process of this event has mapped or unmapped code */
	bool is_other;		     /* the process is another task, its links are dead */
	bool is_full;		     /* the string table has no room for further names */
	bool has_gone;		     /* some file may be in no process any more */
	struct late_numbers numbers; /* numbers for the next unit */
	VEC(struct later_batch) batches;
};

/* ---- before the start ----------------------------------------------------------------------- */

static void id_add(struct later *l, const struct proc_id *id)
{
	for (uint32_t i = 0; i < l->ids.len; i++)
		if (l->ids.data[i] == id)
			return;
	vec_push(&l->ids, id);
}

static void plan_clause(struct run *run, struct session_clause *sc, const struct proc_id *id)
{
	const struct probe_desc *desc = &sc->clause->desc;
	struct later *l;

	if (!run->later)
		run->later = xcalloc(1, sizeof(*run->later));
	l = run->later;
	sc->is_open = true;
	l->wants_libraries |= pid_waits_for_library(run->probes, desc, id);
	l->wants_patterns |= !*desc->func || !glob_is_literal(desc->func);
	id_add(l, id);
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
	pid_have_children(run->probes);
	return NULL;
}

void later_plan(struct run *run)
{
	uint32_t nepids = 0;

	for (uint32_t i = 0; i < run->compiler->progs.len; i++) {
		const struct prog *p = run->compiler->progs.data[i]->prog;

		for (uint32_t k = 0; run->compiler->progs.data[i]->is_enabled && k < p->nclauses;
		     k++) {
			struct session_clause *sc = &run->clauses.data[p->clauses[k]->index];
			const struct proc_id *id;

			for (uint32_t n = 0;
			     (id = pid_described(run->probes, &p->clauses[k]->desc, n)); n++)
				plan_clause(run, sc, id);
			nepids += sc->n;
		}
	}
	if (!run->later && wants_children(run))
		report_notice(
			run->report,
			"option follow changes nothing: no clause is about functions of a process "
			"(provider pid)");
	if (!run->later)
		return;
	run->later->wants_children = wants_children(run);
	run->later->numbers = (struct late_numbers){.idx = run->nenabled, .epid = nepids + 1};
}

uint32_t later_strtab_room(const struct run *run)
{
	if (!run->later)
		return 0;
	return run->later->wants_patterns ? NAMES_ROOM_MANY : NAMES_ROOM_FEW;
}

/* ---- adding probes -------------------------------------------------------------------------- */

static bool difo_reads_args(const struct difo *d)
{
	for (uint32_t i = 0; d && i < d->code_len; i++)
		if (DIF_INSN_OP(d->code[i]) == DIF_OP_LDGA &&
		    DIF_INSN_R1(d->code[i]) == DIF_VAR_ARGS)
			return true;
	return false;
}

static bool clause_reads_args(const struct prog_clause *cl)
{
	if (difo_reads_args(cl->pred))
		return true;
	for (uint32_t i = 0; i < cl->nacts; i++)
		for (uint32_t k = 0; k < cl->acts[i].nargs; k++)
			if (difo_reads_args(cl->acts[i].args[k]))
				return true;
	return false;
}

/* Drops probes with other argument types: args[] was compiled for the clause's first probe. */
static void drop_mistyped(struct run *run, const struct session_clause *sc, struct probe_list *l)
{
	uint32_t n = 0;

	if (!l->probes.len || !sc->n || !clause_reads_args(sc->clause))
		return;
	for (uint32_t i = 0; i < l->probes.len; i++)
		if (probes_have_same_args(run->probes, sc->probes[0], l->probes.data[i]))
			l->probes.data[n++] = l->probes.data[i];
	if (n < l->probes.len)
		report_adjusted(
			run->report,
			"%u functions of '%s' that have come to '%s' are not probed: their args[] are of "
			"other types than those the clause was compiled for",
			l->probes.len - n, l->probes.data[n]->mod,
			probe_desc_text(run->arena, &sc->clause->desc));
	l->probes.len = n;
}

/* Matches the open clauses that name the process against its new code. */
static uint32_t match_clauses(struct run *run, const struct watch_proc *p, struct late_clause *late)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < run->clauses.len; i++) {
		const struct session_clause *sc = &run->clauses.data[i];
		struct late_clause *lc = &late[n];
		struct err *e;

		if (!sc->is_open ||
		    !pid_is_described(run->probes, &sc->clause->desc, watch_root(p)))
			continue;
		*lc = (struct late_clause){.clause = i};
		e = pid_match_new(run->probes, &sc->clause->desc, &lc->list);
		if (e)
			watch_failed(run->watch, p, probe_desc_text(run->arena, &sc->clause->desc),
				     e);
		else
			drop_mistyped(run, sc, &lc->list);
		if (lc->list.probes.len && !e)
			n++;
		else
			vec_deinit(&lc->list.probes);
	}
	return n;
}

static struct err *unit_place(struct run *run, struct session_unit *u)
{
	struct err *e;

	run->later->is_full = !run->engine->engine->add_strings(run->engine);
	if (run->later->is_full)
		return err_hint(
			err_new("the names of functions take more than %u bytes: what comes "
				"from now on is not probed",
				later_strtab_room(run)),
			"name modules and functions");
	e = run_load_unit(run, u);
	if (!e)
		e = run_attach_unit(run, u, &run->attachments);
	if (u->loaded && !run->later->wants_children)
		run->engine->engine->settle(run->engine, u->loaded);
	return e;
}

/* Returns an error when the EPIDs are used up: they are not given out again. */
static struct err *check_numbers(const struct run *run)
{
	const struct late_numbers *n = &run->later->numbers;

	if (n->epid < LATE_EPID_MAX && n->idx < LATE_EPID_MAX)
		return NULL;
	return err_new("more than %u probes have come since tracing began", LATE_EPID_MAX);
}

static struct err *batch_place(struct run *run, uint32_t batch, const struct late_clause *late,
			       uint32_t n)
{
	struct later *l = run->later;
	struct later_batch b = {.number = batch};
	struct err *e = n ? check_numbers(run) : NULL;

	if (n && !e && !l->is_full) {
		l->numbers.group = batch;
		b.unit = run_make_late_unit(run, late, n, &l->numbers);
		e = unit_place(run, b.unit);
	}
	vec_push(&l->batches, b);
	return e;
}

/* Drops the probes of a process whose links are dead (watch/procs.c). */
static void drop_probes(struct run *run, const struct watch_proc *p)
{
	for (uint32_t i = 0; i < run->units.len; i++) {
		const struct session_unit *u = run->units.data[i];
		struct err *e = NULL;

		if (u->traits->is_in_process && u->loaded)
			e = run->engine->engine->drop_process(run->engine, u->loaded,
							      (uint32_t)watch_id(p)->pid);
		if (e)
			watch_failed(run->watch, p, "functions may be counted twice", e);
	}
}

static void proc_look(struct run *run, const struct watch_proc *p)
{
	struct late_clause *late = xcalloc(run->clauses.len, sizeof(*late));
	const struct proc_id *id = watch_id(p), *root = watch_root(p);
	struct attach_opts opts = run_attach_opts(run);
	uint32_t n = 0, batch;
	struct err *e = pid_look_again(run->probes, root, id, run->later->is_other, &batch);

	if (!e && batch) {
		n = match_clauses(run, p, late);
		e = batch_place(run, batch, late, n);
	}
	if (!e && run->later->wants_children)
		e = run->engine->engine->add_child(run->engine, &run->attachments, root->pid,
						   id->pid, &opts);
	if (e)
		watch_failed(run->watch, p, "its functions are not probed", e);
	for (uint32_t i = 0; i < n; i++)
		vec_deinit(&late[i].list.probes);
	free(late);
}

/* ---- removing probes ------------------------------------------------------------------------ */

/*
 * Finds the batch to remove next. Files that no process maps any more stay probed for a while,
 * because files are often mapped again; of too many, the batch that is unused longest goes.
 */
static struct later_batch *batch_oldest(struct run *run, uint32_t *ret_nunused)
{
	struct later *l = run->later;
	struct later_batch *oldest = NULL;
	uint64_t since, least = UINT64_MAX;

	*ret_nunused = 0;
	for (uint32_t i = 0; i < l->batches.len; i++) {
		struct later_batch *b = &l->batches.data[i];

		if (b->retired_at || !pid_batch_is_unused(run->probes, b->number, &since))
			continue;
		++*ret_nunused;
		if (since < least) {
			least = since;
			oldest = b;
		}
	}
	return oldest;
}

/* Detaches the unit of a batch. The unit is freed later: records of its probes may be unread. */
static struct err *batch_retire(struct run *run, struct later_batch *b)
{
	const struct engine *engine = run->engine->engine;
	struct session_unit *u = b->unit;
	struct err *e = NULL;

	b->retired_at = now_ns();
	if (u && u->loaded)
		e = engine->detach(run->engine, u->loaded, &run->attachments, u->group);
	if (e)
		return e;
	if (u)
		run_unload_unit(run, u);
	pid_batch_retire(run->probes, b->number);
	return NULL;
}

static void batches_retire(struct run *run)
{
	struct later_batch *b;
	struct err *e = NULL;
	uint32_t n;

	if (!run->later->has_gone)
		return;
	run->later->has_gone = false;
	while (!e && (b = batch_oldest(run, &n)) && n > UNUSED_MAX)
		e = batch_retire(run, b);
	if (e)
		report_adjusted(run->report, "functions that are not there any more: %s",
				err_text(e));
	err_destroy(e);
}

/* Returns true if records may wait for the end of a speculation or of the run: they name probes. */
static bool keeps_names(const struct run *run)
{
	return run->layout->speculates || run->opts->val[OPT_bufpolicy] == BUFPOLICY_RING ||
	       run->opts->val[OPT_bufpolicy] == BUFPOLICY_FILL;
}

void later_tend(struct run *run, uint64_t consumed_at)
{
	struct later *l = run->later;
	uint32_t n = 0;

	for (uint32_t i = 0; l && i < l->batches.len; i++) {
		const struct later_batch *b = &l->batches.data[i];

		if (!b->retired_at || b->retired_at + LINGER_NS > consumed_at) {
			l->batches.data[n++] = *b;
			continue;
		}
		if (b->unit)
			run_drop_unit(run, b->unit);
		pid_batch_free(run->probes, b->number, keeps_names(run));
	}
	if (l)
		l->batches.len = n;
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
		run->engine->engine->forget_child(run->engine, &run->attachments,
						  watch_id(s->proc)->pid);
		return;
	}
	drop_probes(run, s->proc);
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
		proc_look(run, s->proc);
	run->later->has_changed = run->later->is_other = false;
	batches_retire(run);
}

static void probes_ended(void *ctx, const struct watch_subject *s)
{
	struct run *run = ctx;

	run->engine->engine->forget_child(run->engine, &run->attachments, watch_id(s->proc)->pid);
	pid_ended(run->probes, watch_root(s->proc), watch_id(s->proc));
	run->later->has_gone = true;
	batches_retire(run);
}

static uint64_t probes_nplaces(void *ctx, const struct watch_subject *s)
{
	const struct run *run = ctx;

	return run->engine->engine->nplaces(run->engine, &run->attachments, watch_id(s->proc)->pid);
}

static void probes_inherited(void *ctx, const struct watch_subject *s)
{
	struct run *run = ctx;
	struct err *e =
		run->engine->engine->sweep(run->engine, &run->attachments, watch_id(s->proc)->pid);

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

	if (!l)
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
	}
	free(run->later);
	run->later = NULL;
}
