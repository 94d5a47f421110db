/* SPDX-License-Identifier: MIT */
/*
 * Probes that are added while a session runs come and go in batches: those of one provider that one
 * event has brought. A batch has a unit of its own.
 */
#include "session/arrivals/impl.h"
#include "base/text.h"
#include "privilege/privilege.h"

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
static void drop_mistyped(struct arrivals *a, const struct session_clause *sc, struct probe_list *l)
{
	const struct probe *dropped = NULL;
	uint32_t n = 0, ndropped;

	if (!l->probes.len || !sc->n || !clause_reads_args(sc->clause))
		return;
	for (uint32_t i = 0; i < l->probes.len; i++)
		if (probes_have_same_args(a->probes, sc->probes[0], l->probes.data[i]))
			l->probes.data[n++] = l->probes.data[i];
		else
			dropped = l->probes.data[i];
	ndropped = l->probes.len - n;
	if (dropped)
		report_adjusted(
			a->report,
			"%u function%s of '%s' that %s come to '%s' %s not probed: args[] would be of "
			"other types than those the clause was compiled for",
			ndropped, PLURAL(ndropped), dropped->mod, WORD_FOR(ndropped, "has", "have"),
			probe_desc_text(a->live->arena, &sc->clause->desc),
			WORD_FOR(ndropped, "is", "are"));
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

/* Drops the probes for which the session lacks a level of privilege: it does not see them. */
static void drop_lacking(const struct arrivals *a, struct probe_list *l)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < l->probes.len; i++)
		if (!probe_lacks(a->env, l->probes.data[i]))
			l->probes.data[n++] = l->probes.data[i];
	l->probes.len = n;
}

/* True if the clause may get probes of the batch; p: the process that has the new code, or NULL. */
static bool clause_is_meant(const struct arrivals *a, const struct provider_arrivals *from,
			    const struct session_clause *sc, const struct watch_proc *p)
{
	const struct probe_desc *desc = &sc->clause->desc;

	if (!sc->is_open || sc->clause->derived)
		return false;
	if (p && !privileges_own_process(a->env->privileges, watch_id(p)->pid))
		return false;
	if (from->modules)
		return !p && arrivals_clause_wants_modules(a, from, sc);
	return p ? from->processes->is_described(a->env, desc, watch_root(p))
		 : from->files && from->files->wants(a->env, desc);
}

/* Says that a clause gets no probes of the process, or of all processes if p is NULL. */
static void match_failed(struct arrivals *a, const struct watch_proc *p, const char *what,
			 struct err *e)
{
	if (p) {
		watch_failed(a->live->watch, p, what, e);
		return;
	}
	report_adjusted(a->report, "%s: %s", what, err_text(e));
	err_destroy(e);
}

/* Matches the open clauses against the new batch. */
static uint32_t match_clauses(struct arrivals *a, const struct provider_arrivals *from,
			      const struct watch_proc *p, struct late_clause *late)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < a->match->clauses.len; i++) {
		const struct session_clause *sc = &a->match->clauses.data[i];
		struct late_clause *lc = &late[n];
		struct err *e;

		if (!clause_is_meant(a, from, sc, p))
			continue;
		*lc = (struct late_clause){.clause = i};
		e = from->match_new(a->env, &sc->clause->desc, &lc->list);
		if (e) {
			match_failed(a, p, probe_desc_text(a->live->arena, &sc->clause->desc), e);
			lc->list.probes.len = 0;
		}
		drop_sources(sc->clause, &lc->list);
		drop_mistyped(a, sc, &lc->list);
		drop_lacking(a, &lc->list);
		if (lc->list.probes.len)
			n++;
		else
			vec_deinit(&lc->list.probes);
	}
	return n;
}

static void unit_settle(const struct session_unit *u)
{
	if (u && u->loaded)
		u->engine->engine->settle(u->engine, u->loaded);
}

static struct err *unit_place(struct arrivals *a, struct session_unit *u,
			      struct session_unit **ret_part)
{
	struct err *e;

	a->is_full = !engines_add_strings(&a->live->engines);
	if (a->is_full)
		return err_hint(
			err_new("the names of functions take more than %u bytes: what comes "
				"from now on is not probed",
				arrivals_strtab_room(a)),
			"name modules and functions");
	e = live_place_late(a->live, u, ret_part);
	if (!a->wants_children) {
		unit_settle(*ret_part);
		unit_settle(u);
	}
	return e;
}

