/*
 * Policy ring: of what was recorded, the latest bytes of each CPU are kept and printed at the end.
 *
 * BPF ring buffers of the kernels we support drop what is new when they are full. So they are
 * emptied as always, and what is old is forgotten here: whole records, oldest first.
 *
 * Owns     copies of the records.
 * Units    sizes in bytes.
 * Threads  one consumer.
 */
#pragma once

#include "probe/engine.h"

struct latest;

/* size: per CPU */
struct latest *latest_create(uint32_t ncpus, uint64_t size);
void latest_destroy(struct latest *l); /* NULL is allowed */
void latest_add(struct latest *l, const struct rt_rec *rec, uint32_t len, uint32_t cpu);
/* Hands out all records in the order in which they were added, and forgets them. */
MUST_CHECK struct err *latest_drain(struct latest *l, engine_record_f *func, void *ctx);
