/* SPDX-License-Identifier: MIT */
/*
 * Which sites of probes in code go to the engine in the process (option inproc).
 *
 * A site goes there if a jump can be written at it, and if all clauses of its probe have code
 * there. If only the jump can be written, the site may be relayed: its clauses run in the kernel
 * (live/relay.c). Clauses that share variables stay in one engine (match/together.h): as soon as
 * one site of one of them runs in the kernel, all of their sites do. Each such decision may bring
 * others with it, so they are repeated until nothing changes.
 *
 * Each process that descriptions name has sites, refusals and units of its own. Clauses that share
 * variables of threads only are decided for each process alone, because a thread is of one; clauses
 * that share others are uprobes if they have sites in several processes.
 */
#include <inttypes.h>
#include <unistd.h>

#include "inproc/inproc.h"
#include "base/hashmap.h"
#include "base/text.h"
#include "kernel/kernel.h"
#include "patch/patch.h"
#include "privilege/privilege.h"
#include "provider/arrivals.h"
#include "session/live/division.h"
#include "session/live/sites.h"
#include "session/match/together.h"
#include "target/control.h"
#include "target/ident.h"

static const char shared_why[] = "share variables with uprobes";
static const char spanning_why[] = "share variables with probes of other processes";

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
	for (uint32_t i = 0; i < d->nclauses; i++)
		d->has_globals[d->roots[i]] |=
			clause_shares_globals(m->clauses.data[i].clause, m->layout);
}

static uint32_t clause_index(const struct unit *u, uint32_t i)
{
	return u->clauses[i].layout->clause->index;
}

static bool *bound_of(const struct division *d, uint32_t clause, uint32_t process)
{
	return &d->is_bound[d->roots[clause] * d->processes.len + process];
}

/*
 * The clause runs in the kernel at some site of a process: all with which it shares variables must,
 * at sites of the same one. OWNER_NONE: of all of them.
 */
static void clause_bind(struct division *d, uint32_t clause, uint32_t process)
{
	for (uint32_t i = 0; i < d->processes.len && d->shares[clause]; i++) {
		bool *bound = bound_of(d, clause, i);

		if ((process != OWNER_NONE && process != i) || *bound)
			continue;
		*bound = d->has_changed = true;
	}
}

static void unit_bind(struct division *d, const struct unit *u)
{
	for (uint32_t i = 0; i < u->nclauses; i++)
		clause_bind(d, clause_index(u, i), OWNER_NONE);
	for (uint32_t i = 0; i < u->nerror_clauses; i++)
		clause_bind(d, u->error_clauses[i].layout->clause->index, OWNER_NONE);
}

/* ---- candidates ----------------------------------------------------------------------------- */

static uint32_t sites_count(const struct unit *u)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < u->nprobes; i++)
		n += u->probes[i].code->sites.len;
	return n;
}

/* Asks each process about the clauses of a unit. */
static void candidate_find_refusals(const struct division *d, struct candidate *c, uint32_t process)
{
	const struct division_process *dp = &d->processes.data[process];
	const struct unit *u = &c->unit->unit;
	const char **refusals = &c->refusals[process * u->nclauses];

	for (uint32_t i = 0; i < u->nclauses; i++) {
		const char *why = NULL;

		if (dp->lack)
			refusals[i] = dp->lack;
		/* of what a pattern finds later, some places may have to be uprobes */
		else if (d->shares[clause_index(u, i)] &&
			 division_may_get_more(d, clause_index(u, i)))
			refusals[i] = "share variables with probes that may come";
		else if (d->alive_lack && clause_is_about_alive(u->clauses[i].layout->clause))
			refusals[i] = d->alive_lack;
		else if (!inproc_takes_clause(dp->inproc, u, i, d->live->match->layout, &why))
			refusals[i] = why;
	}
}

/* Asks a process about the sites of a unit, and notes which of them are its own. */
static struct err *candidate_survey(const struct division *d, struct candidate *c, uint32_t process)
{
	const struct division_process *dp = &d->processes.data[process];
	const struct unit *u = &c->unit->unit;
	CLEANUP(free) const char **lacks = xcalloc(MAX(c->nsites, 1u), sizeof(*lacks));
	struct err *e = dp->inproc ? inproc_survey(dp->inproc, u, lacks) : NULL;
	uint32_t site = 0;