/* Returns an error when the EPIDs are used up: they are not given out again. */
static struct err *check_numbers(const struct arrivals *a)
{
	const struct late_numbers *n = &a->numbers;

	if (n->epid < LATE_EPID_MAX && n->idx < LATE_EPID_MAX)
		return NULL;
	return err_new("more than %u probes have come since tracing began", LATE_EPID_MAX);
}

static struct err *batch_place(struct arrivals *a, const struct provider_arrivals *from,
			       uint32_t batch, const struct late_clause *late, uint32_t n)
{
	struct arrival_batch b = {.from = from, .number = batch};
	struct err *e = n ? check_numbers(a) : NULL;

	if (n && !e && !a->is_full) {
		a->numbers.group = ++a->ngroups;
		b.unit = match_make_late_unit(a->match, late, n, &a->numbers);
		e = unit_place(a, b.unit, &b.part);
	}
	vec_push(&a->batches, b);
	return e;
}

static void late_free(struct late_clause *late, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		vec_deinit(&late[i].list.probes);
	free(late);
}

struct err *arrivals_batch_add(struct arrivals *a, const struct provider_arrivals *from,
			       uint32_t batch, const struct watch_proc *p)
{
	struct late_clause *late = xcalloc(a->match->clauses.len, sizeof(*late));
	uint32_t n = match_clauses(a, from, p, late);
	struct err *e = batch_place(a, from, batch, late, n);

	late_free(late, n);
	return e;
}

void arrivals_batch_match(struct arrivals *a, const struct provider_arrivals *from)
{
	struct late_clause *late = xcalloc(a->match->clauses.len, sizeof(*late));

	late_free(late, match_clauses(a, from, NULL, late));
}

void arrivals_drop_probes(struct arrivals *a, const struct watch_proc *p)
{
	for (uint32_t i = 0; i < a->match->units.len; i++) {
		const struct session_unit *u = a->match->units.data[i];
		struct err *e = NULL;

		if (u->traits->is_in_process && u->loaded)
			e = u->engine->engine->drop_process(u->engine, u->loaded,
							    (uint32_t)watch_id(p)->pid);
		if (e)
			watch_failed(a->live->watch, p, "functions may be counted twice", e);
	}
}

void arrivals_child_place(struct arrivals *a, const struct watch_proc *p)
{
	const struct proc_id *id = watch_id(p), *root = watch_root(p);
	struct attach_opts opts = live_attach_opts(a->live);
	struct err *e;

	opts.child_start = id->start;
	if (!privileges_own_process(a->env->privileges, id->pid)) {
		/* it has other ids than the process that the session has named */
		arrivals_waiting_drop(a, p);
		return;
	}
	if (!arrivals_try_turn(a, p, false))
		return;
	e = live_prepare_child(a->live, root->pid, id->pid, &opts);
	if (e)
		watch_failed(a->live->watch, p, "some of its functions are not probed", e);
	e = a->live->is_interrupted ? NULL
				    : engines_add_child(&a->live->engines, a->live->attachments,
							root->pid, id->pid, &opts);
	if (e)
		watch_failed(a->live->watch, p, "its functions are not probed", e);
	arrivals_end_turn(a, p, false);
}

void arrivals_proc_look(struct arrivals *a, const struct watch_proc *p)
{
	const struct proc_id *id = watch_id(p), *root = watch_root(p);
	struct err *e = NULL;

	for (uint32_t i = 0; provider_arrivals[i] && !e; i++) {
		const struct provider_arrivals *from = provider_arrivals[i];
		uint32_t batch;

		if (!from->processes)
			continue;
		e = from->processes->look_again(a->env, root, id, a->is_other, &batch);
		if (!e && batch)
			e = arrivals_batch_add(a, from, batch, p);
	}
	if (e) {
		watch_failed(a->live->watch, p, "its functions are not probed", e);
		return;
	}
	if (!a->wants_children)
		return;
	arrivals_child_place(a, p);
}

void arrivals_follow_maps(struct arrivals *a, const struct watch_proc *p)
{
	struct attach_opts opts = live_attach_opts(a->live);
	struct err *e = engines_follow_maps(&a->live->engines, watch_id(p)->pid, &opts);

	if (e)
		watch_failed(a->live->watch, p, "some of its functions are not probed", e);
}

