/* SPDX-License-Identifier: MIT */
/*
 * Policy ring: keeps the latest bytes of each CPU's records, to be printed at the end.
 *
 * When a BPF ring buffer is full, the kernel drops new records, not old ones. So the buffers are
 * drained as with other policies, and old records are forgotten here, whole and oldest first.
 *
 * Owns     copies of the records.
 * Units    sizes in bytes.
 * Errors   struct err *: the engine's, or that of the function which takes the records.
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