	for (uint32_t i = 0; i < u->nprobes; i++)
		for (uint32_t k = 0; k < u->probes[i].code->sites.len; k++, site++) {
			bool is_own = u->probes[i].code->pid == dp->pid;

			if (is_own || (dp->inproc && !lacks[site]))
				c->owners[site] = process;
			if (c->owners[site] == process || c->owners[site] == OWNER_NONE)
				c->lacks[site] = lacks[site];
		}
	return e;
}

static struct err *candidate_add(struct division *d, struct session_unit *u)
{
	uint32_t n = sites_count(&u->unit);
	struct err *e = NULL;
	struct candidate *c;

	vec_push(&d->candidates, (struct candidate){.unit = u, .nsites = n});
	c = vec_last(&d->candidates);
	c->lacks = xcalloc(MAX(n, 1u), sizeof(*c->lacks));
	c->owners = xcalloc(MAX(n, 1u), sizeof(*c->owners));
	c->takes = xcalloc(MAX(n, 1u), 1);
	c->relayed = xcalloc(MAX(n, 1u), sizeof(*c->relayed));
	c->refusals = xcalloc(MAX(u->unit.nclauses * d->processes.len, 1u), sizeof(*c->refusals));
	memset(c->owners, 0xff, n * sizeof(*c->owners)); /* OWNER_NONE */
	for (uint32_t i = 0; i < d->processes.len && !e; i++) {
		candidate_find_refusals(d, c, i);
		e = candidate_survey(d, c, i);
	}
	return e;
}

/* Why clause i of the unit cannot run in the process; NULL: it can. */
static const char *clause_refusal(const struct division *d, const struct candidate *c, uint32_t i,
				  uint32_t process)
{
	const struct unit *u = &c->unit->unit;
	uint32_t clause = clause_index(u, i);

	if (c->refusals[process * u->nclauses + i])
		return c->refusals[process * u->nclauses + i];
	if (!d->shares[clause] || !*bound_of(d, clause, process))
		return NULL;
	return d->spans[d->roots[clause]] ? spanning_why : shared_why;
}

static const char *point_refusal(const struct division *d, const struct candidate *c,
				 const struct unit_probe *p, uint32_t process)
{
	if (process == OWNER_NONE)
		return "in other processes";
	for (uint32_t i = 0; i < c->unit->unit.nclauses; i++) {
		const char *why =
			p->mask[i / 64] >> (i % 64) & 1 ? clause_refusal(d, c, i, process) : NULL;

		if (why)
			return why;
	}
	return NULL;
}

/* A site of the probe in the process, or in all of them, runs in the kernel. */
static void point_bind(struct division *d, const struct unit *u, const struct unit_probe *p,
		       uint32_t process)
{
	for (uint32_t i = 0; i < u->nclauses; i++)
		if (p->mask[i / 64] >> (i % 64) & 1)
			clause_bind(d, clause_index(u, i), process);
}

/* Decides about the sites of a unit, and binds the clauses of those that run in the kernel. */
static void candidate_decide(struct division *d, struct candidate *c)
{
	const struct unit *u = &c->unit->unit;
	uint32_t site = 0;

	for (uint32_t i = 0; i < u->nprobes; i++) {
		uint32_t n = u->probes[i].code->sites.len, known = n, bound = n;
		const char *why = NULL;

		/* the sites of a probe are of one process, or follow one another by process */
		for (uint32_t k = 0; k < n; k++, site++) {
			uint32_t owner = c->owners[site];

			if (known == n || owner != c->owners[site - k + known])
				why = point_refusal(d, c, &u->probes[i], owner);
			known = k;
			c->relayed[site] = NULL;
			if (why && !c->lacks[site])
				division_relay(d, c, i, k, site, why);
			c->takes[site] = c->lacks[site]	    ? SITE_UPROBE
					 : c->relayed[site] ? SITE_RELAYED
							    : SITE_NATIVE;
			if (c->takes[site] == SITE_NATIVE ||
			    (bound < n && owner == c->owners[site - k + bound]))
				continue;
			point_bind(d, u, &u->probes[i], owner);
			bound = k;
		}
	}
}