void arrivals_follow_exec(struct arrivals *a, const struct watch_proc *p, bool is_other)
{
	pid_t pid = watch_id(p)->pid;
	struct err *e;

	if (!live_has_execed(a->live, pid) || (!is_other && !arrivals_try_turn(a, p, true)))
		return;
	e = live_follow_exec(a->live, pid, !is_other);
	arrivals_end_turn(a, p, true);
	if (e)
		watch_failed(a->live->watch, p, "its functions are not probed", e);
}

/* ---- removing probes ------------------------------------------------------------------------ */

/*
 * Finds the batch to remove next. Files that no process maps any more stay probed for a while,
 * because files are often mapped again; of too many, the batch that is unused longest goes.
 */
static struct arrival_batch *batch_oldest(struct arrivals *a, uint32_t *ret_nunused)
{
	struct arrival_batch *oldest = NULL;
	uint64_t since, least = UINT64_MAX;

	*ret_nunused = 0;
	for (uint32_t i = 0; i < a->batches.len; i++) {
		struct arrival_batch *b = &a->batches.data[i];

		if (b->retired_at || !b->from->processes ||
		    !b->from->processes->is_unused(a->env, b->number, &since))
			continue;
		++*ret_nunused;
		if (since < least) {
			least = since;
			oldest = b;
		}
	}
	return oldest;
}

static struct err *unit_detach(const struct arrivals *a, struct session_unit *u)
{
	if (!u || !u->loaded)
		return NULL;
	live_give_probes(u);
	return u->engine->engine->detach(u->engine, u->loaded, a->live->attachments, u->group);
}

struct err *arrivals_batch_retire(struct arrivals *a, struct arrival_batch *b)
{
	struct err *e = unit_detach(a, b->part);

	b->retired_at = now_ns();
	if (!e)
		e = unit_detach(a, b->unit);
	if (e)
		return e;
	if (b->part)
		live_unload_unit(a->live, b->part);
	if (b->unit) {
		live_unload_unit(a->live, b->unit);
		live_drop_late(a->live, b->unit);
	}
	if (b->from->processes)
		b->from->processes->retire(a->env, b->number);
	return NULL;
}

void arrivals_batches_survey(struct arrivals *a)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < a->batches.len; i++)
		n += a->batches.data[i].from->files && !a->batches.data[i].retired_at;
	if (n <= a->survey_at)
		return;
	for (uint32_t i = 0; provider_arrivals[i]; i++)
		if (provider_arrivals[i]->files)
			provider_arrivals[i]->files->survey(a->env);
	for (uint32_t i = 0; i < a->batches.len; i++) {
		const struct arrival_batch *b = &a->batches.data[i];
		uint64_t since;

		n -= b->from->files && !b->retired_at &&
		     b->from->processes->is_unused(a->env, b->number, &since);
	}
	a->survey_at = 2 * n + UNUSED_MAX;
	a->has_gone = true;
}

void arrivals_batches_retire(struct arrivals *a)
{
	struct arrival_batch *b;
	struct err *e = NULL;
	uint32_t n;

	if (!a->has_gone)
		return;
	a->has_gone = false;
	while (!e && (b = batch_oldest(a, &n)) && n > UNUSED_MAX)
		e = arrivals_batch_retire(a, b);
	if (e)
		report_adjusted(a->report, "functions that are not there any more: %s",
				err_text(e));
	err_destroy(e);
}

/* Returns true if records may wait for the end of a speculation or of the run: they name probes. */
static bool keeps_names(const struct arrivals *a)
{
	return a->match->layout->facts.speculates ||
	       a->live->opts->val[OPT_bufpolicy] == BUFPOLICY_RING ||
	       a->live->opts->val[OPT_bufpolicy] == BUFPOLICY_FILL;
}

void arrivals_tend(struct arrivals *a, uint64_t consumed_at)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < a->batches.len; i++) {
		const struct arrival_batch *b = &a->batches.data[i];

		if (!b->retired_at || b->retired_at + LINGER_NS > consumed_at) {
			a->batches.data[n++] = *b;
			continue;
		}
		if (b->part)
			match_drop_unit(a->match, b->part);
		if (b->unit)
			match_drop_unit(a->match, b->unit);
		b->from->free(a->env, b->number, keeps_names(a));
	}
	a->batches.len = n;
}
