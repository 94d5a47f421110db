/* SPDX-License-Identifier: MIT */
/* The watch of a session: its hooks, and the watch of all processes. */
#include "consume/wait.h"
#include "session/live/live.h"
#include "sym/sym.h"
#include "watch/names.h"
#include "watch/watch.h"

static void notice_give(void *ctx, const char *msg)
{
	const struct live *live = ctx;

	report_adjusted(live->report, "%s", msg);
}

static struct err *keeper_get(void *ctx, struct keeper **ret)
{
	struct live *live = ctx;

	return attachments_keeper(live->attachments, ret);
}

static bool is_over(void *ctx)
{
	const struct live *live = ctx;

	return live->is_stopped || live->is_interrupted || live->exit_seen ||
	       live_state(live) != RT_STATE_ON;
}

struct watch *live_watch(struct live *live)
{
	if (!live->watch)
		live->watch =
			watch_create(&(struct watch_hooks){live, notice_give, keeper_get, is_over,
							   live->names->file_opts.gate});
	return live->watch;
}

struct err *live_watch_all(struct live *live)
{
	struct watch *w = live_watch(live);
	struct err *e = watch_all(w);
	const int *fds;

	if (e) {
		report_notice(live->report, "%s\n%s", err_text(e),
			      live->stack_needs.has_addresses
				      ? "processes that end soon will have no names"
			      : live->match->layout->live_size
				      ? "live() still counts what processes had before they "
					"executed another program"
				      : "programs that begin later are not probed");
		err_destroy(e);
		return NULL;
	}
	if (live->stack_needs.has_addresses)
		syms_watch_begin(names_syms(live->names));
	for (uint32_t i = 0, n = watch_fds(w, &fds); i < n && !e; i++)
		e = waiter_listen(live->waiter, fds[i]);
	return e;
}