uint32_t division_count(const struct division *d, uint32_t process, enum site_way way)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < d->candidates.len; i++)
		for (uint32_t k = 0; k < d->candidates.data[i].nsites; k++)
			n += d->candidates.data[i].takes[k] == way &&
			     d->candidates.data[i].owners[k] == process;
	return n;
}

static void division_refuse(struct division *d, uint32_t process, const char *why)
{
	for (uint32_t i = 0; i < d->candidates.len; i++) {
		struct candidate *c = &d->candidates.data[i];

		for (uint32_t k = 0; k < c->nsites; k++) {
			if (c->owners[k] != process)
				continue;
			c->takes[k] = SITE_UPROBE;
			c->lacks[k] = c->lacks[k] ? c->lacks[k] : why;
		}
	}
}

static void division_begin(struct division *d)
{
	uint32_t n = MAX(d->nclauses, 1u);

	d->roots = xcalloc(n, sizeof(*d->roots));
	d->shares = xcalloc(n, sizeof(*d->shares));
	d->has_globals = xcalloc(n, sizeof(*d->has_globals));
	d->spans = xcalloc(n, sizeof(*d->spans));
	d->is_bound = xcalloc((size_t)n * MAX(d->processes.len, 1u), sizeof(*d->is_bound));
	division_group(d);
	d->alive_lack = division_alive_lack(d);
	d->libraries = hashmap_create();
}

static void division_end(struct division *d)
{
	for (uint32_t i = 0; i < d->candidates.len; i++) {
		free(d->candidates.data[i].lacks);
		free(d->candidates.data[i].owners);
		free(d->candidates.data[i].takes);
		free(d->candidates.data[i].relayed);
		free(d->candidates.data[i].refusals);
	}
	vec_deinit(&d->candidates);
	vec_deinit(&d->processes);
	vec_deinit(&d->relaying);
	hashmap_destroy(d->libraries);
	free(d->roots);
	free(d->shares);
	free(d->has_globals);
	free(d->spans);
	free(d->is_bound);
	free(d->is_later);
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
		      const struct place_site *s, const char *way, const char *why)
{
	const struct probe *pr = d->live->match->enabled[p->id.probe_idx];

	report_adjusted(d->live->report, "%s:%s:%s:%s at offset %" PRIx64 " of '%s': %s: %s",
			pr->prov, pr->mod, pr->func, pr->name, s->off, s->file->name, way, why);
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
					site_tell(d, p, &p->code->sites.data[j], "uprobe",
						  c->lacks[site]);
				else if (c->relayed[site])
					site_tell(d, p, &p->code->sites.data[j], "relayed",
						  c->relayed[site]);
		}
	}
}

static uint32_t whys_count(const struct live_whys *w)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < w->len; i++)
		n += w->data[i] != NULL;
	return n;
}

/* Adds how many places have which reason. */
static void whys_add(struct strbuf *text, const struct live_whys *w)
{
	reason_vec reasons = {0};

	for (uint32_t i = 0; i < w->len; i++)
		if (w->data[i])
			reason_count(&reasons, w->data[i]);
	if (reasons.len)
		qsort(reasons.data, reasons.len, sizeof(*reasons.data), by_count);
	for (uint32_t i = 0; i < reasons.len; i++)
		strbuf_addf(text, "%s%" PRIu32 " %s", i ? ", " : " (", reasons.data[i].n,
			    reasons.data[i].why);
	if (reasons.len)
		strbuf_addf(text, ")");
	vec_deinit(&reasons);
}

void live_tell_places(const struct live *live, pid_t pid, uint32_t n, const struct live_whys *lacks,
		      const struct live_whys *relayed)
{
	uint32_t nlacks = whys_count(lacks), nrelayed = whys_count(relayed);
	struct strbuf text = {0};

	strbuf_addf(&text,
		    "%" PRIu32 " place%s probed in process %d itself, %" PRIu32 " by uprobe%s", n,
		    PLURAL(n), (int)pid, nlacks, PLURAL(nlacks));
	whys_add(&text, lacks);
	if (nrelayed)
		strbuf_addf(&text, ", %" PRIu32 " relayed to the kernel", nrelayed);
	whys_add(&text, relayed);
	report_adjusted(live->report, "%s", strbuf_text(&text));
	strbuf_deinit(&text);
}

