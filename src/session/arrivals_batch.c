/* SPDX-License-Identifier: MIT */
/*
 * Probes that are added while a session runs come and go in batches: those of one provider that one
 * event has brought. A batch has a unit of its own.
 */
#include "session/arrivals_impl.h"

#define LINGER_NS     1000000000 /* BPF programs that began earlier have ended by then */
#define LATE_EPID_MAX 0xf0000000u

/* ---- adding probes -------------------------------------------------------------------------- */

static bool difo_reads_args(const struct difo *d)
{
	for (uint32_t i = 0; i < d->code_len; i++)
		if (DIF_INSN_OP(d->code[i]) == DIF_OP_LDGA &&
		    DIF_INSN_R1(d->code[i]) == DIF_VAR_ARGS)
			return true;
	return false;
}

static bool clause_reads_args(const struct prog_clause *cl)
{
	struct clause_difo at = {0};

	while (clause_each_difo(cl, &at))
		if (difo_reads_args(at.difo))
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
static bool clause_is_meant(const struct run *run, const struct provider_arrivals *from,
			    const struct session_clause *sc, const struct watch_proc *p)
{
	const struct probe_desc *desc = &sc->clause->desc;

	if (!sc->is_open || sc->clause->derived)
		return false;
	if (from->modules)
		return !p && later_clause_wants_modules(run, from, sc);
	return p ? from->processes->is_described(probes_env(run->probes), desc, watch_root(p))
		 : from->files && from->files->wants(probes_env(run->probes), desc);
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
static uint32_t match_clauses(struct run *run, const struct provider_arrivals *from,
			      const struct watch_proc *p, struct late_clause *late)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < run->match->clauses.len; i++) {
		const struct session_clause *sc = &run->match->clauses.data[i];
		struct late_clause *lc = &late[n];
		struct err *e;

		if (!clause_is_meant(run, from, sc, p))
			continue;
		*lc = (struct late_clause){.clause = i};
		e = from->match_new(probes_env(run->probes), &sc->clause->desc, &lc->list);
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

	run->later->is_full = !engines_add_strings(&run->engines);
	if (run->later->is_full)
		return err_hint(
			err_new("the names of functions take more than %u bytes: what comes "
				"from now on is not probed",
				later_strtab_room(run)),
			"name modules and functions");
	e = run_choose_engine(run, u);
	if (!e)
		e = run_load_unit(run, u);
	if (!e)
		e = run_attach_unit(run, u, &run->attachments);
	if (u->loaded && !run->later->wants_children)
		u->engine->engine->settle(u->engine, u->loaded);
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

static struct err *batch_place(struct run *run, const struct provider_arrivals *from,
			       uint32_t batch, const struct late_clause *late, uint32_t n)
{
	struct later *l = run->later;
	struct later_batch b = {.from = from, .number = batch};
	struct err *e = n ? check_numbers(run) : NULL;

	if (n && !e && !l->is_full) {
		l->numbers.group = ++l->ngroups;
		b.unit = match_make_late_unit(run->match, late, n, &l->numbers);
		e = unit_place(run, b.unit);
	}
	vec_push(&l->batches, b);
	return e;
}

static void late_free(struct late_clause *late, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		vec_deinit(&late[i].list.probes);
	free(late);
}

struct err *later_batch_add(struct run *run, const struct provider_arrivals *from, uint32_t batch,
			    const struct watch_proc *p)
{
	struct late_clause *late = xcalloc(run->match->clauses.len, sizeof(*late));
	uint32_t n = match_clauses(run, from, p, late);
	struct err *e = batch_place(run, from, batch, late, n);

	late_free(late, n);
	return e;
}

void later_batch_match(struct run *run, const struct provider_arrivals *from)
{
	struct late_clause *late = xcalloc(run->match->clauses.len, sizeof(*late));

	late_free(late, match_clauses(run, from, NULL, late));
}

void later_drop_probes(struct run *run, const struct watch_proc *p)
{
	for (uint32_t i = 0; i < run->match->units.len; i++) {
		const struct session_unit *u = run->match->units.data[i];
		struct err *e = NULL;

		if (u->traits->is_in_process && u->loaded)
			e = u->engine->engine->drop_process(u->engine, u->loaded,
							    (uint32_t)watch_id(p)->pid);
		if (e)
			watch_failed(run->watch, p, "functions may be counted twice", e);
	}
}

void later_proc_look(struct run *run, const struct watch_proc *p)
{
	const struct proc_id *id = watch_id(p), *root = watch_root(p);
	struct attach_opts opts = run_attach_opts(run);
	struct err *e = NULL;

	for (uint32_t i = 0; provider_arrivals[i] && !e; i++) {
		const struct provider_arrivals *from = provider_arrivals[i];
		uint32_t batch;

		if (!from->processes)
			continue;
		e = from->processes->look_again(probes_env(run->probes), root, id,
						run->later->is_other, &batch);
		if (!e && batch)
			e = later_batch_add(run, from, batch, p);
	}
	if (!e && run->later->wants_children)
		e = engines_add_child(&run->engines, &run->attachments, root->pid, id->pid, &opts);
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

		if (b->retired_at || !b->from->processes ||
		    !b->from->processes->is_unused(probes_env(run->probes), b->number, &since))
			continue;
		++*ret_nunused;
		if (since < least) {
			least = since;
			oldest = b;
		}
	}
	return oldest;
}

struct err *later_batch_retire(struct run *run, struct later_batch *b)
{
	struct session_unit *u = b->unit;
	struct err *e = NULL;

	b->retired_at = now_ns();
	if (u && u->loaded)
		e = u->engine->engine->detach(u->engine, u->loaded, &run->attachments, u->group);
	if (e)
		return e;
	if (u)
		run_unload_unit(run, u);
	if (b->from->processes)
		b->from->processes->retire(probes_env(run->probes), b->number);
	return NULL;
}

void later_batches_survey(struct run *run)
{
	struct later *l = run->later;
	uint32_t n = 0;

	for (uint32_t i = 0; i < l->batches.len; i++)
		n += l->batches.data[i].from->files && !l->batches.data[i].retired_at;
	if (n <= l->survey_at)
		return;
	for (uint32_t i = 0; provider_arrivals[i]; i++)
		if (provider_arrivals[i]->files)
			provider_arrivals[i]->files->survey(probes_env(run->probes));
	for (uint32_t i = 0; i < l->batches.len; i++) {
		const struct later_batch *b = &l->batches.data[i];
		uint64_t since;

		n -= b->from->files && !b->retired_at &&
		     b->from->processes->is_unused(probes_env(run->probes), b->number, &since);
	}
	l->survey_at = 2 * n + UNUSED_MAX;
	l->has_gone = true;
}

void later_batches_retire(struct run *run)
{
	struct later_batch *b;
	struct err *e = NULL;
	uint32_t n;

	if (!run->later->has_gone)
		return;
	run->later->has_gone = false;
	while (!e && (b = batch_oldest(run, &n)) && n > UNUSED_MAX)
		e = later_batch_retire(run, b);
	if (e)
		report_adjusted(run->report, "functions that are not there any more: %s",
				err_text(e));
	err_destroy(e);
}

/* Returns true if records may wait for the end of a speculation or of the run: they name probes. */
static bool keeps_names(const struct run *run)
{
	return run->match->layout->facts.speculates ||
	       run->opts->val[OPT_bufpolicy] == BUFPOLICY_RING ||
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
			match_drop_unit(run->match, b->unit);
		b->from->free(probes_env(run->probes), b->number, keeps_names(run));
	}
	if (l)
		l->batches.len = n;
}
