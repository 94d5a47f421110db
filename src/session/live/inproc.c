/* SPDX-License-Identifier: MIT */
/*
 * Which sites of pid probes go to the engine in the process (option inproc).
 *
 * A site goes there if a jump can be written at it, and if all clauses of its probe have code
 * there. Clauses that share variables stay in one engine (match/together.h): as soon as one site of
 * one of them has to be a uprobe, all of their sites are. Each such decision may bring others with
 * it, so they are repeated until nothing changes.
 */
#include <inttypes.h>

#include "inproc/inproc.h"
#include "session/live/live.h"
#include "session/match/together.h"
#include "target/control.h"

static const char shared_why[] = "share variables with uprobes";

/* A unit of pid probes whose sites are divided. */
struct candidate {
	struct session_unit *unit;
	uint32_t nsites;
	const char **lacks; /* by site: why it is a uprobe; NULL: it is in the process */
	uint8_t *takes;
	const char **refusals; /* by clause of the unit; NULL: it has code there */
};

struct division {
	struct live *live;
	VEC(struct candidate) candidates;
	uint32_t nclauses; /* of the session */
	uint32_t *roots;   /* by clause: the first of those with which it shares variables */
	bool *shares;	   /* by clause: it uses variables that bind it */
	bool *is_bound;	   /* by root: its clauses must run in the kernel */
	bool has_changed;
};

/* ---- clauses that share variables ----------------------------------------------------------- */

/* Finds the groups of clauses; the ERROR clauses run inside every unit. */
static void division_group(struct division *d)
{
	const struct match *m = d->live->match;
	CLEANUP(free) struct unit_clause *ones = xcalloc(MAX(d->nclauses, 1u), sizeof(*ones));
	CLEANUP(free) struct unit *units = xcalloc(MAX(d->nclauses, 1u), sizeof(*units));
	CLEANUP(free) const struct unit **list = xcalloc(MAX(d->nclauses, 1u), sizeof(void *));

	for (uint32_t i = 0; i < d->nclauses; i++) {
		ones[i].layout = &m->layout->clauses[i];
		units[i].clauses = &ones[i];
		units[i].nclauses = 1;
		list[i] = &units[i];
		d->shares[i] = clause_shares(m->clauses.data[i].clause, m->layout);
	}
	units_find_groups(list, d->nclauses, m->layout, d->roots);
}

static uint32_t clause_index(const struct unit *u, uint32_t i)
{
	return u->clauses[i].layout->clause->index;
}

/* The clause runs in the kernel at some site: all with which it shares variables must. */
static void clause_bind(struct division *d, uint32_t clause)
{
	bool *bound = &d->is_bound[d->roots[clause]];

	if (d->shares[clause] && !*bound)
		*bound = d->has_changed = true;
}

static void unit_bind(struct division *d, const struct unit *u)
{
	for (uint32_t i = 0; i < u->nclauses; i++)
		clause_bind(d, clause_index(u, i));
	for (uint32_t i = 0; i < u->nerror_clauses; i++)
		clause_bind(d, u->error_clauses[i].layout->clause->index);
}

/* ---- candidates ----------------------------------------------------------------------------- */

static uint32_t sites_count(const struct unit *u)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < u->nprobes; i++)
		n += u->probes[i].code->sites.len;
	return n;
}

/* Whether later mappings may be of the clause: modules of a pattern, or one that is not there. */
static bool may_get_more(const struct division *d, uint32_t clause)
{
	const struct session_clause *sc = &d->live->match->clauses.data[clause];

	return sc->is_open &&
	       (!sc->n || !*sc->clause->desc.mod || !glob_is_literal(sc->clause->desc.mod));
}

static struct err *candidate_add(struct division *d, struct session_unit *u)
{
	struct inproc *p = d->live->inproc;
	struct candidate *c;

