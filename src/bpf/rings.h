/*
 * Consumer side of the per-CPU ring buffers: drain, merge by time.
 *
 * Records are handed out where they lie in the kernel's pages. Only a window of each buffer is
 * mapped, because the kernel counts every mapped page as ours: whole buffers would be the largest
 * part of our memory.
 *
 * Owns     its mappings; ring descriptors are the caller's.
 * Errors   struct err *. A record that its program has not finished is not an error: it comes
 *          later.
 * Threads  one consumer a set of rings.
 * Units    sizes in bytes, times in ns of CLOCK_MONOTONIC.
 * Facts    layout of the pages and of record headers: Linux kernel/bpf/ringbuf.c, v5.8 on.
 */
#pragma once

#include "base/err.h"
#include "bpf/rt/abi.h"
#include "probe/engine.h"

struct rings;

/*
 * fds[cpu], -1 = none; spare: the buffer of those without one, or -1. Sizes: powers of two of
 * pages.
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
/* How full the fullest buffer was when the last drain began, in 1/256. */
uint32_t rings_fill(const struct rings *r);
