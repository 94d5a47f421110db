/* Adds and removes probes while a session runs, as two subscribers of the watch. */
#include "session/later.h"

#include "proc/control.h"
#include "provider/come.h"
#include "consume/wait.h"
#include "keeper/keeper.h"
#include "session/early.h"
#include "session/missed.h"
#include "sym/sym.h"
#include "watch/watch.h"

/* Room for the names of added probes: with patterns, and with named functions only. */
#define NAMES_ROOM_MANY (2u << 20)
#define NAMES_ROOM_FEW	(64u << 10)

#define UNUSED_MAX    64	 /* batches without any mapped file that stay probed */
#define LINGER_NS     1000000000 /* BPF programs that began earlier have ended by then */
#define OURS_NS	      20000000	 /* in this time a process of -c that maps a file is looked at */
#define LATE_EPID_MAX 0xf0000000u

/* The probes that were added together, after an event of a process. */
struct later_batch {
	const struct provider_come *come;
	uint32_t number;	   /* the provider's number */
	struct session_unit *unit; /* NULL: no clause matches */
	char mod[64];		   /* the module of the kernel that has brought them; "": none */
	uint64_t retired_at;	   /* ns; 0: it is attached */
};

struct later {
	VEC(const struct proc_id *) ids; /* processes that clauses name; the provider owns them */
	bool wants_libraries, wants_patterns, wants_children;
	bool wants_all;	       /* some clause means all processes */
	int modules_fd;	       /* reports of modules that come and go; 0: no clause means them */
	bool has_arrived;      /* processes have mapped code of unknown files */
	uint64_t waits_since;  /* ns; the process of -c has mapped some; 0: it has not */
	bool has_lost;	       /* the kernel has lost records of what processes map */
	bool says_lost;	       /* the user was told so */
	uint64_t placed_at;    /* ns; when the last batch was attached */
	struct missed *missed; /* if wants_all */
	uint32_t ngroups;      /* groups of attachments; the last one's number */
	uint32_t survey_at;    /* so many batches may be there before unused ones are searched */
	bool has_changed;      /* the process of this event has mapped or unmapped code */
	bool is_other;	       /* the process is another task, its links are dead */
	bool is_full;	       /* the string table has no room for further names */
	bool has_gone;	       /* some file may be in no process any more */
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

static struct later *later_get(struct run *run)
{
	if (!run->later) {
		run->later = xcalloc(1, sizeof(*run->later));
		run->later->survey_at = UNUSED_MAX;
	}
	return run->later;
}

/* A description without any pattern that has its probe means that probe. */
static bool clause_wants_modules(const struct run *run, const struct provider_come *come,
				 const struct session_clause *sc)
{
	const struct probe_desc *desc = &sc->clause->desc;
	bool is_literal = glob_is_literal(desc->func) && glob_is_literal(desc->name) && *desc->name;

	return come->wants_modules && !sc->clause->derived &&
	       (!sc->n || !is_literal || (*desc->mod && !glob_is_literal(desc->mod))) &&
	       come->wants_modules(run->probes, desc);
}

/* Finds out of which processes a clause may get more probes of a provider. */
static void plan_clause(struct run *run, const struct provider_come *come,
			struct session_clause *sc)
{
	const struct probe_desc *desc = &sc->clause->desc;
	const struct proc_id *id;
	struct later *l;

	for (uint32_t i = 0; come->described && (id = come->described(run->probes, desc, i)); i++) {
		l = later_get(run);
		sc->is_open = true;
		l->wants_libraries |= come->waits_for_library(run->probes, desc, id);
		l->wants_patterns |= !*desc->func || !glob_is_literal(desc->func);
		id_add(l, id);
	}
	if (clause_wants_modules(run, come, sc)) {
		l = later_get(run);
		sc->is_open = true;
		l->wants_patterns |= !*desc->func || !glob_is_literal(desc->func);
		if (!l->modules_fd)
			l->modules_fd = modules_listen();
	}
	if (come->wants_all && come->wants_all(run->probes, desc)) {
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
	pid_have_children(run->probes);
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
			struct session_clause *sc = &run->clauses.data[p->clauses[k]->index];

			for (uint32_t n = 0; provider_comes[n]; n++)
				plan_clause(run, provider_comes[n], sc);
			has_functions |=
				pid_come.described(run->probes, &sc->clause->desc, 0) != NULL;
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
	run->later->numbers = (struct late_numbers){.idx = run->nenabled, .epid = nepids + 1};
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
	const struct probe *dropped = NULL;
	uint32_t n = 0;

	if (!l->probes.len || !sc->n || !clause_reads_args(sc->clause))
		return;
	for (uint32_t i = 0; i < l->probes.len; i++)
		if (probes_have_same_args(run->probes, sc->probes[0], l->probes.data[i]))
			l->probes.data[n++] = l->probes.data[i];
		else
			dropped = l->probes.data[i];
	if (dropped)
		report_adjusted(
			run->report,
			"%u functions of '%s' that have come to '%s' are not probed: their args[] are of "
			"other types than those the clause was compiled for",
			l->probes.len - n, dropped->mod,
			probe_desc_text(run->arena, &sc->clause->desc));
	l->probes.len = n;
}

/* Drops the probes of other sources than the one for which the clause was compiled. */
static void drop_sources(const struct prog_clause *cl, struct probe_list *l)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < l->probes.len; i++)
		if (l->probes.data[i]->source == cl->code_source)
			l->probes.data[n++] = l->probes.data[i];
	l->probes.len = n;
}

