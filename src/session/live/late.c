/* SPDX-License-Identifier: MIT */
/*
 * Units that come while the session runs, for the engine in the process (option inproc): code that
 * a process has mapped since.
 *
 * A site goes there if its window can be written, as at the start, and if none of the clauses of
 * its probe shares variables, because other sites of such a clause may be uprobes. A process that
 * was not entered at the start is not entered now. When the engine refuses what it was given,
 * those sites become uprobes.
 */
#include <inttypes.h>

#include "base/text.h"
#include "inproc/inproc.h"
#include "session/live/live.h"
#include "session/match/together.h"

/* The unit that has come, and the process that has its code. */
struct late {
	struct live *live;
	struct session_unit *unit;
	struct inproc *inproc;
	uint32_t nsites;
	const char **lacks; /* by site: why it is a uprobe; NULL: it is in the process */
};

/* The process in which all probes of the unit are; NULL: there is none that was entered. */
static struct inproc *late_find_process(const struct live *live, const struct session_unit *u)
{
	pid_t pid = u->points.len ? u->points.data[0].code->pid : 0;

	if (live->shares_turns)
		return NULL; /* jumps need the turn alone, and it could not be had */
	if (live_follows_children(live))
		return NULL; /* children have such code, too */
	for (uint32_t i = 0; i < u->points.len; i++)
		if (u->points.data[i].code->pid != pid || u->points.data[i].code->at != pid)
			return NULL;
	return pid ? inproc_list_find(&live->inprocs, pid) : NULL;
}

/* Why a clause of the unit cannot run in the process; NULL: it can. */
static const char *late_find_refusal(const struct late *d, uint32_t i)
{
	const struct unit *u = &d->unit->unit;
	const struct layout *l = d->live->match->layout;
	const char *why = NULL;

	if (clause_shares(u->clauses[i].layout->clause, l))
		return "share variables with probes that may come";
	if (!inproc_takes_later(d->inproc, u->clauses[i].layout->clause->index))
		return "are of a clause for which no room was kept in the process";
	if (!inproc_takes_clause(d->inproc, u, i, l, &why))
		return why;
	return inproc_clause_lack(d->inproc, u, i, live_cpu(d->live));
}

static void late_refuse_clauses(const struct late *d)
{
	const struct unit *u = &d->unit->unit;

	for (uint32_t i = 0; i < u->nclauses; i++) {
		const char *why = late_find_refusal(d, i);
		uint32_t site = 0;

		for (uint32_t k = 0; k < u->nprobes && why; k++)
			for (uint32_t j = 0; j < u->probes[k].code->sites.len; j++, site++)
				if (u->probes[k].mask[i / 64] >> (i % 64) & 1 && !d->lacks[site])
					d->lacks[site] = why;
	}
}

/* Sites whose windows have a uprobe of another unit, or of their own, are uprobes, too. */
static void late_keep_apart(const struct late *d)
{
	const struct match *m = d->live->match;
	CLEANUP(free)
	struct inproc_choice *list = xcalloc(m->units.len + 1, sizeof(*list));
	uint32_t n = 0;

	list[n++] = (struct inproc_choice){&d->unit->unit, d->lacks};
	for (uint32_t i = 0; i < m->units.len; i++) {
		const struct session_unit *u = m->units.data[i];

		if (u != d->unit && u->traits->is_in_process && !u->unit.is_inproc)
			list[n++] = (struct inproc_choice){&u->unit, NULL};
	}
	while (inproc_keep_apart(d->inproc, list, n))
		;
}

static void late_tell(const struct late *d)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < d->nsites; i++)
		n += !d->lacks[i];
	if (opt_flag(d->live->opts, OPT_inprocsum))
		live_tell_places(d->live, inproc_pid(d->inproc), n,
				 &(struct live_whys){d->lacks, d->nsites}, &(struct live_whys){0});
}

/* Divides the unit; *ret: the part in the process, which may be all of it; NULL: there is none. */
static struct err *late_divide(struct live *live, struct session_unit *u, struct session_unit **ret)
{
	struct late d = {.live = live, .unit = u, .inproc = late_find_process(live, u)};
	CLEANUP(free) uint8_t *takes = NULL;
	struct err *e;

	if (!d.inproc)
		return NULL;
	for (uint32_t i = 0; i < u->points.len; i++)
		d.nsites += u->points.data[i].code->sites.len;
	d.lacks = xcalloc(MAX(d.nsites, 1u), sizeof(*d.lacks));
	if (!inproc_is_entered(d.inproc)) {
		for (uint32_t i = 0; i < d.nsites; i++)
			d.lacks[i] = "in a process that was refused, or executes another program";
		late_tell(&d);
		free(d.lacks);
		return NULL;
	}
	takes = xcalloc(MAX(d.nsites, 1u), 1);
	e = inproc_survey_later(d.inproc, &u->unit, d.lacks);
	if (!e) {
		late_refuse_clauses(&d);
		late_keep_apart(&d);
		for (uint32_t i = 0; i < d.nsites; i++)
			takes[i] = !d.lacks[i];
		late_tell(&d);
		*ret = match_divide_unit(live->match, u, takes, (uint32_t)inproc_pid(d.inproc));
	}
	free(d.lacks);
	return e;
}

/* ---- placing --------------------------------------------------------------------------------- */

static struct err *unit_place(struct live *live, struct session_unit *u)
{
	struct err *e = live_choose_engine(live, u);

	if (!e)
		e = live_load_unit(live, u);
	return e ? e : live_attach_unit(live, u);
}

