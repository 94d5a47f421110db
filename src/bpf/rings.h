/* SPDX-License-Identifier: MIT */
/*
 * The consumer's side of the per-CPU ring buffers: drains them, and merges their records by time.
 *
 * Records are not copied: the callback reads them in the kernel's pages. Only a window of each
 * buffer is mapped, because the kernel counts every mapped page as ours: whole buffers would be the
 * largest part of our memory.
 *
 * Owns     the mappings; ring descriptors are the caller's.
 * Errors   struct err *. A record that its program has not finished is not an error: it comes
 *          later.
 * Threads  one consumer a set of rings.
 * Units    sizes in bytes, times in ns of CLOCK_MONOTONIC.
 * Facts    layout of the pages and of record headers: Linux kernel/bpf/ringbuf.c, v5.8 on.
 */
#pragma once

#include "base/err.h"
#include "rt/abi.h"
#include "probe/engine.h"

struct rings;

/*
 * fds[cpu]: the buffer of a CPU, -1 = none; spare: the buffer of all CPUs without one, or -1. Sizes
 * are a page times a power of two.
 */
struct ring_fds {
	const int *fds;
	uint32_t ncpus, size;
	int spare;
	uint32_t spare_size;
};
MUST_CHECK struct err *rings_create(const struct ring_fds *fds, struct rings **ret_rings);
void rings_destroy(struct rings *r); /* NULL is allowed */

/* Does what drain() of struct engine (probe/engine.h) promises. */
MUST_CHECK struct err *rings_drain(struct rings *r, uint64_t horizon, engine_record_f *func,
				   void *ctx);
/* Returns how full the fullest buffer was when the last drain began, in 1/256. */
uint32_t rings_fill(const struct rings *r);
