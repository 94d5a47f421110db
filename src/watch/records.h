/* SPDX-License-Identifier: MIT */
/*
 * The kernel's records of what all processes map, fork and execute, and of their ends.
 *
 * One perf event a CPU counts nothing but carries the kernel's records of executable mappings and
 * of the beginning and end of processes. Only a watch of all processes has these events.
 *
 * Owns     events and their buffers.
 * Errors   struct err *: what the kernel refuses.
 * Facts    record layouts, order within a CPU: Linux include/uapi/linux/perf_event.h. The record
 *          of an exec comes before those of what the new program maps.
 */
#pragma once

#include <linux/perf_event.h>

#include "base/err.h"

struct records;
struct subscribers;

/* The kernel records events from now on, on the CPUs that are online. */
MUST_CHECK struct err *records_create(const struct subscribers *subs, struct records **ret);
/*
 * A CPU has come online: its event, which died when the CPU went, is opened again. Subscribers are
 * told that records may have been lost. *ret_fd replaces a descriptor of records_fds().
 */
MUST_CHECK struct err *records_renew(struct records *w, uint32_t cpu, int *ret_fd);
/*
 * For tests: makes records of one CPU from a buffer that the test has filled. The buffer comes
 * from mmap(): a page, then size bytes, a power of two. The result owns it.
 */
struct records *records_create_over(const struct subscribers *subs,
				    struct perf_event_mmap_page *page, size_t size);
void records_destroy(struct records *w); /* NULL is allowed */
/* Calls the subscribers for every event until now. w: NULL is allowed. */
void records_drain(struct records *w);
/* True if records may have been lost since the last drain. w: NULL is allowed. */
bool records_are_full(const struct records *w);
/* Descriptors that become readable when there are records. w: NULL is allowed. */
uint32_t records_fds(const struct records *w, const int **ret_fds);
