/*
 * What processes map, fork, exec: the kernel's events, for the names of processes that end.
 *
 * One perf event a CPU that counts nothing but carries the kernel's records of executable mappings
 * and of the beginning and end of processes. Only sessions that record user addresses have it.
 *
 * Owns     events and their buffers.
 * Errors   struct err *: the kernel refuses; names of living processes work all the same.
 * Facts    record layouts, order within a CPU: Linux include/uapi/linux/perf_event.h. The record
 *          of an exec comes before those of what the new program maps.
 */
#pragma once

#include <linux/perf_event.h>

#include "base/err.h"

struct mapwatch;
struct sym_map;
struct syms;

/* Events begin at once; syms has been told of all there were when this returns. cpus: [ncpus], -1 =
 * offline. */
MUST_CHECK struct err *mapwatch_create(struct syms *syms, const int *cpus, uint32_t ncpus,
				       struct mapwatch **ret_watch);
/*
 * Tests: of one CPU, whose buffer this is: a page, then size bytes, a power of two, from mmap().
 * Owns it.
 */
struct mapwatch *mapwatch_create_over(struct syms *syms, struct perf_event_mmap_page *page,
				      size_t size);
void mapwatch_destroy(struct mapwatch *w); /* NULL is allowed */
/* Who else wants to know of executable mappings of files. ctx outlives w. */
void mapwatch_on_map(struct mapwatch *w,
		     void (*mapped)(void *ctx, uint64_t pid, const struct sym_map *m), void *ctx);
/* Tells syms what has happened until now. w: NULL is allowed. */
void mapwatch_drain(struct mapwatch *w);
/* Descriptors that become readable when something happens. */
uint32_t mapwatch_fds(const struct mapwatch *w, const int **ret_fds);
