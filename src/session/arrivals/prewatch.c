/* SPDX-License-Identifier: MIT */
/*
 * What processes map between the match of a pattern and the start of tracing.
 *
 * A pattern of programs' own probes is matched against what all processes map then. Later, the
 * watch of all processes (processes.c) sees what they map, but it begins after the clauses were
 * compiled and loaded. So a watch of its own records the time between. When the watch of all
 * processes has begun, its records are given to the same subscriber, and it ends. Without it, the
 * mappings of all processes have to be read a second time.
 *
 * The keeper is started at the same moment: it gets ready while mappings are read and programs
 * loaded.
 */
#include "session/arrivals/prewatch.h"

#include "session/arrivals/arrivals.h"
#include "watch/watch.h"

static void watch_begin(void *ctx)
{
	struct arrivals *a = ctx;
	struct err *e;

	if (a->prewatch || a->live->is_active)
		return;
	attachments_prepare(a->live->attachments);
	a->prewatch = watch_create(&(struct watch_hooks){0});
	arrivals_subscribe_all(a, a->prewatch);
	e = watch_all(a->prewatch);
	if (e)
		prewatch_end(a);
	err_destroy(e); /* the mappings of all processes will be read again */
}

void prewatch_enable(struct arrivals *a)
{
	a->env->on_scan = watch_begin;
	a->env->scan_ctx = a;
}

bool prewatch_report(struct arrivals *a)
{
	bool is_whole = a->prewatch && !watch_is_full(a->prewatch);

	if (is_whole)
		watch_drain(a->prewatch);
	prewatch_end(a);
	return is_whole;
}

void prewatch_end(struct arrivals *a)
{
	watch_destroy(a->prewatch);
	a->prewatch = NULL;
}
