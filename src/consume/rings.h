/*
 * Consumer side of the per-CPU ring buffers: drain, merge by time, wait.
 *
 * Records are handed out where they lie in the kernel's pages. Only a window of each buffer is
 * mapped, because the kernel counts every mapped page as ours: whole buffers would be the largest
 * part of our memory.
 *
 * Owns     its mappings and the epoll descriptor; ring descriptors are the caller's.
 * Errors   struct err *. A record that its program has not finished is not an error: it comes
 *          later.
 * Threads  one consumer a set of rings.
 * Units    sizes in bytes, times in ns of CLOCK_MONOTONIC.
 * Facts    layout of the pages and of record headers: Linux kernel/bpf/ringbuf.c, v5.8 on.
 */
#pragma once

#include "base/err.h"
#include "bpf/rt/abi.h"

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

/* next: the record after this one on the same CPU, or NULL. An error ends the drain. */
typedef struct err *ring_record_f(void *ctx, const struct rt_rec *rec, uint32_t len, uint32_t cpu,
				  const struct rt_rec *next);

#define RINGS_EVERYTHING UINT64_MAX
/*
 * Hands out the records of all CPUs in the order of their times, up to and including horizon.
 * With RINGS_EVERYTHING it waits a little for records that are being written.
 */
MUST_CHECK struct err *rings_drain(struct rings *r, uint64_t horizon, ring_record_f *func,
				   void *ctx);
/* How full the fullest buffer was when the last drain began, in 1/256. */
uint32_t rings_fill(const struct rings *r);

/* Adds a descriptor whose readability ends rings_wait(). */
MUST_CHECK struct err *rings_watch(struct rings *r, int fd);
/* Ends rings_wait(), the next one if there is none now. Signal handlers may call it. */
void rings_wake(const struct rings *r);
/* The same for one that only interrupts it. */
MUST_CHECK struct err *rings_listen(struct rings *r, int fd);
/*
 * Until a program forces a wake-up, a watched descriptor is readable, a signal comes or time is up.
 * False: none of these, but a descriptor of rings_listen() is readable.
 */
bool rings_wait(struct rings *r, uint64_t timeout_ns);
