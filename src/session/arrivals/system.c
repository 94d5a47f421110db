/* SPDX-License-Identifier: MIT */
/* Probes of files that are new in any process: a subscriber of the watch of all processes. */
#include "session/arrivals/impl.h"

#include "keeper/keeper.h"
#include "session/arrivals/prewatch.h"
#include "sym/sym.h"

#define OURS_NS 20000000 /* in this time a process of -c that maps a file is looked at */

/* A process of -c stops and is looked at for all clauses together: that goes first. */
static void all_mapped(void *ctx, const struct watch_subject *s, const struct sym_map *m)
{
	struct arrivals *a = ctx;
	bool is_ours = s->pid == (uint64_t)a->env->created, is_new = false;

	for (uint32_t i = 0; provider_arrivals[i]; i++)
		is_new |= provider_arrivals[i]->files &&
			  provider_arrivals[i]->files->mapped(a->env, s->pid, m);
	if (!is_ours)
		missed_mapped(a->missed, s->pid, m->dev, m->ino, s->time, is_new);
	if (is_new && !is_ours)
		a->has_arrived = true;
	else if (is_new && !a->waits_since)
		a->waits_since = now_ns();
}

static void all_forked(void *ctx, const struct watch_subject *s, uint64_t parent)
{
	const struct arrivals *a = ctx;

	for (uint32_t i = 0; provider_arrivals[i]; i++)
		if (provider_arrivals[i]->files)
			provider_arrivals[i]->files->born(a->env, s->pid, parent);
	missed_forked(a->missed, s->pid, parent);
}

static void all_execed(void *ctx, const struct watch_subject *s)
{
	const struct arrivals *a = ctx;

	missed_gone(a->missed, s->pid, s->time, false);
}

static void all_ended(void *ctx, const struct watch_subject *s)
{
	const struct arrivals *a = ctx;

	missed_gone(a->missed, s->pid, s->time, true);
}

static void all_lost(void *ctx)
{
	struct arrivals *a = ctx;

	a->has_lost = true;
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

void arrivals_subscribe_all(struct arrivals *a, struct watch *w)
{
	watch_subscribe(w, &all_subscriber, a);
}

void arrivals_watch_all(struct arrivals *a)
{
	if (a->wants_all)
		arrivals_subscribe_all(a, live_watch(a->live));
}

static void all_look(struct arrivals *a, bool is_scan)
{
	struct err *e = NULL;

	for (uint32_t i = 0; provider_arrivals[i] && !e; i++) {
		const struct provider_arrivals *from = provider_arrivals[i];
		uint32_t batch = from->files ? from->files->look(a->env, is_scan) : 0;

		if (batch)
			e = arrivals_batch_add(a, from, batch, NULL);
	}
	if (e)
		report_adjusted(a->report, "programs that have begun are not probed: %s",
				err_text(e));
	err_destroy(e);
	arrivals_batches_survey(a);
	arrivals_batches_retire(a);
}

static enum missed_file file_ask(void *ctx, uint64_t dev, uint64_t ino, const char **ret_name)
{
	const struct arrivals *a = ctx;
	enum missed_file kind = MISSED_UNREAD;

	for (uint32_t i = 0; provider_arrivals[i] && kind != MISSED_PROBED; i++)
		if (provider_arrivals[i]->files &&
		    provider_arrivals[i]->files->state(a->env, dev, ino, ret_name))
			kind = *ret_name ? MISSED_PROBED : MISSED_OTHER;
	return kind;
}

/* Says which processes were missed, when their ends are known. */
static void missed_report(struct arrivals *a, bool is_end)
{
	uint64_t now = now_ns();

	if (a->has_lost && !a->says_lost) {
		a->says_lost = true;
		report_adjusted(a->report,
				"the kernel has lost records of what processes map: of files that "
				"were new, processes that ended at once are not traced");
	}
	if (!is_end && !missed_is_open(a->missed))
		return;
	watch_drain(a->live->watch);
	missed_settle(a->missed, now, is_end, a->report);
}

void arrivals_work(struct arrivals *a)
{
	uint64_t placed_at = now_ns();
	const struct keeper *keeper;
	bool is_scan;

	if (a->modules_fd > 0 && !a->live->is_stopped && live_state(a->live) == RT_STATE_ON)
		arrivals_modules_look(a);
	arrivals_waiting_work(a);
	if (!a->wants_all || a->live->is_stopped)
		return;
	missed_report(a, false);
	if (a->waits_since && now_ns() - a->waits_since > OURS_NS)
		a->has_arrived = true;
	if (!(a->has_arrived || a->has_lost) || live_state(a->live) != RT_STATE_ON)
		return;
	is_scan = a->has_lost;
	a->has_arrived = a->has_lost = false;
	a->waits_since = 0;
	all_look(a, is_scan);
	if (a->live->is_interrupted)
		return; /* some probes are not placed: arrivals_stop() looks again */
	keeper = attachments_made_keeper(a->live->attachments);
	if (keeper)
		placed_at = MAX(placed_at, keeper_placed_at(keeper));
	missed_look(a->missed, placed_at, file_ask, a);
}

/* Reads the files that have come and were not looked at. Their probes are not placed any more. */
static void files_read_last(struct arrivals *a)
{

	watch_drain(a->live->watch);
	if (!missed_is_open(a->missed))
		return;
	for (uint32_t i = 0; provider_arrivals[i]; i++) {
		const struct provider_arrivals *from = provider_arrivals[i];

		if (from->files && from->files->look(a->env, false))
			arrivals_batch_match(a, from);
	}
	missed_look(a->missed, now_ns(), file_ask, a);
}

void arrivals_stop(struct arrivals *a)
{
	arrivals_waiting_end(a);
	if (!a->wants_all)
		return;
	files_read_last(a);
	missed_report(a, true);
}

/* What processes have mapped after the clauses were matched, and before the watch began. */
void arrivals_all_start(struct arrivals *a)
{
	bool is_whole;

	a->has_lost = false;
	is_whole = prewatch_report(a);
	watch_drain(a->live->watch);
	is_whole &= !a->has_lost;
	a->has_arrived = a->has_lost = false;
	a->waits_since = 0;
	all_look(a, !is_whole);
	missed_clear(a->missed);
}