	vec_push(&d->candidates, (struct candidate){.unit = u});
	c = vec_last(&d->candidates);
	c->nsites = sites_count(&u->unit);
	c->lacks = xcalloc(MAX(c->nsites, 1u), sizeof(*c->lacks));
	c->takes = xcalloc(MAX(c->nsites, 1u), 1);
	c->refusals = xcalloc(MAX(u->unit.nclauses, 1u), sizeof(*c->refusals));
	for (uint32_t i = 0; i < u->unit.nclauses; i++) {
		const char *why = NULL;

		if (d->live->opts->val[OPT_follow] == FOLLOW_OPT_FORK)
			c->refusals[i] = "of scripts that follow children";
		/* of what a pattern finds later, some places may have to be uprobes */
		else if (d->shares[clause_index(&u->unit, i)] &&
			 may_get_more(d, clause_index(&u->unit, i)))
			c->refusals[i] = "share variables with probes that may come";
		else if (!inproc_takes_clause(p, &u->unit, i, d->live->match->layout, &why))
			c->refusals[i] = why;
	}
	return d->live->opts->val[OPT_follow] == FOLLOW_OPT_FORK
		       ? NULL
		       : inproc_survey(p, &u->unit, c->lacks);
}

/* Why clause i of the unit cannot run in the process; NULL: it can. */
static const char *clause_refusal(const struct division *d, const struct candidate *c, uint32_t i)
{
	uint32_t clause = clause_index(&c->unit->unit, i);

	if (c->refusals[i])
		return c->refusals[i];
	return d->shares[clause] && d->is_bound[d->roots[clause]] ? shared_why : NULL;
}

static const char *point_refusal(const struct division *d, const struct candidate *c,
				 const struct unit_probe *p)
{
	for (uint32_t i = 0; i < c->unit->unit.nclauses; i++) {
		const char *why = p->mask[i / 64] >> (i % 64) & 1 ? clause_refusal(d, c, i) : NULL;

		if (why)
			return why;
	}
	return NULL;
}

/* Decides about the sites of a unit, and binds the clauses of those that are uprobes. */
static void candidate_decide(struct division *d, struct candidate *c)
{
	const struct unit *u = &c->unit->unit;
	uint32_t site = 0;

	for (uint32_t i = 0; i < u->nprobes; i++) {
		const char *why = point_refusal(d, c, &u->probes[i]);
		bool is_whole = true;

		for (uint32_t k = 0; k < u->probes[i].code->sites.len; k++, site++) {
			if (!c->lacks[site])
				c->lacks[site] = why;
			c->takes[site] = !c->lacks[site];
			is_whole &= c->takes[site];
		}
		for (uint32_t k = 0; !is_whole && k < u->nclauses; k++)
			if (u->probes[i].mask[k / 64] >> (k % 64) & 1)
				clause_bind(d, clause_index(u, k));
	}
}

static uint32_t division_count(const struct division *d)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < d->candidates.len; i++)
		for (uint32_t k = 0; k < d->candidates.data[i].nsites; k++)
			n += d->candidates.data[i].takes[k];
	return n;
}

static void division_refuse(struct division *d, const char *why)
{
	for (uint32_t i = 0; i < d->candidates.len; i++) {
		struct candidate *c = &d->candidates.data[i];

		for (uint32_t k = 0; k < c->nsites; k++) {
			c->takes[k] = 0;
			c->lacks[k] = c->lacks[k] ? c->lacks[k] : why;
		}
	}
}

static void division_begin(struct division *d, struct live *live)
{
	uint32_t n = live->match->clauses.len;

	*d = (struct division){.live = live, .nclauses = n};
	d->roots = xcalloc(MAX(n, 1u), sizeof(*d->roots));
	d->shares = xcalloc(MAX(n, 1u), sizeof(*d->shares));
	d->is_bound = xcalloc(MAX(n, 1u), sizeof(*d->is_bound));
	division_group(d);
}

