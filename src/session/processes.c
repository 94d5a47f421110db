/* SPDX-License-Identifier: MIT */
/* The watch of a session: its hooks, and the subscribers that do not depend on clauses. */
#include <inttypes.h>

#include "base/text.h"
#include "consume/wait.h"
#include "session/arrivals.h"
#include "unwind/unwind.h"
#include "helper/ustack.h"
#include "sym/sym.h"
#include "watch/names.h"
#include "watch/watch.h"

/* ---- hooks ---------------------------------------------------------------------------------- */

static void notice_give(void *ctx, const char *msg)
{
	const struct run *run = ctx;

	report_adjusted(run->report, "%s", msg);
}

static struct err *keeper_get(void *ctx, struct keeper **ret)
{
	struct run *run = ctx;

	return attachments_keeper(&run->attachments, ret);
}

static bool is_over(void *ctx)
{
	const struct run *run = ctx;

	return run->is_stopped || run->is_interrupted || run->exit_seen ||
	       run_state(run) != RT_STATE_ON;
}

struct watch *run_watch(struct run *run)
{
	if (!run->watch)
		run->watch =
			watch_create(&(struct watch_hooks){run, notice_give, keeper_get, is_over,
							   run->names->file_opts.gate});
	return run->watch;
}

/* ---- unwind tables -------------------------------------------------------------------------- */

static void tables_mapped(void *ctx, const struct watch_subject *s, const struct sym_map *m)
{
	if (m->ino)
		unwinds_mapped(ctx, s->pid, m);
}

static void helpers_mapped(void *ctx, const struct watch_subject *s, const struct sym_map *m)
{
	ustacks_mapped(ctx, s->pid, m, s->time);
}

static void helpers_gone(void *ctx, const struct watch_subject *s)
{
	ustacks_gone(ctx, s->pid, s->time);
}

/* A runtime may be a library that a process opens late. */
static const struct watch_subscriber helpers_of_all = {
	.name = "ustack helpers",
	.scope = WATCH_ALL,
	.mapped = helpers_mapped,
	.execed = helpers_gone,
	.ended = helpers_gone,
};

/* Opens a file that any process maps, and reads it before files that a scan has queued. */
static const struct watch_subscriber tables_of_all = {
	.name = "unwind tables",
	.scope = WATCH_ALL,
	.mapped = tables_mapped,
};

static void tables_settled(void *ctx, const struct watch_subject *s)
{
	unwinds_load_process(ctx, (pid_t)s->pid);
}

/* Loads the unwind tables of a followed process before its first stack. */
static const struct watch_subscriber tables_of_followed = {
	.name = "unwind tables of followed processes",
	.scope = WATCH_FOLLOWED,
	.settled = tables_settled,
};

/* ---- lines of the option debug --------------------------------------------------------------- */

static void debug_mapped(void *ctx, const struct watch_subject *s, const struct sym_map *m)
{
	CLEANUP(free) char *path = text_clean(xstrdup(m->path));

	report_debug(ctx, "process %" PRIu64 " maps '%s'", s->pid, path);
}

static void debug_unmapped(void *ctx, const struct watch_subject *s, uint64_t dev, uint64_t ino)
{
	report_debug(ctx, "process %" PRIu64 " unmaps inode %" PRIu64, s->pid, ino);
}

static void debug_execed(void *ctx, const struct watch_subject *s)
{
	report_debug(ctx, "process %" PRIu64 " executes another program%s", s->pid,
		     s->is_other_task ? ", by a thread that was not the first" : "");
}

static void debug_forked(void *ctx, const struct watch_subject *s, uint64_t parent)
{
	report_debug(ctx, "process %" PRIu64 " begins, below %" PRIu64, s->pid, parent);
}

static void debug_ended(void *ctx, const struct watch_subject *s)
{
	report_debug(ctx, "process %" PRIu64 " ends", s->pid);
}

static const struct watch_subscriber debug_subscriber = {
	.name = "debug",
	.scope = WATCH_FOLLOWED,
	.mapped = debug_mapped,
	.unmapped = debug_unmapped,
	.execed = debug_execed,
	.forked = debug_forked,
	.ended = debug_ended,
};

/* ---- what all processes do ------------------------------------------------------------------ */

static struct err *all_watch(struct run *run)
{
	struct watch *w = run_watch(run);
	bool has_addresses = run_has_user_addresses(run);
	const int *fds;
	struct err *e;

	if (has_addresses)
		watch_subscribe(w, &watch_names, names_syms(run->names));
	if (has_addresses && run->unwinds)
		watch_subscribe(w, &tables_of_all, run->unwinds);
	if (run->ustacks)
		watch_subscribe(w, &helpers_of_all, run->ustacks);
	later_watch_all(run);
	e = watch_all(w, run->engine->wake_fds, run->engine->ncpus);
	if (e) {
		report_notice(run->report, "%s\n%s", err_text(e),
			      has_addresses ? "processes that end soon will have no names"
					    : "programs that begin later are not probed");
		err_destroy(e);
		return NULL;
	}
	if (has_addresses)
		syms_watch_begin(names_syms(run->names));
	for (uint32_t i = 0, n = watch_fds(w, &fds); i < n && !e; i++)
		e = waiter_listen(run->waiter, fds[i]);
	return e;
}

struct err *run_watch_processes(struct run *run)
{
	bool wants_all = run_has_user_addresses(run) || later_has_pids(run);
	struct err *e = wants_all ? all_watch(run) : NULL;

	if (e)
		return e;
	if (run->later && report_is_debugging(run->report))
		watch_subscribe(run_watch(run), &debug_subscriber, run->report);
	later_start(run);
	if (run->later && run->unwinds)
		watch_subscribe(run_watch(run), &tables_of_followed, run->unwinds);
	return NULL;
}