/* Whether a clause may get code of the process later. */
static bool process_may_get_more(const struct division *d, uint32_t process)
{
	for (uint32_t i = 0; i < d->nclauses; i++)
		if (d->is_later[process * d->nclauses + i])
			return true;
	return false;
}

/*
 * Says how many places of a process are probed in which way, and why; the first has the rest. Of
 * several targets, pid$target means the first one only.
 */
static void division_tell(const struct division *d, uint32_t process)
{
	VEC(const char *) lacks = {0}, relayed = {0};
	pid_t pid = d->processes.data[process].pid;

	for (uint32_t i = 0; i < d->candidates.len; i++)
		for (uint32_t k = 0; k < d->candidates.data[i].nsites; k++) {
			const struct candidate *c = &d->candidates.data[i];

			if (c->owners[k] != process && (c->owners[k] != OWNER_NONE || process))
				continue;
			vec_push(&lacks, c->lacks[k]);
			vec_push(&relayed, c->relayed[k]);
		}
	if (d->processes.data[process].inproc)
		inproc_note_places(d->processes.data[process].inproc,
				   division_count(d, process, SITE_NATIVE),
				   whys_count(&(struct live_whys){lacks.data, lacks.len}));
	if (lacks.len || process_may_get_more(d, process))
		live_tell_places(d->live, pid, division_count(d, process, SITE_NATIVE),
				 &(struct live_whys){lacks.data, lacks.len},
				 &(struct live_whys){relayed.data, relayed.len});
	else
		report_adjusted(d->live->report, "no description means a place in process %d",
				(int)pid);
	vec_deinit(&lacks);
	vec_deinit(&relayed);
}

/* ---- dividing ------------------------------------------------------------------------------- */

static struct proc *target_find(const struct live *live, pid_t pid)
{
	for (uint32_t i = 0; i < live->targets->procs.len; i++)
		if (proc_pid(live->targets->procs.data[i]) == pid)
			return live->targets->procs.data[i];
	return NULL;
}

/* Finds the clauses that have a site in the process. */
static void division_clauses(const struct division *d, uint32_t process, bool *ret)
{
	for (uint32_t i = 0; i < d->candidates.len; i++) {
		const struct candidate *c = &d->candidates.data[i];
		const struct unit *u = &c->unit->unit;
		uint32_t site = 0;

		for (uint32_t k = 0; k < u->nprobes; k++) {
			bool is_there = false;

			for (uint32_t j = 0; j < u->probes[k].code->sites.len; j++, site++)
				is_there |=
					c->takes[site] == SITE_NATIVE && c->owners[site] == process;
			for (uint32_t j = 0; j < u->nclauses && is_there; j++)
				if (u->probes[k].mask[j / 64] >> (j % 64) & 1)
					ret[clause_index(u, j)] = true;
		}
	}
}

/* Adds the clauses that may go there with code that is mapped later; false: there are none. */
static bool later_clauses(const struct division *d, uint32_t process, bool *clauses)
{
	const struct layout *l = d->live->match->layout;
	bool has_later = false;

	for (uint32_t i = 0; i < d->nclauses; i++) {
		bool is_later = d->is_later[process * d->nclauses + i] && !d->shares[i] &&
				inproc_has_code(d->processes.data[process].inproc, i, l);

		clauses[i] |= is_later;
		has_later |= is_later;
	}
	return has_later;
}

/* Enters a process; where it is refused, its sites are uprobes unless the user has said all. */
static struct err *process_enter(struct division *d, uint32_t process)
{
	const struct division_process *dp = &d->processes.data[process];
	struct live *live = d->live;
	uint32_t nrelayed = division_count(d, process, SITE_RELAYED);
	uint32_t n = division_count(d, process, SITE_NATIVE) + nrelayed;
	CLEANUP(free) bool *clauses = xcalloc(MAX(d->nclauses, 1u), sizeof(*clauses));
	struct proc *target = target_find(live, dp->pid);
	struct keeper *keeper;
	struct err *e = NULL;
	bool has_later;