static void division_end(struct division *d)
{
	for (uint32_t i = 0; i < d->candidates.len; i++) {
		free(d->candidates.data[i].lacks);
		free(d->candidates.data[i].takes);
		free(d->candidates.data[i].refusals);
	}
	vec_deinit(&d->candidates);
	free(d->roots);
	free(d->shares);
	free(d->is_bound);
}

static bool is_candidate(const struct session_unit *u)
{
	return u->traits->is_in_process && !u->engine && !u->unit.is_inproc;
}

/* ---- telling -------------------------------------------------------------------------------- */

/* How many places are uprobes for one reason. */
struct reason {
	const char *why;
	uint32_t n;
};
typedef VEC(struct reason) reason_vec;

static void reason_count(reason_vec *v, const char *why)
{
	for (uint32_t i = 0; i < v->len; i++)
		if (strcmp(v->data[i].why, why) == 0) {
			v->data[i].n++;
			return;
		}
	vec_push(v, (struct reason){why, 1});
}

static int by_count(const void *a, const void *b)
{
	const struct reason *x = a, *y = b;

	return (x->n < y->n) - (x->n > y->n);
}

static void site_tell(const struct division *d, const struct unit_probe *p,
		      const struct place_site *s, const char *why)
{
	const struct probe *pr = d->live->match->enabled[p->id.probe_idx];

	report_adjusted(d->live->report, "%s:%s:%s:%s at offset %" PRIx64 " of '%s': uprobe: %s",
			pr->prov, pr->mod, pr->func, pr->name, s->off, s->file->name, why);
}

static void division_tell_sites(const struct division *d)
{
	for (uint32_t i = 0; i < d->candidates.len; i++) {
		const struct candidate *c = &d->candidates.data[i];
		uint32_t site = 0;

		for (uint32_t k = 0; k < c->unit->points.len; k++) {
			const struct unit_probe *p = &c->unit->points.data[k];

			for (uint32_t j = 0; j < p->code->sites.len; j++, site++)
				if (c->lacks[site])
					site_tell(d, p, &p->code->sites.data[j], c->lacks[site]);
		}
	}
}

/* Says how many places are probed in which way, and why. */
static void division_tell(const struct division *d, pid_t pid)
{
	reason_vec reasons = {0};
	struct strbuf text = {0};
	uint32_t n = division_count(d), nuprobes = 0;

	for (uint32_t i = 0; i < d->candidates.len; i++)
		for (uint32_t k = 0; k < d->candidates.data[i].nsites; k++)
			if (d->candidates.data[i].lacks[k])
				reason_count(&reasons, d->candidates.data[i].lacks[k]);
	if (reasons.len)
		qsort(reasons.data, reasons.len, sizeof(*reasons.data), by_count);
	for (uint32_t i = 0; i < reasons.len; i++) {
		strbuf_addf(&text, "%s%" PRIu32 " %s", i ? ", " : " (", reasons.data[i].n,
			    reasons.data[i].why);
		nuprobes += reasons.data[i].n;
	}
	if (reasons.len)
		strbuf_addf(&text, ")");
	report_adjusted(d->live->report,
			"%" PRIu32 " places probed in process %d itself, %" PRIu32 " by uprobes%s",
			n, (int)pid, nuprobes, strbuf_text(&text));
	strbuf_deinit(&text);
	vec_deinit(&reasons);
}

/* ---- dividing ------------------------------------------------------------------------------- */

/* The process of -p or -c whose probes may go there; NULL: there is none. */
static const struct proc *process_of(const struct live *live)
{
	enum inproc_mode mode = (enum inproc_mode)live->opts->val[OPT_inproc];

	return mode == INPROC_OFF || live->remains.of || !live->targets->procs.len
		       ? NULL
		       : live->targets->procs.data[0];
}

