/* SPDX-License-Identifier: MIT */
/* The subcommand analyse: makes reports, which the capturer has it started for. */
#include "crash/analyse.h"
#include "cmd.h"
#include "crash/entries.h"

int analyse_run(struct run *r)
{
	char id[CRASH_ID_MAX + 1];
	struct analyse_opts opts = {.store = r->paths.store,
				    .id = id,
				    .config = r->paths.config,
				    .container = r->container,
				    .entry = r->entry};
	struct crash_store s = {0};
	struct err *e;

	if (!r->argc) {
		e = crash_analyse_waiting(r->paths.store, r->paths.config);
		return e ? error_report(e) : E_SUCCESS;
	}
	e = entry_find(r, &s, id);
	crash_store_close(&s);
	if (!e)
		e = crash_analyse(&opts);
	return e ? error_report(e) : E_SUCCESS;
}