/* True if the clause may get probes of the batch; p: the process that has the new code, or NULL. */
static bool clause_is_meant(const struct run *run, const struct provider_come *come,
			    const struct session_clause *sc, const struct watch_proc *p)
{
	const struct probe_desc *desc = &sc->clause->desc;

	if (!sc->is_open || sc->clause->derived)
		return false;
	if (come->wants_modules)
		return !p && clause_wants_modules(run, come, sc);
	return p ? come->is_described(run->probes, desc, watch_root(p))
		 : come->wants_all && come->wants_all(run->probes, desc);
}

/* Says that a clause gets no probes of the process, or of all processes if p is NULL. */
static void match_failed(struct run *run, const struct watch_proc *p, const char *what,
			 struct err *e)
{
	if (p) {
		watch_failed(run->watch, p, what, e);
		return;
	}
	report_adjusted(run->report, "%s: %s", what, err_text(e));
	err_destroy(e);
}

/* Matches the open clauses against the new batch. */
static uint32_t match_clauses(struct run *run, const struct provider_come *come,
			      const struct watch_proc *p, struct late_clause *late)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < run->clauses.len; i++) {
		const struct session_clause *sc = &run->clauses.data[i];
		struct late_clause *lc = &late[n];
		struct err *e;

		if (!clause_is_meant(run, come, sc, p))
			continue;
		*lc = (struct late_clause){.clause = i};
		e = come->match_new(run->probes, &sc->clause->desc, &lc->list);
		if (e) {
			match_failed(run, p, probe_desc_text(run->arena, &sc->clause->desc), e);
			lc->list.probes.len = 0;
		}
		drop_sources(sc->clause, &lc->list);
		drop_mistyped(run, sc, &lc->list);
		if (lc->list.probes.len)
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

static struct err *batch_place(struct run *run, const struct provider_come *come, uint32_t batch,
			       const struct late_clause *late, uint32_t n)
{
	struct later *l = run->later;
	struct later_batch b = {.come = come, .number = batch};
	struct err *e = n ? check_numbers(run) : NULL;

	if (n && !e && !l->is_full) {
		l->numbers.group = ++l->ngroups;
		b.unit = run_make_late_unit(run, late, n, &l->numbers);
		e = unit_place(run, b.unit);
	}
	vec_push(&l->batches, b);
	return e;
}

/* Adds the probes of a provider's new batch; p: the process that has its code, or NULL. */
static struct err *batch_add(struct run *run, const struct provider_come *come, uint32_t batch,
			     const struct watch_proc *p)
{
	struct late_clause *late = xcalloc(run->clauses.len, sizeof(*late));
	uint32_t n = match_clauses(run, come, p, late);
	struct err *e = batch_place(run, come, batch, late, n);

	for (uint32_t i = 0; i < n; i++)
		vec_deinit(&late[i].list.probes);
	free(late);
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
	const struct proc_id *id = watch_id(p), *root = watch_root(p);
	struct attach_opts opts = run_attach_opts(run);
	struct err *e = NULL;

	for (uint32_t i = 0; provider_comes[i] && !e; i++) {
		const struct provider_come *come = provider_comes[i];
		uint32_t batch;

		if (!come->look_again)
			continue;
		e = come->look_again(run->probes, root, id, run->later->is_other, &batch);
		if (!e && batch)
			e = batch_add(run, come, batch, p);
	}
	if (!e && run->later->wants_children)
		e = run->engine->engine->add_child(run->engine, &run->attachments, root->pid,
						   id->pid, &opts);
	if (e)
		watch_failed(run->watch, p, "its functions are not probed", e);
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

		if (b->retired_at || !b->come->is_unused ||
		    !b->come->is_unused(run->probes, b->number, &since))
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
	if (b->come->retire)
		b->come->retire(run->probes, b->number);
	return NULL;
}

/*
 * Lets providers find out which files are mapped, when there are many batches, and twice as many as
 * the last time.
 */
static void batches_survey(struct run *run)
{
	struct later *l = run->later;
	uint32_t n = 0;

	for (uint32_t i = 0; i < l->batches.len; i++)
		n += l->batches.data[i].come->survey && !l->batches.data[i].retired_at;
	if (n <= l->survey_at)
		return;
	for (uint32_t i = 0; provider_comes[i]; i++)
		if (provider_comes[i]->survey)
			provider_comes[i]->survey(run->probes);
	for (uint32_t i = 0; i < l->batches.len; i++) {
		const struct later_batch *b = &l->batches.data[i];
		uint64_t since;

		n -= b->come->survey && !b->retired_at &&
		     b->come->is_unused(run->probes, b->number, &since);
	}
	l->survey_at = 2 * n + UNUSED_MAX;
	l->has_gone = true;
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
		b->come->free(run->probes, b->number, keeps_names(run));
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
	for (uint32_t i = 0; provider_comes[i]; i++)
		if (provider_comes[i]->ended)
			provider_comes[i]->ended(run->probes, watch_root(s->proc),
						 watch_id(s->proc));
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

/* ---- all processes --------------------------------------------------------------------------- */

/* A process of -c stops and is looked at for all clauses together: that goes first. */
static void all_mapped(void *ctx, const struct watch_subject *s, const struct sym_map *m)
{
	const struct run *run = ctx;
	struct later *l = run->later;
	bool is_ours = s->pid == (uint64_t)probes_created(run->probes), is_new = false;

	for (uint32_t i = 0; provider_comes[i]; i++)
		is_new |= provider_comes[i]->mapped &&
			  provider_comes[i]->mapped(run->probes, s->pid, m);
	if (!is_ours)
		missed_mapped(l->missed, s->pid, m->dev, m->ino, s->time, is_new);
	if (is_new && !is_ours)
		l->has_arrived = true;
	else if (is_new && !l->waits_since)
		l->waits_since = now_ns();
}

static void all_forked(void *ctx, const struct watch_subject *s, uint64_t parent)
{
	const struct run *run = ctx;

	for (uint32_t i = 0; provider_comes[i]; i++)
		if (provider_comes[i]->born)
			provider_comes[i]->born(run->probes, s->pid, parent);
	missed_forked(run->later->missed, s->pid, parent);
}

static void all_execed(void *ctx, const struct watch_subject *s)
{
	const struct run *run = ctx;

	missed_gone(run->later->missed, s->pid, s->time, false);
}

static void all_ended(void *ctx, const struct watch_subject *s)
{
	const struct run *run = ctx;

	missed_gone(run->later->missed, s->pid, s->time, true);
}

static void all_lost(void *ctx)
{
	const struct run *run = ctx;

	run->later->has_lost = true;
}

static const struct watch_subscriber all_subscriber = {
	.name = "probes of all processes",
	.scope = WATCH_ALL,
	.mapped = all_mapped,
	.execed = all_execed,
	.forked = all_forked,
	.ended = all_ended,
	.lost = all_lost,
};

void later_subscribe_all(struct run *run, struct watch *w)
{
	watch_subscribe(w, &all_subscriber, run);
}

void later_watch_all(struct run *run)
{
	if (run->later && run->later->wants_all)
		later_subscribe_all(run, run_watch(run));
}

static void all_look(struct run *run, bool is_scan)
{
	struct err *e = NULL;

	for (uint32_t i = 0; provider_comes[i] && !e; i++) {
		const struct provider_come *come = provider_comes[i];
		uint32_t batch = come->look_all ? come->look_all(run->probes, is_scan) : 0;

		if (batch)
			e = batch_add(run, come, batch, NULL);
	}
	if (e)
		report_adjusted(run->report, "programs that have begun are not probed: %s",
				err_text(e));
	err_destroy(e);
	batches_survey(run);
	batches_retire(run);
}

static enum missed_file file_ask(void *ctx, uint64_t dev, uint64_t ino, const char **ret_name)
{
	const struct run *run = ctx;
	enum missed_file kind = MISSED_UNREAD;

	for (uint32_t i = 0; provider_comes[i] && kind != MISSED_PROBED; i++)
		if (provider_comes[i]->file_state &&
		    provider_comes[i]->file_state(run->probes, dev, ino, ret_name))
			kind = *ret_name ? MISSED_PROBED : MISSED_OTHER;
	return kind;
}

/* Says which processes were missed, when their ends are known. */
static void missed_report(struct run *run, bool is_end)
{
	struct later *l = run->later;
	uint64_t now = now_ns();

	if (l->has_lost && !l->says_lost) {
		l->says_lost = true;
		report_adjusted(run->report,
				"the kernel has lost records of what processes map: of files that "
				"were new, processes that ended at once are not traced");
	}
	if (!is_end && !missed_is_open(l->missed))
		return;
	watch_drain(run->watch);
	missed_settle(l->missed, now, is_end, run->report);
}

/* ---- modules of the kernel ------------------------------------------------------------------- */

static void module_came(struct run *run, const char *mod)
{
	struct err *e = NULL;

	for (uint32_t i = 0; provider_comes[i] && !e; i++) {
		const struct provider_come *come = provider_comes[i];
		uint32_t batch;

		for (uint32_t k = 0;
		     come->module_came && !e && (batch = come->module_came(run->probes, mod, k));
		     k++) {
			e = batch_add(run, come, batch, NULL);
			(void)snprintf(vec_last(&run->later->batches)->mod,
				       sizeof(run->later->batches.data[0].mod), "%s", mod);
		}
	}
	if (e)
		report_adjusted(run->report, "the module '%s' has come and is not probed: %s", mod,
				err_text(e));
	else
		report_debug(run->report, "the module '%s' has come", mod);
	err_destroy(e);
}

/* Only probes that do not keep their module can go with it. */
static void module_gone(struct run *run, const char *mod)
{
	struct later *l = run->later;
	struct err *e = NULL;

	for (uint32_t i = 0; i < l->batches.len && !e; i++)
		if (!l->batches.data[i].retired_at && strcmp(l->batches.data[i].mod, mod) == 0)
			e = batch_retire(run, &l->batches.data[i]);
	if (e)
		report_adjusted(run->report, "the module '%s' has gone: %s", mod, err_text(e));
	err_destroy(e);
	report_debug(run->report, "the module '%s' has gone", mod);
}

static void modules_look(struct run *run)
{
	struct module_event ev;

	while (modules_next(run->later->modules_fd, &ev))
		switch (ev.kind) {
		case MODULE_COME: module_came(run, ev.name); break;
		case MODULE_GONE: module_gone(run, ev.name); break;
		case MODULE_LOST:
			report_adjusted(run->report,
					"the kernel has lost reports of modules: some that have "
					"come may not be probed");
			break;
		}
}

void later_work(struct run *run)
{
	struct later *l = run->later;
	uint64_t placed_at = now_ns();
	bool is_scan;

	if (l && l->modules_fd > 0 && !run->is_stopped && run_state(run) == RT_STATE_ON)
		modules_look(run);
	if (!l || !l->wants_all || run->is_stopped)
		return;
	missed_report(run, false);
	if (l->waits_since && now_ns() - l->waits_since > OURS_NS)
		l->has_arrived = true;
	if (!(l->has_arrived || l->has_lost) || run_state(run) != RT_STATE_ON)
		return;
	is_scan = l->has_lost;
	l->has_arrived = l->has_lost = false;
	l->waits_since = 0;
	all_look(run, is_scan);
	if (run->attachments.keeper)
		placed_at = MAX(placed_at, keeper_placed_at(run->attachments.keeper));
	missed_look(l->missed, placed_at, file_ask, run);
}

void later_stop(struct run *run)
{
	if (run->later && run->later->wants_all)
		missed_report(run, true);
}

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

/* What processes have mapped after the clauses were matched, and before the watch began. */
static void all_start(struct run *run)
{
	bool is_whole;

	run->later->has_lost = false;
	is_whole = early_report(run);
	watch_drain(run->watch);
	is_whole &= !run->later->has_lost;
	run->later->has_arrived = run->later->has_lost = false;
	run->later->waits_since = 0;
	all_look(run, !is_whole);
	missed_clear(run->later->missed);
}

void later_start(struct run *run)
{
	const struct later *l = run->later;
	struct watch *w;
	struct err *e;
	int fd;

	if (l && l->wants_all)
		all_start(run);
	if (l && l->modules_fd) {
		e = l->modules_fd < 0 ? err_new("the kernel does not report them")
				      : waiter_listen(run->waiter, l->modules_fd);
		if (e)
			report_adjusted(run->report,
					"modules that come from now on are not probed: %s",
					err_text(e));
		err_destroy(e);
	}
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
