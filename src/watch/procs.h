/* SPDX-License-Identifier: MIT */
/*
 * Followed processes: the part of the watch (watch.h) behind watch_follow() and watch_work().
 *
 * It keeps a state for each of them (states.h), compares what each one maps with what it mapped
 * before, and calls the subscribers with the difference.
 *
 * Owns     the processes and the programs in the kernel (follow.h), until procs_destroy(), which
 *          resumes those that are stopped.
 * Errors   struct err *: what the kernel refuses when following begins. What fails later becomes a
 *          notice (procs_failed()).
 * Threads  the one that works.
 */
#pragma once

#include "watch/subscribers.h"

struct procs;

/* hooks and subs must outlive *ret. *ret_fd is readable when there are events. */
MUST_CHECK struct err *procs_create(const struct watch_hooks *hooks, const struct subscribers *subs,
				    const struct watch_following *opts, struct procs **ret,
				    int *ret_fd);
void procs_destroy(struct procs *ps); /* NULL is allowed */
/* Follows a process; one that has ended, or is followed, is no error. flags: WATCH_.... */
MUST_CHECK struct err *procs_follow(struct procs *ps, const struct proc_id *id, uint32_t flags);
/* Handles the events that have come, and calls the subscribers. */
void procs_work(struct procs *ps);
/* Tracing stops: resumes all processes, and calls no subscriber from now on. */
void procs_stop(struct procs *ps);
/* Shows the user what could not be done for a process, unless it was shown last, too; takes e. */
void procs_failed(struct procs *ps, const struct watch_proc *p, const char *what, struct err *e);
