/* SPDX-License-Identifier: MIT */
/* Loads units into the engine, attaches and fires them, and counts what they have missed. */
#include <errno.h>

#include "kernel/quota.h"
#include "session/live/live.h"

/* ---- loading -------------------------------------------------------------------------------- */

static struct err *blame_source(const struct live *live, struct err *e, uint32_t span)
{
	struct source_loc loc;

	if (span == SOURCE_NOWHERE)
		return e;
	loc = source_locate(dsession_sources(live->compiler->dsession), span);
	if (!loc.src || (loc.src->kind == SOURCE_STRING && !loc.text_len))
		return e;
	if (loc.src->kind == SOURCE_STRING)
		return err_wrap(e, "'%.*s'", (int)MIN(loc.text_len, 60u), loc.text);
	return err_wrap(e, "%s:%u", loc.file, loc.line);
}

struct err *live_load_unit(struct live *live, struct session_unit *u)
{
	uint32_t span = SOURCE_NOWHERE;
	struct err *e = u->engine->engine->load(u->engine, &u->unit, &u->loaded, &span);

	return e ? blame_source(live, e, span) : NULL;
}

void live_unload_unit(struct live *live, struct session_unit *u)
{
	if (u->loaded)
		u->engine->engine->unload(u->engine, u->loaded);
	u->loaded = NULL;
}

struct err *live_load_units(struct live *live)
{
	struct err *e = NULL;

	report_begin(live->report, "loading programs", live->match->units.len);
	for (uint32_t i = 0; i < live->match->units.len && !e; i++) {
		report_progress(live->report, i);
		if (live->match->units.data[i]->is_void)
			continue;
		e = live->is_interrupted ? err_sys(EINTR, "a signal came before tracing began")
					 : live_load_unit(live, live->match->units.data[i]);
		if (e && live->match->units.data[i]->unit.is_inproc && !live->is_interrupted)
			e = live_leave_process(live, i, false, e);
	}
	report_end(live->report);
	return e;
}

/* ---- attaching ------------------------------------------------------------------------------ */

int live_cpu(const struct live *live)
{
	return live->opts->val[OPT_cpu] == OPT_UNSET ? -1 : (int)live->opts->val[OPT_cpu];
}

static void notice_attach(void *ctx, const char *msg)
{
	report_notice(ctx, "%s", msg);
}

struct attach_opts live_attach_opts(struct live *live)
{
	return (struct attach_opts){
		.cpu = live_cpu(live),
		.max_places = (uint32_t)live->opts->val[OPT_maxplaces],
		.has_children = live_follows_children(live),
		.is_interrupted = &live->is_interrupted,
		.notice = notice_attach,
		.notice_ctx = live->report,
	};
}

struct err *live_attach_unit(struct live *live, struct session_unit *u)
{
	struct attach_opts opts = live_attach_opts(live);
	struct err *e;

	opts.group = u->group;
	opts.only_children = u->is_for_children;
	live_give_probes(u); /* if it was attached by another engine, or to another program */
	e = quota_take(QUOTA_PROBES, u->points.len);
	if (e)
		return e;
	/* after an error some may be attached; they are given back when the unit is detached */
	u->ntaken = u->points.len;
	return u->engine->engine->attach(u->engine, u->loaded, &opts, live->attachments);
}

void live_give_probes(struct session_unit *u)
{
	quota_give(QUOTA_PROBES, u->ntaken);
	u->ntaken = 0;
}

/* Units of what processes have mapped since the clauses were matched are attached already. */
struct err *live_attach_units(struct live *live)
{
	uint64_t done = 0, total = 0;
	struct err *e;
	bool is_lost;

	quota_wait(&live->is_interrupted, notice_attach, live->report);
	e = live_begin_turns(live);
	is_lost = e && live->inprocs.of.len && !live->shares_turns;
	if (is_lost)
		e = live_share_turns(live, e);
	if (is_lost && !e)
		e = live_begin_turns(live);
	if (e)
		return e;
	for (uint32_t i = 0; i < live->match->units.len; i++)
		total += live->match->units.data[i]->points.len;
	report_begin(live->report, "placing probes", total);
	for (uint32_t i = 0; i < live->match->units.len && !live->is_interrupted && !e; i++) {
		struct session_unit *u = live->match->units.data[i];

		done += u->points.len;
		if (u->group || u->is_void)
			continue;
		if (is_lost && u->unit.is_inproc)
			e = err_new("jumps need the turn alone");
		else if (!unit_has_timers(u))
			e = live_attach_unit(live, u);
		if (e && u->unit.is_inproc)
			e = live_leave_process(live, i, true, e);
		report_progress(live->report, done);
		if (!e)
			report_debug(live->report, "'%s': attached", u->unit.name);
	}
	live_end_turns(live);
	report_end(live->report);
	if (e)
		return e;
	return live->is_interrupted ? NULL : live_start_timers(live);
}

/* Fires BEGIN or END, if a clause is enabled on it. */
struct err *live_fire(const struct live *live, uint32_t key)
{
	for (uint32_t i = 0; i < live->match->units.len; i++) {
		const struct session_unit *u = live->match->units.data[i];

		if (!u->unit.is_begin_end)
			continue;
		for (uint32_t j = 0; j < u->points.len; j++)
			if (u->points.data[j].key == key)
				return u->engine->engine->fire(u->engine, u->loaded, key);
	}
	return NULL;
}

/* ---- what is missed ------------------------------------------------------------------------- */

/*
 * The firings that the kernel has left out so far. To be called before links are closed: they have
 * counters, too.
 */
static uint64_t missed_sum(const struct live *live)
{
	bool has_yielding = false;
	uint64_t n = 0;

	for (uint32_t i = 0; i < live->match->units.len; i++) {
		const struct session_unit *u = live->match->units.data[i];

		has_yielding |= u->traits->yields;
		if (u->loaded)
			n += u->engine->engine->missed(u->engine, u->loaded);
	}
	return has_yielding ? n + engines_links_missed(&live->engines, live->attachments) : n;
}

/*
 * Returns how many firings of kernel functions were missed before all probes were attached. No
 * clause would have run for them, so they are not reported as lost. The kernel needs seconds to
 * attach all functions, and calls tens of thousands of them meanwhile.
 */
static uint64_t missed_early(const struct live *live)
{
	for (uint32_t i = 0; i < live->match->units.len; i++)
		if (live->match->units.data[i]->traits->yields)
			return missed_sum(live);
	return 0;
}

void live_count_missed(struct live *live)
{
	uint64_t n = missed_sum(live);

	live->nmissed += n - MIN(n, live->nmissed_early);
}

void live_note_missed(struct live *live)
{
	live->nmissed_early = missed_early(live);
}
