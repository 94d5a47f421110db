/* SPDX-License-Identifier: MIT */
/*
 * Consumer side of speculations: keeps their records until commit() comes, or until none can come.
 *
 * The states of a speculation, and who changes them, are explained in record/format.h. A record
 * names its speculation: an id, and how often speculation() had returned that id (struct
 * rt_spec_tag). commit() is a record of its own, discard() leaves none. So the records of a
 * speculation that has ended without a commit are dropped once everything that was written before
 * its end must have been read.
 *
 * Owns     copies of the records.
 * Errors   those of the function that prints. A full speculation is no error: records that do not
 *          fit are counted.
 * Units    sizes in bytes, times in ns of CLOCK_MONOTONIC.
 * Threads  one consumer.
 */
#pragma once

#include "record/layout.h"
#include "probe/engine.h"

struct specs;

/*
 * words: of MAP_SPEC, shared with the kernel; NULL when no program calls speculate(). size: most
 * bytes of a speculation on one CPU.
 */
struct specs *specs_create(const struct layout *l, const uint64_t *words, uint64_t size);
void specs_destroy(struct specs *s); /* NULL is allowed */

/*
 * To be called before and after the rings are drained up to horizon; specs_drain_end() only if all
 * records were handed out.
 */
void specs_drain_begin(struct specs *s);
void specs_drain_end(struct specs *s, uint64_t horizon);
/* Prints the rest of a commit that an error has interrupted; called before new records come. */
MUST_CHECK struct err *specs_resume(struct specs *s, engine_record_f *print, void *ctx);
/*
 * Takes a record of the drain: keeps it, or calls print() for it. A commit prints all records that
 * were kept for it.
 */
MUST_CHECK struct err *specs_record(struct specs *s, const struct rt_rec *rec, uint32_t len,
				    uint32_t cpu, const struct rt_rec *next, engine_record_f *print,
				    void *ctx);
/* The number of records that did not fit, since the beginning. */
uint64_t specs_drops(const struct specs *s);
/* The number of speculations with kept records, for tests. */
uint32_t specs_waiting(const struct specs *s);
