/* SPDX-License-Identifier: MIT */
/*
 * Uprobes that save the first request of the keeper a grace period of the kernel.
 *
 * Owns     their descriptors, until warmth_end().
 * Errors   none: without them the first request takes longer.
 * Threads  the keeper's; it makes only async-signal-safe calls.
 */
#pragma once

#include "base/base.h"

#define WARM_MAX 16 /* uprobes; each lasts WARM_MS */
#define WARM_MS	 4

struct warmth {
	uint32_t pmu_type;
	int file; /* whose code is probed; -1: there is none */
	int fds[WARM_MAX];
	uint32_t n;
	bool is_on; /* warmth_renew() is to be called every WARM_MS */
};

void warmth_begin(struct warmth *w, uint32_t pmu_type); /* pmu_type: of uprobes; 0: not now */
void warmth_renew(struct warmth *w);
/* Closes the uprobes: no request is expected soon. */
void warmth_end(struct warmth *w);