/* Finds the clauses that have a site in the process. */
static void division_clauses(const struct division *d, bool *ret)
{
	for (uint32_t i = 0; i < d->candidates.len; i++) {
		const struct candidate *c = &d->candidates.data[i];
		const struct unit *u = &c->unit->unit;
		const uint8_t *takes = c->takes;

		for (uint32_t k = 0; k < u->nprobes; k++) {
			uint32_t n = u->probes[k].code->sites.len;

			for (uint32_t j = 0; j < u->nclauses && memchr(takes, 1, n); j++)
				if (u->probes[k].mask[j / 64] >> (j % 64) & 1)
					ret[clause_index(u, j)] = true;
			takes += n;
		}
	}
}

/* Enters the process; where it is refused, all sites are uprobes unless the user has said all. */
static struct err *division_enter(struct division *d)
{
	struct live *live = d->live;
	uint32_t n = division_count(d);
	CLEANUP(free) bool *clauses = xcalloc(MAX(d->nclauses, 1u), sizeof(*clauses));
	struct keeper *keeper;
	struct err *e;

	if (!n)
		return NULL;
	division_clauses(d, clauses);
	e = proc_park(live->targets->procs.data[0]);
	if (!e)
		e = attachments_keeper(live->attachments, &keeper);
	if (!e)
		e = inproc_enter(live->inproc, live->match->layout, n, clauses, keeper);
	if (!e)
		return NULL;
	if (live->opts->val[OPT_inproc] == INPROC_ALL)
		return err_wrap(e, "option inproc");
	division_refuse(d, arena_strdup(live->arena, err_text(e)));
	err_destroy(e);
	return NULL;
}

/* Sites whose windows have a uprobe of another unit, or of their own, are uprobes, too. */
static void division_keep_apart(struct division *d)
{
	const struct match *m = d->live->match;
	uint32_t n = 0;
	CLEANUP(free)
	struct inproc_choice *list = xcalloc(MAX(m->units.len, 1u), sizeof(*list));

	for (uint32_t i = 0; i < d->candidates.len; i++)
		list[n++] = (struct inproc_choice){&d->candidates.data[i].unit->unit,
						   d->candidates.data[i].lacks};
	for (uint32_t i = 0; i < m->units.len; i++)
		if (m->units.data[i]->traits->is_in_process && !is_candidate(m->units.data[i]))
			list[n++] = (struct inproc_choice){&m->units.data[i]->unit, NULL};
	d->has_changed |= inproc_keep_apart(d->live->inproc, list, n);
}

static void division_settle(struct division *d)
{
	do {
		d->has_changed = false;
		for (uint32_t i = 0; i < d->candidates.len; i++)
			candidate_decide(d, &d->candidates.data[i]);
		division_keep_apart(d);
	} while (d->has_changed);
}

static struct err *division_decide(struct division *d)
{
	struct match *m = d->live->match;
	struct err *e = NULL;

	for (uint32_t i = 0; i < d->nclauses; i++)
		if (may_get_more(d, i))
			clause_bind(d, i);
	for (uint32_t i = 0; i < m->units.len && !e; i++)
		if (is_candidate(m->units.data[i]))
			e = candidate_add(d, m->units.data[i]);
		else if (!m->units.data[i]->unit.is_inproc)
			unit_bind(d, &m->units.data[i]->unit);
	if (!e)
		division_settle(d);
	return e;
}

/* Clauses that read what was not found in the process are uprobes. */
static void division_check_target(struct division *d)
{
	bool is_lacking = false;

	for (uint32_t i = 0; i < d->candidates.len; i++) {
		struct candidate *c = &d->candidates.data[i];

		for (uint32_t k = 0; k < c->unit->unit.nclauses; k++) {
			if (c->refusals[k])
				continue;
			c->refusals[k] = inproc_clause_lack(d->live->inproc, &c->unit->unit, k,
							    live_cpu(d->live));
			is_lacking |= c->refusals[k] != NULL;
		}
	}
	if (is_lacking)
		division_settle(d);
}

/* ---- leaving -------------------------------------------------------------------------------- */

/* Loads a unit into the engine that takes it now; the others follow in their turn. */
static struct err *unit_move(struct live *live, struct session_unit *u, bool attaches)
{
	struct err *e = live_choose_engine(live, u);

