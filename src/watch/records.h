/*
 * What all processes map, fork, execute, and that they end: the kernel's records.
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

/* The kernel records from now on. cpus: [ncpus], -1 = offline. */
MUST_CHECK struct err *records_create(const struct subscribers *subs, const int *cpus,
				      uint32_t ncpus, struct records **ret);
/*
 * Tests: of one CPU, whose buffer this is: a page, then size bytes, a power of two, from mmap().
 * Owns it.
 */
struct records *records_create_over(const struct subscribers *subs,
				    struct perf_event_mmap_page *page, size_t size);
void records_destroy(struct records *w); /* NULL is allowed */
/* Tells the subscribers what has happened until now. w: NULL is allowed. */
void records_drain(struct records *w);
/* Descriptors that become readable when something happens. w: NULL is allowed. */
uint32_t records_fds(const struct records *w, const int **ret_fds);
