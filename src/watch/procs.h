/* SPDX-License-Identifier: MIT */
/* Followed processes: the part of the watch (watch.h) behind watch_follow() and watch_work(). */
#pragma once

#include "watch/subscribers.h"

struct procs;

/* hooks and subs must outlive *ret. *ret_fd is readable when there are events. */
MUST_CHECK struct err *procs_create(const struct watch_hooks *hooks, const struct subscribers *subs,
				    const struct watch_following *opts, struct procs **ret,
				    int *ret_fd);
void procs_destroy(struct procs *ps); /* NULL is allowed */
MUST_CHECK struct err *procs_follow(struct procs *ps, const struct proc_id *id, uint32_t flags);
void procs_work(struct procs *ps);
void procs_stop(struct procs *ps);
void procs_failed(struct procs *ps, const struct watch_proc *p, const char *what, struct err *e);
