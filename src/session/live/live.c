/* SPDX-License-Identifier: MIT */
/* Beginning, states and end of what is alive (live.h). */
#include "session/live/live.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "consume/wait.h"
#include "inproc/inproc.h"
#include "session/live/sites.h"
#include "kernel/quota.h"
#include "target/control.h"
#include "watch/watch.h"

void live_init(struct live *live, const struct live *parts)
{
	*live = *parts;
	atomic_init(&live->is_interrupted, 0);
	live->attachments = attachments_create(&live->is_interrupted);
	attachments_confine(live->attachments, live->privileges);
	live->cpu_watch.timers = attachments_create(NULL);
	live->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

void live_interrupt(struct live *live)
{
	static const uint64_t one = 1;
	int saved = errno;

	atomic_fetch_add(&live->is_interrupted, 1);
	if (live->remains.of)
		live->remains.interrupt(live->remains.of);
	/* what fails is a counter that is full: it wakes, too */
	(void)!write(live->wake_fd, &one, sizeof(one));
	errno = saved;
}

static bool unit_uses(const struct unit *u, const char *agg)
{
	for (uint32_t i = 0; i < u->nclauses; i++) {
		const struct prog_clause *c = u->clauses[i].layout->clause;

		for (uint32_t k = 0; k < c->nacts; k++)
			if (c->acts[k].kind == ACT_AGG && strcmp(c->acts[k].agg->name, agg) == 0)
				return true;
	}
	return false;
}

bool live_is_all_inproc(const struct live *live, const char *agg)
{
	bool is_all = false;

	for (uint32_t i = 0; i < live->match->units.len; i++) {
		const struct session_unit *u = live->match->units.data[i];

		if (!u->traits->is_in_process || !u->points.len ||
		    (agg && !unit_uses(&u->unit, agg)))
			continue;
		if (!u->unit.is_inproc || u->unit.is_relay)
			return false;
		is_all = true;
	}
	return is_all;
}

void live_deinit(struct live *live)
{
	struct live_remains remains = live->remains;

	live->remains.of = NULL; /* a signal handler may use it */
	if (remains.of)
		remains.close(remains.of);
	if (live->wake_fd >= 0)
		(void)close(live->wake_fd);
	attachments_destroy(live->attachments);
	attachments_destroy(live->cpu_watch.timers);
}

/* ---- waiting -------------------------------------------------------------------------------- */

struct err *live_make_waiter(struct live *live)
{
	struct err *e = live->wake_fd < 0 ? err_sys(EMFILE, "cannot wait for buffers")
					  : waiter_create(live->engines.runs, live->engines.n,
							  live->wake_fd, &live->waiter);

	for (uint32_t i = 0; i < live->targets->procs.len && !e; i++)
		e = waiter_watch(live->waiter, proc_fd(live->targets->procs.data[i]));
	if (!e && quota_over_fd() >= 0)
		e = waiter_watch(live->waiter, quota_over_fd());
	return e ? e : live_begin_stacks(live);
}

/* ---- states --------------------------------------------------------------------------------- */

enum rt_state live_state(const struct live *live)
{
	return (enum rt_state)__atomic_load_n(&live->engines.control->state, __ATOMIC_ACQUIRE);
}

void live_set_state(struct live *live, enum rt_state state)
{
	__atomic_store_n(&live->engines.control->state, state, __ATOMIC_RELEASE);
	engines_set_state(&live->engines, state);
}

/*
 * The record of exit() may be lost to a full buffer. The state shows exit() all the same, and the
 * exit status is then 0.
 */
bool live_is_over(const struct live *live)
{
	return live->is_stopped || live->exit_seen || live_state(live) == RT_STATE_EXITING ||
	       targets_gone(live->targets);
}

struct err *live_run(struct live *live)
{
	struct err *e = NULL;

	for (uint32_t i = 0; i < live->engines.n && !e; i++)
		if (live->engines.runs[i]->engine->run)
			e = live->engines.runs[i]->engine->run(live->engines.runs[i]);
	return e;
}

/* ---- the end -------------------------------------------------------------------------------- */

void live_end(struct live *live)
{
	live->is_stopped = true;
	live_set_state(live, RT_STATE_OFF);
	watch_stop(live->watch);
	live_count_missed(live);
	attachments_close_fast(live->attachments);
	live_end_timers(live);
}

void live_undo(struct live *live)
{
	if (live->engines.n)
		live_set_state(live, RT_STATE_OFF);
	watch_destroy(live->watch);
	live->watch = NULL;
	for (uint32_t i = 0; i < live->match->units.len; i++)
		if (live->match->units.data[i]->unit.is_inproc)
			live_unload_unit(live, live->match->units.data[i]);
	inproc_list_leave(&live->inprocs);
	live_tell_inproc_left(live);
	attachments_close(live->attachments);
	live_end_timers(live);
	for (uint32_t i = 0; i < live->match->units.len; i++)
		live_unload_unit(live, live->match->units.data[i]);
	waiter_destroy(live->waiter);
	live->waiter = NULL;
	stacks_destroy(live->stacks);
	live->stacks = NULL;
	engines_close(&live->engines);
	inproc_list_deinit(&live->inprocs);
	sites_destroy(live->sites);
	live->sites = NULL;
	live_deinit_turns(live);
	live->is_active = live->opts->is_active = false;
}
