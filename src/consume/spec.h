/*
 * Consumer side of speculations: keeps their records until commit() comes, or nothing can come.
 *
 * A record says which speculation it belongs to: an id and how often that had been given out
 * (struct rt_spec_tag). commit() is a record of its own; discard() leaves none, so a speculation
 * that is no longer active is dropped when everything written while it was must have been read.
 *
 * Owns     copies of the records.
 * Errors   those of the function that prints. A speculation that is full is not an error: what does
 *          not fit is counted.
 * Units    sizes in bytes, times in ns of CLOCK_MONOTONIC.
 * Threads  one consumer.
 */
#pragma once

#include "bpf/layout.h"
#include "probe/engine.h"

struct specs;

/* words: of MAP_SPEC, shared with the kernel; NULL when nothing speculates. size: per speculation
 * and CPU. */
struct specs *specs_create(const struct layout *l, const uint64_t *words, uint64_t size);
void specs_destroy(struct specs *s); /* NULL is allowed */

/* Around a drain of the rings up to horizon; the second one only if all of it was handed out. */
void specs_drain_begin(struct specs *s);
void specs_drain_end(struct specs *s, uint64_t horizon);
/* Prints what an error has left of a commit, before new records come. */
MUST_CHECK struct err *specs_resume(struct specs *s, engine_record_f *print, void *ctx);
/* A record of the drain: keeps it, or has it printed, and with a commit all that waited for it. */
MUST_CHECK struct err *specs_record(struct specs *s, const struct rt_rec *rec, uint32_t len,
				    uint32_t cpu, const struct rt_rec *next, engine_record_f *print,
				    void *ctx);
/* Records that did not fit, since the beginning. */
uint64_t specs_drops(const struct specs *s);
/* Speculations whose records are kept, for tests. */
uint32_t specs_waiting(const struct specs *s);
