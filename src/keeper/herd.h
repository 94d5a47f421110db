/*
 * The map of the processes that the tracer's BPF programs may stop.
 *
 * Its keys are process numbers (u32). When the tracer ends, in whatever way, nobody may stay
 * stopped: whoever is left of tracer and keeper empties the map and resumes those that outlive the
 * tracer.
 */
#pragma once

#include "base/base.h"

/* The value of the map. */
struct herd_member {
	uint32_t flags; /* HERD_OUTLIVES, and the watch's own */
	uint32_t root;	/* the process that was added: this one, or whose descendant it is */
	uint64_t start; /* in ticks: tells it from others that get its number */
};

#define HERD_OUTLIVES 4u /* it does not end with the tracer: it must not be left stopped */

/* Only async-signal-safe calls. */
void herd_release(int procs_fd);
