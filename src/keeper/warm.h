/* SPDX-License-Identifier: MIT */
/*
 * Uprobes that save the first request of the keeper a grace period of the kernel.
 *
 * Owns     their descriptors, until warm_end().
 * Errors   none: without them the first request takes longer.
 * Threads  the keeper's; it makes only async-signal-safe calls.
 */
#pragma once

#include <sys/types.h>

#include "base/base.h"

#define WARM_MAX 16 /* uprobes; each lasts WARM_MS */
#define WARM_MS	 4

struct warm {
	uint32_t pmu_type;
	int file; /* whose code is probed; -1: there is none */
	int fds[WARM_MAX];
	uint32_t n;
	bool is_on; /* warm_renew() is to be called every WARM_MS */
};

struct perf_event_attr;
/*
 * Opens an event of the kernel's uprobes, for which capabilities are raised; -1 with errno. pid and
 * cpu: as perf_event_open(2) takes them.
 */
int uprobe_event_open(struct perf_event_attr *ev, pid_t pid, int cpu);

/*
 * Places the first uprobe. pmu_type: the type of uprobes, from sysfs; 0: none is placed, now or
 * later.
 */
void warm_begin(struct warm *w, uint32_t pmu_type);
/* Places one more, which keeps the lock fast for another WARM_MS. */
void warm_renew(struct warm *w);
/* Closes all of them, because no request is expected soon. */
void warm_end(struct warm *w);
