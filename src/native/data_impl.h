/* SPDX-License-Identifier: MIT */
/* What the files of the tracer's side of the data part share. */
#pragma once

#include "base/err.h"
#include "base/hashmap.h"
#include "native/data.h"
#include "record/layout.h"

struct counters;
struct ring;
struct map_state;
struct live_state;

struct ndata {
	const struct blob_plan *plan;
	const struct layout *layout;
	int fd;
	uint64_t off; /* of the data part in the file */
	struct ndata_hooks hooks;
	uint64_t cookie;
	uint64_t grace_ns; /* NDATA_GRACE_NS; tests wait for less */
	uint64_t final_ns; /* how long the last drain waits for records that are not complete */
	uint64_t nbad;
	struct blob_cpu *cpus; /* as read last, and as handed over by ndata_count() */
	struct blob_cpu *counted;
	struct ndata_drops dropped;
	uint64_t *lost; /* records of each CPU that their threads have given up */
	/* data_ring.c */
	struct ring *rings;
	struct ring **heap; /* rings that have a record, earliest first */
	uint32_t nheap, fill;
	uint64_t waits_until; /* the last drain, for all holes; 0: it has met none */
	/* data_aggs.c: one a map of aggregations */
	struct map_state *maps;
	struct counters *counters; /* data_counters.c */
	struct live_state *lives;  /* data_live.c; NULL: no clause in the process calls live() */
	/* data_clock.c */
	struct blob_clock clock; /* the newest in the process */
	uint8_t clock_number;
	struct clock_sample {
		uint64_t tsc, ns;
	} anchor, middle;
};

/* Read and write the data part; an error when the memory is not there any more. */
MUST_CHECK struct err *ndata_read(const struct ndata *d, uint64_t off, void *buf, size_t len);
MUST_CHECK struct err *ndata_write(const struct ndata *d, uint64_t off, const void *buf,
				   size_t len);
MUST_CHECK struct err *ndata_write_byte(const struct ndata *d, uint64_t off, uint8_t byte);
/* Reads all of d->cpus. */
MUST_CHECK struct err *ndata_read_cpus(struct ndata *d);
/*
 * Returns the place of the first byte at or behind off that may not be zero; end if there is
 * none before end. Pages that nobody has written do not exist.
 */
uint64_t ndata_skip_holes(const struct ndata *d, uint64_t off, uint64_t end);

static inline bool ndata_is_dead(const struct ndata *d, uint64_t thread)
{
	uint32_t tid = (uint32_t)(thread >> 32);

	return tid && d->hooks.is_alive && !d->hooks.is_alive(d->hooks.ctx, tid);
}

void rings_init(struct ndata *d);
void rings_deinit(struct ndata *d);
void maps_init(struct ndata *d);
void maps_deinit(struct ndata *d);
/*
 * The element of live() whose value is at off in the data part: fills in its aggregation, its CPU,
 * and its key, which has room for so many bytes; agg stays 0 where there is none.
 */
void maps_find_elem(struct ndata *d, uint64_t off, struct rt_live *entry, size_t room);
/* Begins a reading that finds out which dead slots of live() are still used by an entry. */
void maps_begin_uses(struct ndata *d);
void lives_init(struct ndata *d);
void lives_deinit(struct ndata *d);
/* As agg_io.alive(), agg_io.bury(). */
MUST_CHECK struct err *lives_each(void *ctx, agg_alive_f *f, void *arg);
void lives_bury(void *ctx, const struct rt_live_key *key, uint64_t time);
void counters_init(struct ndata *d);
void counters_deinit(struct ndata *d);
/* Calls f for each counter of the map that has counted on a CPU since it was taken. */
typedef void counter_each_f(void *ctx, const uint8_t *key, uint32_t cpu, uint64_t n);
MUST_CHECK struct err *counters_each(struct ndata *d, uint32_t map, counter_each_f *f, void *ctx);
/* Adds to sums[cpu] what the counters of an element have; takes: they begin anew. */
MUST_CHECK struct err *counters_read(struct ndata *d, uint32_t map, const void *key, bool takes,
				     uint64_t *sums);
/* Begins to measure the rate of the counter; start() sets the first clock, at least 10 ms later. */
void clock_init(struct ndata *d);
MUST_CHECK struct err *clock_start(struct ndata *d);
