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
#include "session/prewatch.h"

#include "session/arrivals.h"
#include "watch/watch.h"

static void watch_begin(void *ctx)
{
	struct run *run = ctx;
	CLEANUP(free) uint32_t *online = NULL;
	CLEANUP(free) int *cpus = NULL;
	uint32_t n, ncpus;
	struct err *e;

	if (run->early || run->is_active)
		return;
	n = cpus_online(&online);
	ncpus = n ? online[n - 1] + 1 : 0;
	cpus = xcalloc(MAX(ncpus, 1u), sizeof(*cpus));
	memset(cpus, -1, ncpus * sizeof(*cpus));
	for (uint32_t i = 0; i < n; i++)
		cpus[online[i]] = (int)online[i];
	attachments_prepare(&run->attachments);
	run->early = watch_create(&(struct watch_hooks){0});
	later_subscribe_all(run, run->early);
	e = watch_all(run->early, cpus, ncpus);
	if (e || !ncpus)
		early_end(run);
	err_destroy(e); /* the mappings of all processes will be read again */
}

void early_enable(struct run *run)
{
	struct provider_env *env = probes_env(run->probes);

	env->on_scan = watch_begin;
	env->scan_ctx = run;
}

bool early_report(struct run *run)
{
	bool is_whole = run->early && !watch_is_full(run->early);

	if (is_whole)
		watch_drain(run->early);
	early_end(run);
	return is_whole;
}

void early_end(struct run *run)
{
	watch_destroy(run->early);
	run->early = NULL;
}