	if (!dp->inproc)
		return NULL;
	division_clauses(d, process, clauses);
	has_later = later_clauses(d, process, clauses);
	if (!n && !has_later)
		return NULL;
	if (target)
		e = proc_park(target);
	if (!e)
		e = attachments_keeper(live->attachments, &keeper);
	if (!e)
		e = inproc_enter(dp->inproc, live->match->layout, n, nrelayed > 0, has_later,
				 clauses, keeper);
	if (!e && inproc_lines_lack(dp->inproc) && opt_flag(live->opts, OPT_inprocsum))
		report_adjusted(live->report, "clauses %s: those of process %d run in the kernel",
				inproc_lines_lack(dp->inproc), (int)dp->pid);
	if (!e)
		return NULL;
	if (live->opts->val[OPT_inproc] == INPROC_ALL)
		return err_wrap(e, "option inproc");
	division_refuse(d, process, arena_strdup(live->arena, err_text(e)));
	err_destroy(e);
	return NULL;
}

static struct err *division_enter(struct division *d)
{
	struct err *e = live_begin_turns(d->live);

	if (e) {
		for (uint32_t i = 0; i < d->processes.len; i++)
			division_refuse(d, i, "in processes whose code another tracer changes now");
		return live_share_turns(d->live, e);
	}
	for (uint32_t i = 0; i < d->processes.len && !d->live->is_interrupted && !e; i++)
		e = process_enter(d, i);
	live_end_turns(d->live);
	return e;
}

/* All units of code, as far as decided; list has room for as many as the match has. */
static uint32_t choices_list(const struct division *d, struct inproc_choice *list)
{
	const struct match *m = d->live->match;
	uint32_t n = 0;

	for (uint32_t i = 0; i < d->candidates.len; i++)
		list[n++] = (struct inproc_choice){&d->candidates.data[i].unit->unit,
						   d->candidates.data[i].lacks};
	for (uint32_t i = 0; i < m->units.len; i++)
		if (m->units.data[i]->traits->is_in_process && !is_candidate(m->units.data[i]))
			list[n++] = (struct inproc_choice){&m->units.data[i]->unit, NULL};
	return n;
}

/* The region of a process reaches a part of its files; which one, the units say together. */
static void division_reach(const struct division *d)
{
	CLEANUP(free)
	struct inproc_choice *list = xcalloc(MAX(d->candidates.len, 1u), sizeof(*list));

	for (uint32_t i = 0; i < d->candidates.len; i++)
		list[i] = (struct inproc_choice){&d->candidates.data[i].unit->unit,
						 d->candidates.data[i].lacks};
	for (uint32_t i = 0; i < d->processes.len; i++)
		if (d->processes.data[i].inproc)
			inproc_reach(d->processes.data[i].inproc, list, d->candidates.len);
}

