/* SPDX-License-Identifier: MIT */
/*
 * Sites that are relayed: a jump is written at them, and their clauses run in the kernel all the
 * same (inproc/inproc.h).
 *
 * For variables that clauses share such a site is a uprobe: it binds their other sites to the
 * kernel. It is relayed where that costs less than a uprobe at the site.
 */
#include "inproc/inproc.h"
#include "native/native.h"
#include "session/live/division.h"

void division_begin_relays(struct division *d)
{
	const struct live *live = d->live;
	const char *why = NULL;

	if (live->stack_needs.has_walks && !stacks_tables_size(live->stacks))
		why = "walk stacks by frame pointers";
	for (uint32_t i = 0; i < d->processes.len; i++)
		d->processes.data[i].relay_lack = why;
}

void division_relay(const struct division *d, const struct candidate *c, uint32_t i, uint32_t k,
		    uint32_t site, const char *why)
{
	const struct unit *u = &c->unit->unit;
	const struct division_process *dp =
		c->owners[site] == OWNER_NONE ? NULL : &d->processes.data[c->owners[site]];
	const char *lack = dp ? dp->relay_lack : why;

	if (!lack && (dp->has_no_slots || !dp->inproc))
		lack = why;
	if (!lack)
		lack = inproc_relay_lack(dp->inproc, u, i, &u->probes[i].code->sites.data[k],
					 d->live->match->layout);
	if (lack)
		c->lacks[site] = lack;
	else
		c->relayed[site] = why;
}

/* Whether sites of the process that were to be relayed cannot be. */
static bool process_check_relays(const struct division *d, uint32_t process)
{
	struct division_process *dp = &d->processes.data[process];
	const char *why;

	if (!dp->inproc || !inproc_is_entered(dp->inproc) || inproc_has_relays(dp->inproc, &why))
		return false;
	if (why)
		dp->relay_lack = arena_strdup(d->live->arena, why);
	dp->has_no_slots = true;
	return division_count(d, process, SITE_RELAYED) > 0;
}

bool division_check_relays(struct division *d)
{
	bool is_lacking = false;

	for (uint32_t i = 0; i < d->processes.len; i++)
		is_lacking |= process_check_relays(d, i);
	return is_lacking;
}

/* ---- samples --------------------------------------------------------------------------------- */

static bool unit_samples(const struct unit *u)
{
	for (uint32_t i = 0; i < u->nclauses; i++)
		if (native_samples(u->clauses[i].layout->clause))
			return true;
	return false;
}

static bool probe_samples(const struct unit *u, const struct unit_probe *p)
{
	for (uint32_t i = 0; i < u->nclauses; i++)
		if (p->mask[i / 64] >> (i % 64) & 1 && native_samples(u->clauses[i].layout->clause))
			return true;
	return false;
}

/* Whether a unit has clauses that sample, and all of their sites in the process have filters. */
static bool candidate_is_sampled(const struct division *d, const struct candidate *c,
				 uint32_t process, bool *ret_has_sites)
{
	const struct unit *u = &c->unit->unit;
	uint32_t site = 0;

	for (uint32_t i = 0; i < u->nprobes; i++) {
		bool samples = probe_samples(u, &u->probes[i]);
		bool has_filter =
			samples && !inproc_filter_is_true(d->processes.data[process].inproc, u, i);

		for (uint32_t k = 0; k < u->probes[i].code->sites.len; k++, site++) {
			if (!samples ||
			    (c->owners[site] != process && c->owners[site] != OWNER_NONE))
				continue;
			if (c->takes[site] != SITE_RELAYED || !has_filter)
				return false;
			*ret_has_sites = true;
		}
	}
	return true;
}

static bool division_has(const struct division *d, const struct session_unit *u)
{
	for (uint32_t i = 0; i < d->candidates.len; i++)
		if (d->candidates.data[i].unit == u)
			return true;
	return false;
}

static bool process_is_sampled(const struct division *d, uint32_t process)
{
	const struct match *m = d->live->match;
	bool has_sites = false;

	for (uint32_t i = 0; i < m->units.len; i++) {
		const struct session_unit *u = m->units.data[i];

		if (!division_has(d, u) && unit_samples(&u->unit))
			return false;
	}
	for (uint32_t i = 0; i < d->candidates.len; i++)
		if (!candidate_is_sampled(d, &d->candidates.data[i], process, &has_sites))
			return false;
	return has_sites;
}

void division_find_samples(const struct division *d)
{
	/* each child would have a sample of its own, and those with uprobes have none */
	for (uint32_t i = 0; i < d->processes.len && !live_follows_children(d->live); i++)
		if (d->processes.data[i].inproc && process_is_sampled(d, i))
			inproc_set_sampled(d->processes.data[i].inproc);
}

void live_note_samples(const struct live *live, const struct unit *u)
{
	for (uint32_t i = 0; i < live->inprocs.of.len && unit_samples(u); i++)
		inproc_end_samples(live->inprocs.of.data[i]);
}

/* ---- units ----------------------------------------------------------------------------------- */

/* Takes the sites of a process that are probed in one way out of what is left of the unit. */
static struct session_unit *sites_divide(const struct division *d, struct candidate *c,
					 uint32_t process, enum site_way way, bool *gone)
{
	CLEANUP(free) uint8_t *takes = xcalloc(MAX(c->nsites, 1u), 1);
	uint32_t n = 0;

	for (uint32_t k = 0; k < c->nsites; k++) {
		bool goes = c->takes[k] == way && c->owners[k] == process;

		if (!gone[k])
			takes[n++] = goes;
		gone[k] |= goes;
	}
	return n ? match_divide_unit(d->live->match, c->unit, takes,
				     (uint32_t)d->processes.data[process].pid)
		 : NULL;
}

/* Makes the unit that runs the clauses of one that relays. */
static void relays_make(const struct division *d, const struct session_unit *relays)
{
	struct inproc *p = live_inproc_of(d->live, relays);
	struct relay_slots slots;
	uint32_t n = 0;
	uint64_t *pcs;

	for (uint32_t i = 0; i < relays->points.len; i++)
		n += relays->points.data[i].code->sites.len;
	pcs = xcalloc(MAX(n, 1u), sizeof(*pcs));
	inproc_relays_place(p, &relays->unit, &slots, pcs);
	match_relay_unit(d->live->match, relays, &slots)->unit.is_sampled = inproc_is_sampled(p);
	free(pcs);
}

void division_make_relays(struct division *d)
{
	for (uint32_t i = 0; i < d->relaying.len; i++)
		relays_make(d, d->relaying.data[i]);
}

void candidate_divide(struct division *d, struct candidate *c)
{
	CLEANUP(free) bool *gone = xcalloc(MAX(c->nsites, 1u), sizeof(*gone));

	for (uint32_t i = 0; i < d->processes.len; i++) {
		struct session_unit *relays;

		(void)sites_divide(d, c, i, SITE_NATIVE, gone);
		relays = sites_divide(d, c, i, SITE_RELAYED, gone);
		if (!relays)
			continue;
		relays->unit.is_relay = true;
		vec_push(&d->relaying, relays);
	}
}
