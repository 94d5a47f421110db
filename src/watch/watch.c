/* SPDX-License-Identifier: MIT */
/* Passes the calls of watch.h to the two sources of events, and keeps the subscribers. */
#include "watch/watch.h"

#include "watch/procs.h"
#include "watch/records.h"

struct watch {
	struct watch_hooks hooks;
	struct subscribers subs;
	struct records *records; /* events of all processes; NULL until watch_all() */
	struct procs *procs;	 /* followed processes; NULL until watch_following() */
};

struct watch *watch_create(const struct watch_hooks *hooks)
{
	struct watch *w = xcalloc(1, sizeof(*w));

	w->hooks = *hooks;
	return w;
}

void watch_destroy(struct watch *w)
{
	if (!w)
		return;
	procs_destroy(w->procs);
	records_destroy(w->records);
	vec_deinit(&w->subs.list);
	free(w);
}

void watch_subscribe(struct watch *w, const struct watch_subscriber *sub, void *ctx)
{
	vec_push(&w->subs.list, (struct subscription){sub, ctx});
}

struct err *watch_all(struct watch *w)
{
	return records_create(&w->subs, &w->records);
}

struct err *watch_cpu(struct watch *w, uint32_t cpu, int *ret_fd)
{
	return records_renew(w->records, cpu, ret_fd);
}

void watch_drain(struct watch *w)
{
	if (w)
		records_drain(w->records);
}

bool watch_is_full(const struct watch *w)
{
	return records_are_full(w->records);
}

uint32_t watch_fds(const struct watch *w, const int **ret_fds)
{
	return records_fds(w->records, ret_fds);
}

struct err *watch_following(struct watch *w, const struct watch_following *opts, int *ret_fd)
{
	return procs_create(&w->hooks, &w->subs, opts, &w->procs, ret_fd);
}

struct err *watch_follow(struct watch *w, const struct proc_id *id, uint32_t flags)
{
	return procs_follow(w->procs, id, flags);
}

void watch_work(struct watch *w)
{
	if (w && w->procs)
		procs_work(w->procs);
}

void watch_stop(struct watch *w)
{
	if (w && w->procs)
		procs_stop(w->procs);
}

void watch_failed(struct watch *w, const struct watch_proc *p, const char *what, struct err *e)
{
	procs_failed(w->procs, p, what, e);
}
