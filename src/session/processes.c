/* The watch of a session: its hooks, and the subscribers that need nothing of the clauses. */
#include "consume/wait.h"
#include "session/later.h"
#include "unwind/unwind.h"
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

	return run->is_stopped || run->exit_seen || run_state(run) != RT_STATE_ON;
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

/* A file that any process maps is opened, and read before what was noted of the rest. */
static const struct watch_subscriber tables_of_all = {
	.name = "unwind tables",
	.scope = WATCH_ALL,
	.mapped = tables_mapped,
};

static void tables_settled(void *ctx, const struct watch_subject *s)
{
	unwinds_load_process(ctx, (pid_t)s->pid);
}

/* Those of a process that is followed are there before its first stack. */
static const struct watch_subscriber tables_of_followed = {
	.name = "unwind tables of followed processes",
	.scope = WATCH_FOLLOWED,
	.settled = tables_settled,
};

/* ---- what all processes do ------------------------------------------------------------------ */

static struct err *all_watch(struct run *run)
{
	struct watch *w = run_watch(run);
	const int *fds;
	struct err *e;

	watch_subscribe(w, &watch_names, names_syms(run->names));
	if (run->unwinds)
		watch_subscribe(w, &tables_of_all, run->unwinds);
	e = watch_all(w, run->engine->wake_fds, run->engine->ncpus);
	if (e) {
		report_notice(run->report, "%s\nprocesses that end soon will have no names",
			      err_text(e));
		err_destroy(e);
		return NULL;
	}
	syms_watch_begin(names_syms(run->names));
	for (uint32_t i = 0, n = watch_fds(w, &fds); i < n && !e; i++)
		e = waiter_listen(run->waiter, fds[i]);
	return e;
}

struct err *run_watch_processes(struct run *run)
{
	struct err *e = run_has_user_addresses(run) ? all_watch(run) : NULL;

	if (e)
		return e;
	later_start(run);
	if (run->later && run->unwinds)
		watch_subscribe(run_watch(run), &tables_of_followed, run->unwinds);
	return NULL;
}