/* Sites whose windows have a uprobe of another unit, or of their own, are uprobes, too. */
static void division_keep_apart(struct division *d)
{
	CLEANUP(free)
	struct inproc_choice *list = xcalloc(MAX(d->live->match->units.len, 1u), sizeof(*list));
	uint32_t n = choices_list(d, list);

	for (uint32_t i = 0; i < d->processes.len; i++)
		if (d->processes.data[i].inproc)
			d->has_changed |= inproc_keep_apart(d->processes.data[i].inproc, list, n);
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

/* Variables that are not of threads only are shared by all processes of a group's clauses. */
static void division_find_spanning(struct division *d)
{
	CLEANUP(free) uint32_t *owner = xcalloc(MAX(d->nclauses, 1u), sizeof(*owner));

	memset(owner, 0xff, d->nclauses * sizeof(*owner)); /* OWNER_NONE: it has no site yet */
	for (uint32_t i = 0; i < d->candidates.len; i++) {
		const struct candidate *c = &d->candidates.data[i];
		const struct unit *u = &c->unit->unit;
		uint32_t site = 0;

		for (uint32_t k = 0; k < u->nprobes; site += u->probes[k++].code->sites.len)
			for (uint32_t j = 0; j < u->nclauses && u->probes[k].code->sites.len; j++) {
				uint32_t root = d->roots[clause_index(u, j)], at = c->owners[site];

				if (!(u->probes[k].mask[j / 64] >> (j % 64) & 1) ||
				    !d->has_globals[root])
					continue;
				if (owner[root] == OWNER_NONE)
					owner[root] = at;
				d->spans[root] |= owner[root] != at;
			}
	}
	for (uint32_t i = 0; i < d->nclauses; i++) {
		d->spans[d->roots[i]] |=
			d->has_globals[d->roots[i]] && live_follows_children(d->live);
		if (d->spans[d->roots[i]])
			clause_bind(d, i, OWNER_NONE);
	}
}

static struct err *division_decide(struct division *d)
{
	struct match *m = d->live->match;
	struct err *e = NULL;

	for (uint32_t i = 0; i < d->nclauses; i++)
		if (division_may_get_more(d, i))
			clause_bind(d, i, OWNER_NONE);
	for (uint32_t i = 0; i < m->units.len && !e; i++)
		if (is_candidate(m->units.data[i]))
			e = candidate_add(d, m->units.data[i]);
		else if (!m->units.data[i]->unit.is_inproc)
			unit_bind(d, &m->units.data[i]->unit);
	if (e)
		return e;
	division_reach(d);
	division_find_spanning(d);
	division_settle(d);
	return NULL;
}

/* Sites are uprobes if no jump reaches from there, or from where their code is mapped once more. */
static bool division_check_reach(const struct division *d)
{
	CLEANUP(free)
	struct inproc_choice *list = xcalloc(MAX(d->live->match->units.len, 1u), sizeof(*list));
	uint32_t n = choices_list(d, list);
	bool is_lacking = false;

	for (uint32_t i = 0; i < d->processes.len; i++)
		if (d->processes.data[i].inproc)
			is_lacking |= inproc_check_reach(d->processes.data[i].inproc, list, n);
	return is_lacking;
}

/* Clauses that read what was not found in their process are uprobes. */
static void division_check_targets(struct division *d)
{
	bool is_lacking = division_check_relays(d);

	is_lacking |= division_check_reach(d);

	for (uint32_t i = 0; i < d->candidates.len; i++) {
		struct candidate *c = &d->candidates.data[i];
		const struct unit *u = &c->unit->unit;

		for (uint32_t k = 0; k < u->nclauses * d->processes.len; k++) {
			if (c->refusals[k])
				continue;
			c->refusals[k] =
				inproc_clause_lack(d->processes.data[k / u->nclauses].inproc, u,
						   k % u->nclauses, live_cpu(d->live));
			is_lacking |= c->refusals[k] != NULL;
		}
	}
	if (is_lacking)
		division_settle(d);
}

/* ---- leaving -------------------------------------------------------------------------------- */

void live_unit_to_kernel(struct session_unit *u)
{
	u->engine = NULL;
	u->unit.is_inproc = u->unit.is_relay = false;
	u->unit.inproc_pid = 0;
}

struct inproc *live_inproc_of(const struct live *live, const struct session_unit *u)
{
	return inproc_list_find(&live->inprocs, (pid_t)u->unit.inproc_pid);
}

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
	const struct inproc *p = live_inproc_of(live, m->units.data[i]);
	uint32_t pid = (uint32_t)inproc_pid(p);

	if (live->opts->val[OPT_inproc] == INPROC_ALL)
		return err_wrap(e, "option inproc");
	for (uint32_t k = 0; k < m->units.len; k++)
		if (m->units.data[k]->unit.inproc_pid == pid)
			live_unload_unit(live, m->units.data[k]);
	if (!inproc_is_out(p)) /* a uprobe in a jump would be the death of the process */
		return e;
	report_adjusted(live->report, "%s; the probes in the process are uprobes", err_text(e));
	err_destroy(e);
	e = NULL;
	for (uint32_t k = 0; k < m->units.len; k++) {
		struct session_unit *u = m->units.data[k];

		moves[k] = u->unit.inproc_pid == pid;
		if (!moves[k])
			continue;
		live_unit_to_kernel(u);
		if (!u->twin)
			continue;
		moves[k] = false;
		u->is_void = true;
		u->twin->is_for_children = false; /* twins are attached after all others */
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

/* Takes back what a dtrace has left in a process, which was killed with its keeper. */
static void leftovers_remove(const struct live *live, pid_t pid)
{
	const struct proc *target = target_find(live, pid);
	uint32_t n = 0;
	struct err *e = NULL;

	if (!target || !proc_is_created(target))
		e = inproc_remove_leftovers(pid, live->names->file_opts.gate, &live->is_interrupted,
					    &n);
	if (n)
		report_adjusted(live->report,
				"an earlier dtrace has left %" PRIu32
				" jump%s in process %d: taken back",
				n, PLURAL(n), (int)pid);
	if (e)
		report_adjusted(live->report,
				"what dtraces may have left in process %d cannot be taken "
				"back: %s",
				(int)pid, err_text(e));
	err_destroy(e);
}

static void process_add(struct division *d, pid_t pid)
{
	for (uint32_t i = 0; i < d->processes.len; i++)
		if (d->processes.data[i].pid == pid)
			return;
	if (pid)
		vec_push(&d->processes, (struct division_process){.pid = pid});
}

/* The process that a clause may get code of later, the i-th one; NULL: there are no more. */
static const struct proc_id *later_process(const struct division *d, uint32_t clause, uint32_t i,
					   bool *ret_waits)
{
	const struct session_clause *sc = &d->live->match->clauses.data[clause];
	struct provider_env *env = d->live->targets->env;
	const struct proc_id *id =
		sc->is_open && !live_follows_children(d->live)
			? pid_arrivals.processes->described(env, &sc->clause->desc, i)
			: NULL;

	*ret_waits = id && pid_arrivals.processes->waits_for_library(env, &sc->clause->desc, id);
	return id;
}

/*
 * Finds the processes that descriptions name: those of -p and -c, and others. All targets are among
 * them if there is any code to be probed, because descriptions can mean all.
 */
static void processes_find(struct division *d)
{
	const struct match *m = d->live->match;
	const struct proc_id *id;
	bool has_code = false, waits;

	for (uint32_t i = 0; i < m->units.len; i++)
		has_code |= is_candidate(m->units.data[i]);
	for (uint32_t i = 0; i < d->live->targets->procs.len && has_code; i++)
		process_add(d, proc_pid(d->live->targets->procs.data[i]));
	for (uint32_t i = 0; i < m->units.len && has_code; i++)
		for (uint32_t k = 0; k < m->units.data[i]->points.len; k++) {
			const struct place_code *code = m->units.data[i]->points.data[k].code;

			if (is_candidate(m->units.data[i]) && code && code->pid == code->at)
				process_add(d, code->pid);
		}
	for (uint32_t i = 0; i < d->nclauses; i++)
		for (uint32_t k = 0; (id = later_process(d, i, k, &waits)); k++)
			if (waits)
				process_add(d, id->pid);
}

static void processes_find_later(struct division *d)
{
	const struct proc_id *id;
	bool waits;

	d->is_later = xcalloc(MAX((size_t)d->nclauses * d->processes.len, 1u), sizeof(bool));
	for (uint32_t i = 0; i < d->nclauses; i++)
		for (uint32_t k = 0; (id = later_process(d, i, k, &waits)); k++)
			for (uint32_t j = 0; j < d->processes.len; j++)
				if (waits && d->processes.data[j].pid == id->pid)
					d->is_later[j * d->nclauses + i] = true;
}

static const char *process_find_lack(const struct division *d, uint32_t process)
{
	pid_t pid = d->processes.data[process].pid;

	if (live_follows_children(d->live) && proc_memory_compare(pid, pid) == MEMORY_UNKNOWN)
		return "in processes whose children may share their memory (no kcmp())";
	/* such a link has no filter, and a uprobe would be in jumps of another process */
	if (d->processes.len > 1 && feat_has(FEAT_UPROBE_MULTI) && !feat_has(FEAT_UPROBE_TGID))
		return "in several processes, and this kernel places uprobes in all of them";
	for (uint32_t i = 0; i < d->processes.len; i++)
		/* uprobes of the one would be in jumps of the other */
		if (i != process &&
		    proc_memory_compare(d->processes.data[i].pid, pid) != MEMORY_OTHER)
			return "in processes that may share their memory";
	return NULL;
}

static struct err *process_prepare(struct division *d, uint32_t process)
{
	struct live *live = d->live;
	struct division_process *dp = &d->processes.data[process];
	const struct proc *target = target_find(live, dp->pid);

	dp->lack = process_find_lack(d, process);
	if (dp->lack && live->opts->val[OPT_inproc] == INPROC_ALL)
		return err_hint(err_code(err_new("option inproc: process %d may share its memory "
						 "with another one that is traced",
						 (int)dp->pid),
					 EDT_NOTSUP),
				"-x inproc=auto or off, or trace one of them");
	if (dp->lack)
		return NULL;
	if (!live->sites)
		live->sites = sites_create(live);
	dp->inproc = inproc_create(&(struct inproc_opts){
		.mode = (enum inproc_mode)live->opts->val[OPT_inproc],
		.pid = dp->pid,
		.is_early = target && proc_is_created(target),
		.has_children = live_follows_children(live),
		.gate = live->names->file_opts.gate,
		.bufsize = (uint32_t)MIN(live->opts->val[OPT_bufsize], (int64_t)INPROC_BUFSIZE_MAX),
		.is_interrupted = &live->is_interrupted,
		.sites = sites_hooks(live->sites),
		.debug = report_is_debugging(live->report) ? inproc_debug_line : NULL,
		.ctx = live->report,
	});
	vec_push(&live->inprocs.of, dp->inproc);
	return NULL;
}

/* Children have uprobes where their parents have jumps; these units come after all others. */
static void twins_make(struct match *m)
{
	uint32_t n = m->units.len;

	for (uint32_t i = 0; i < n; i++)
		if (m->units.data[i]->unit.is_inproc)
			match_make_twin(m, m->units.data[i]);
}

/* Clauses in a process cannot stop when it becomes one of another user, or undumpable. */
static bool inproc_is_wanted(const struct live *live)
{
	if (live->opts->val[OPT_inproc] == INPROC_OFF)
		return false;
	if (!privileges_lack(live->privileges, LEVEL_PROC_OWNER))
		return true;
	report_adjusted(live->report, "option inproc needs proc_owner: all probes are uprobes");
	return false;
}

struct err *live_divide_units(struct live *live)
{
	struct division d = {.live = live, .nclauses = live->match->clauses.len};
	struct err *e = NULL;

	if (live->remains.of)
		return NULL;
	processes_find(&d);
	for (uint32_t i = 0; i < d.processes.len; i++) {
		live_note_code(live, d.processes.data[i].pid);
		leftovers_remove(live, d.processes.data[i].pid);
	}
	if (!inproc_is_wanted(live) || !d.processes.len) {
		vec_deinit(&d.processes);
		return NULL;
	}
	for (uint32_t i = 0; i < d.processes.len && !e; i++)
		e = process_prepare(&d, i);
	processes_find_later(&d);
	division_begin(&d);
	division_begin_relays(&d);
	if (!e)
		e = division_decide(&d);
	if (!e)
		e = division_enter(&d);
	if (!e)
		division_check_targets(&d);
	if (!e && opt_flag(live->opts, OPT_inprocdebug))
		division_tell_sites(&d);
	for (uint32_t i = 0; i < d.processes.len && !e && opt_flag(live->opts, OPT_inprocsum); i++)
		division_tell(&d, i);
	if (!e)
		division_find_samples(&d);
	for (uint32_t i = 0; i < d.candidates.len && !e; i++)
		candidate_divide(&d, &d.candidates.data[i]);
	if (!e)
		division_make_relays(&d);
	if (!e && live_follows_children(live))
		twins_make(live->match);
	division_end(&d);
	return e;
}