	if (!e)
		e = live_load_unit(live, u);
	return e || !attaches ? e : live_attach_unit(live, u);
}

struct err *live_leave_process(struct live *live, uint32_t i, bool attaches, struct err *e)
{
	const struct match *m = live->match;
	CLEANUP(free) bool *moves = xcalloc(MAX(m->units.len, 1u), sizeof(*moves));

	if (live->opts->val[OPT_inproc] == INPROC_ALL)
		return err_wrap(e, "option inproc");
	for (uint32_t k = 0; k < m->units.len; k++)
		if (m->units.data[k]->unit.is_inproc)
			live_unload_unit(live, m->units.data[k]);
	if (!inproc_is_out(live->inproc)) /* a uprobe in a jump would be the death of the process */
		return e;
	report_adjusted(live->report, "%s; the probes in the process are uprobes", err_text(e));
	err_destroy(e);
	e = NULL;
	for (uint32_t k = 0; k < m->units.len; k++) {
		struct session_unit *u = m->units.data[k];

		moves[k] = u->unit.is_inproc;
		if (moves[k])
			u->engine = NULL;
		u->unit.is_inproc = false;
	}
	for (uint32_t k = 0; k < m->units.len && !e; k++)
		if (moves[k] && (k <= i || attaches))
			e = unit_move(live, m->units.data[k], attaches && k <= i);
		else if (moves[k])
			e = live_choose_engine(live, m->units.data[k]);
	return e;
}

static void inproc_debug_line(void *ctx, const char *msg)
{
	report_debug(ctx, "%s", msg);
}

/* Takes back what dtraces have left in processes of -p that were killed with their keepers. */
static void leftovers_remove(const struct live *live)
{
	bool has_code = false;

	for (uint32_t i = 0; i < live->match->units.len; i++)
		has_code |= is_candidate(live->match->units.data[i]);
	for (uint32_t i = 0; i < live->targets->procs.len && has_code; i++) {
		const struct proc *p = live->targets->procs.data[i];
		uint32_t n = 0;
		struct err *e = NULL;

		if (!proc_is_created(p))
			e = inproc_remove_leftovers(proc_pid(p), live->names->file_opts.gate, &n);
		if (n)
			report_adjusted(live->report,
					"a dtrace that was killed has left %" PRIu32
					" jumps in process %d; they have been taken back",
					n, (int)proc_pid(p));
		if (e)
			report_adjusted(live->report,
					"what dtraces may have left in process %d cannot be taken "
					"back: %s",
					(int)proc_pid(p), err_text(e));
		err_destroy(e);
	}
}

struct err *live_divide_units(struct live *live)
{
	const struct proc *proc = process_of(live);
	struct division d;
	struct err *e;

	if (!live->remains.of)
		leftovers_remove(live);
	if (!proc)
		return NULL;
	live->inproc = inproc_create(&(struct inproc_opts){
		.mode = (enum inproc_mode)live->opts->val[OPT_inproc],
		.pid = proc_pid(proc),
		.is_early = proc_is_created(proc),
		.gate = live->names->file_opts.gate,
		.bufsize = (uint32_t)MIN(live->opts->val[OPT_bufsize], (int64_t)INPROC_BUFSIZE_MAX),
		.debug = report_is_debugging(live->report) ? inproc_debug_line : NULL,
		.ctx = live->report,
	});
	division_begin(&d, live);
	e = division_decide(&d);
	if (!e)
		e = division_enter(&d);
	if (!e)
		division_check_target(&d);
	if (!e && opt_flag(live->opts, OPT_inprocdebug))
		division_tell_sites(&d);
	if (!e && opt_flag(live->opts, OPT_inprocsum))
		division_tell(&d, proc_pid(proc));
	for (uint32_t i = 0; i < d.candidates.len && !e; i++)
		(void)match_divide_unit(live->match, d.candidates.data[i].unit,
					d.candidates.data[i].takes);
	division_end(&d);
	return e;
}