/* Places the part in the process; where that is refused, its sites are uprobes. */
static struct err *part_place(struct live *live, struct session_unit *part)
{
	const struct inproc *p = live_inproc_of(live, part);
	uint32_t before = inproc_count(p);
	struct err *e = unit_place(live, part);

	if (!e || live->is_interrupted)
		return e;
	live_unload_unit(live, part);
	if (live->opts->val[OPT_inproc] == INPROC_ALL)
		return err_wrap(e, "option inproc");
	if (!inproc_is_out(p) && inproc_count(p) > before)
		return e; /* a uprobe in a jump would be the death of the process */
	report_adjusted(live->report, "%s; what process %d has mapped is probed by uprobes",
			err_text(e), (int)inproc_pid(p));
	err_destroy(e);
	live_unit_to_kernel(part);
	return unit_place(live, part);
}

/* Whether jumps may be written for the unit. */
static bool late_may_jump(const struct live *live, const struct session_unit *u)
{
	const struct inproc *p = late_find_process(live, u);

	return p && inproc_is_entered(p);
}

/*
 * Begins the turn for a unit. *jumps: whether jumps may be written in it. Where the turn alone is
 * not to be had, because a user keeps it from us, all sites are uprobes.
 */
static struct err *late_begin_turn(struct live *live, const struct session_unit *u, pid_t pid,
				   bool *jumps)
{
	struct err *e = live_begin_turn(live, pid, !*jumps);

	if (!e || !*jumps)
		return e;
	if (live->opts->val[OPT_inproc] == INPROC_ALL)
		return err_wrap(e, "option inproc");
	if (!live_try_turn(live, pid, true, TURN_WAIT_NS))
		return e;
	report_adjusted(live->report, "%s; what process %d has mapped is probed by uprobes",
			err_text(e), (int)pid);
	err_destroy(e);
	*jumps = false;
	return NULL;
}

struct err *live_place_late(struct live *live, struct session_unit *u,
			    struct session_unit **ret_part)
{
	pid_t pid = u->points.len && u->points.data[0].code ? u->points.data[0].code->at : 0;
	struct session_unit *part = NULL;
	bool may_jump = late_may_jump(live, u), jumps = may_jump;
	struct err *e = pid ? late_begin_turn(live, u, pid, &jumps) : NULL;

	*ret_part = NULL;
	live_note_samples(live, &u->unit);
	if (!e && pid && live->is_interrupted)
		return NULL; /* there is no turn, and nobody waits for these probes any more */
	if (!e && jumps == may_jump)
		e = late_divide(live, u, &part);
	*ret_part = part != u ? part : NULL;
	if (!e && part)
		e = part_place(live, part);
	if (!e && part != u)
		e = unit_place(live, u);
	live_end_turns(live);
	return e;
}

void live_drop_late(struct live *live, const struct session_unit *u)
{
	for (uint32_t i = 0; i < live->inprocs.of.len; i++)
		inproc_forget_unit(live->inprocs.of.data[i], &u->unit);
}

/* ---- another program ------------------------------------------------------------------------- */

bool live_has_execed(const struct live *live, pid_t pid)
{
	const struct inproc *p = inproc_list_find(&live->inprocs, pid);

	return p && inproc_is_gone(p);
}

/* Whether clauses of the unit have kept variables, not of one thread only, in the process. */
static bool unit_kept_globals(const struct live *live, const struct session_unit *u)
{
	bool has = false;

	for (uint32_t i = 0; i < u->clauses.len && !u->unit.is_relay; i++)
		has |= clause_shares_globals(u->clauses.data[i].layout->clause,
					     live->match->layout);
	return has;
}

struct err *live_follow_exec(struct live *live, pid_t pid, bool attaches)
{
	bool has_globals = false;
	struct err *e = NULL;

	for (uint32_t i = 0; i < live->match->units.len && !live->is_interrupted && !e; i++) {
		struct session_unit *u = live->match->units.data[i];

		if (u->unit.inproc_pid != (uint32_t)pid || !u->loaded)
			continue;
		has_globals |= unit_kept_globals(live, u);
		live_unload_unit(live, u);
		if (!attaches || u->twin) /* a twin is attached to all processes of the family */
			continue;
		live_unit_to_kernel(u);
		e = unit_place(live, u);
	}
	if (has_globals)
		report_adjusted(live->report,
				"process %d has executed another program: global variables that "
				"its clauses kept in it begin anew",
				(int)pid);
	return e;
}

/* ---- children -------------------------------------------------------------------------------- */

/* Says of the first child how its places are probed: as those of its parent. */
static void child_tell(const struct live *live, const struct inproc *p, pid_t child)
{
	struct inproc_children n = inproc_children_of(p);

	if (n.nfollowed && opt_flag(live->opts, OPT_inprocsum))
		report_adjusted(live->report,
				"process %d, a child of %d: %" PRIu32
				" place%s probed in it, as in its parent, %" PRIu32 " by uprobe%s",
				(int)child, (int)inproc_pid(p), n.nplaces, PLURAL(n.nplaces),
				n.nuprobes, PLURAL(n.nuprobes));
}

struct err *live_prepare_child(struct live *live, pid_t pid, pid_t child, struct attach_opts *opts)
{
	struct inproc *p = inproc_list_find(&live->inprocs, pid);
	bool may = true;
	uint64_t before = p ? inproc_children_of(p).nfollowed : 0;
	struct err *e = p ? inproc_take_child(p, child, &may) : NULL;

	opts->only_children = !may;
	if (p && !before)
		child_tell(live, p, child);
	return e;
}

void live_forget_child(struct live *live, pid_t child)
{
	for (uint32_t i = 0; i < live->inprocs.of.len; i++)
		inproc_forget_child(live->inprocs.of.data[i], child);
}
