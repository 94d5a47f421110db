/* SPDX-License-Identifier: MIT */
/* Probes of files that are new in any process: a subscriber of the watch of all processes. */
#include "session/arrivals_impl.h"

#include "keeper/keeper.h"
#include "session/prewatch.h"
#include "sym/sym.h"

#define OURS_NS 20000000 /* in this time a process of -c that maps a file is looked at */

/* A process of -c stops and is looked at for all clauses together: that goes first. */
static void all_mapped(void *ctx, const struct watch_subject *s, const struct sym_map *m)
{
	const struct run *run = ctx;
	struct later *l = run->later;
	bool is_ours = s->pid == (uint64_t)probes_env(run->probes)->created, is_new = false;

	for (uint32_t i = 0; provider_arrivals[i]; i++)
		is_new |= provider_arrivals[i]->files &&
			  provider_arrivals[i]->files->mapped(probes_env(run->probes), s->pid, m);
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

	for (uint32_t i = 0; provider_arrivals[i]; i++)
		if (provider_arrivals[i]->files)
			provider_arrivals[i]->files->born(probes_env(run->probes), s->pid, parent);
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

	for (uint32_t i = 0; provider_arrivals[i] && !e; i++) {
		const struct provider_arrivals *from = provider_arrivals[i];
		uint32_t batch =
			from->files ? from->files->look(probes_env(run->probes), is_scan) : 0;

		if (batch)
			e = later_batch_add(run, from, batch, NULL);
	}
	if (e)
		report_adjusted(run->report, "programs that have begun are not probed: %s",
				err_text(e));
	err_destroy(e);
	later_batches_survey(run);
	later_batches_retire(run);
}

static enum missed_file file_ask(void *ctx, uint64_t dev, uint64_t ino, const char **ret_name)
{
	const struct run *run = ctx;
	enum missed_file kind = MISSED_UNREAD;

	for (uint32_t i = 0; provider_arrivals[i] && kind != MISSED_PROBED; i++)
		if (provider_arrivals[i]->files &&
		    provider_arrivals[i]->files->state(probes_env(run->probes), dev, ino, ret_name))
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

void later_work(struct run *run)
{
	struct later *l = run->later;
	uint64_t placed_at = now_ns();
	bool is_scan;

	if (l && l->modules_fd > 0 && !run->is_stopped && run_state(run) == RT_STATE_ON)
		later_modules_look(run);
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
	if (run->is_interrupted)
		return; /* some probes are not placed: later_stop() looks again */
	if (run->attachments.keeper)
		placed_at = MAX(placed_at, keeper_placed_at(run->attachments.keeper));
	missed_look(l->missed, placed_at, file_ask, run);
}

/* Reads the files that have come and were not looked at. Their probes are not placed any more. */
static void files_read_last(struct run *run)
{
	struct later *l = run->later;

	watch_drain(run->watch);
	if (!missed_is_open(l->missed))
		return;
	for (uint32_t i = 0; provider_arrivals[i]; i++) {
		const struct provider_arrivals *from = provider_arrivals[i];

		if (from->files && from->files->look(probes_env(run->probes), false))
			later_batch_match(run, from);
	}
	missed_look(l->missed, now_ns(), file_ask, run);
}

void later_stop(struct run *run)
{
	if (!run->later || !run->later->wants_all)
		return;
	files_read_last(run);
	missed_report(run, true);
}

/* What processes have mapped after the clauses were matched, and before the watch began. */
void later_all_start(struct run *run)
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
