/* SPDX-License-Identifier: MIT */
/* What the files of the tracer's side of the data part share. */
#pragma once

#include "base/err.h"
#include "base/hashmap.h"
#include "base/vec.h"
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
	/* data_kin.c */
	VEC(struct ndata *) kin;
	bool is_cut_off; /* of kin: its memory cannot be read */
	/* data_ring.c */
	struct ring *rings;
	struct ring **heap; /* rings that have a record, earliest first; those of kin, too */
	uint32_t nheap, heap_room, fill;
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

/* The i-th of all that count as one: itself, and then its kin; NULL: there are no more. */
static inline struct ndata *ndata_member(struct ndata *d, uint32_t i)
{
	return !i ? d : i <= d->kin.len ? d->kin.data[i - 1] : NULL;
}
/* What became of a member: kin whose memory is gone is passed over from now on, and told. */
MUST_CHECK struct err *ndata_member_err(struct ndata *d, struct ndata *x, struct err *e);
/* ndata_count() of one member. own: the counts of all that count as one. */
MUST_CHECK struct err *ndata_member_count(struct ndata *d, struct rt_control *control,
					  struct ndata_drops *own);
/* ---- values (data_values.c) */

bool value_is_extreme(const struct agg_layout *al);
uint32_t value_nwords(const struct agg_layout *al); /* without the touched word */
static inline uint64_t value_word(const uint8_t *value, uint32_t i)
{
	uint64_t w;

	memcpy(&w, value + (size_t)i * 8, sizeof(w));
	return w;
}
/*
 * to += value - less; less may be NULL. For least and greatest values, value counts if it differs.
 */
void value_add(const struct agg_layout *al, uint64_t *to, const uint8_t *value,
	       const uint8_t *less);
bool value_is_zero(const uint64_t *words, uint32_t n);

/* ---- the parts of a struct ndata */

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
/*
 * Adds the elements of kin, whose process has ended, to what the tracer keeps. *ret_nlost: those
 * that found no room.
 */
MUST_CHECK struct err *maps_absorb(struct ndata *d, struct ndata *kin, uint64_t *ret_nlost);
void lives_init(struct ndata *d);
void lives_deinit(struct ndata *d);
/* As agg_io.alive(), agg_io.bury(). */
MUST_CHECK struct err *lives_each(void *ctx, agg_alive_f *f, void *arg);
bool lives_bury(void *ctx, const struct rt_live_key *key, uint64_t time);
void counters_init(struct ndata *d);
void counters_deinit(struct ndata *d);
/* Calls f for each counter of the map that has counted on a CPU since it was taken. */
typedef void counter_each_f(void *ctx, const uint8_t *key, uint32_t cpu, uint64_t n);
MUST_CHECK struct err *counters_each(struct ndata *d, uint32_t map, counter_each_f *f, void *ctx);
/* Adds to sums[cpu] what the counters of an element have; takes: they begin anew. */
MUST_CHECK struct err *counters_read(struct ndata *d, uint32_t map, const void *key, bool takes,
				     uint64_t *sums);
/* The same for counters: from now on they have what kin has counted. */
MUST_CHECK struct err *counters_absorb(struct ndata *d, const struct ndata *kin);
/* Begins to measure the rate of the counter; start() sets the first clock, at least 10 ms later. */
void clock_init(struct ndata *d);
MUST_CHECK struct err *clock_start(struct ndata *d);
/* A clock that goes on as the other one does; head: of the data part that is filled. */
void clock_copy(struct ndata *to, const struct ndata *from, struct blob_data *head);
/* Whether all records were handed out that are there now. */
bool rings_are_empty(struct ndata *d);
