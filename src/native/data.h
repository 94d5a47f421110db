/* SPDX-License-Identifier: MIT */
/*
 * The tracer's side of the data part (native/blob.h): lays it out, reads the records and
 * aggregations that a traced process has written into it, and sets its clock.
 *
 *     blob_plan_create()      what lies where, and how large all of it is
 *     ndata_create()          fills the memory, which the process does not use yet
 *     ndata_set_state()       ON: the clock goes, clauses run
 *     ndata_clock_correct()   at each drain, or some times a second
 *     ndata_drain(), ndata_aggs, ndata_count()
 *
 * Trust     The process can change each byte at any time. What is read is copied first, then
 *           bounded; nothing that is found there is followed. A record is handed out only if its
 *           clause and size fit the layout and the engine allows its probe. The work of a drain or
 *           snapshot is bounded by the size of the data part, which the process cannot change.
 *           What is wrong is skipped, and counted (ndata_nbad()).
 * Owns      the plan must live as long as ndata; the descriptor is the caller's.
 * Errors    struct err *: the memory cannot be read, because the process has truncated it.
 * Threads   belongs to one thread.
 *
 * What concurrent updates mean for aggregations
 *     Values are only read while probes fire, so that nothing is lost. take() of an element with a
 *     key marks it dead: functions that look for the key make a new element. What a function adds
 *     to a dead one that it had found before is handed out by the next each(). After NDATA_GRACE_NS
 *     the slot is used again: an update that took longer than that between finding the element and
 *     adding to it is lost. avg() and stddev() are several adds: a value that is read in between is
 *     short by a part of one update.
 */
#pragma once

#include "native/blob.h"
#include "probe/engine.h"

struct ndata;

/* After this time, what a thread has begun counts as given up. */
#define NDATA_GRACE_NS 5000000000ull

struct ndata_opts {
	const struct layout *layout;
	uint32_t ncpus;	    /* possible CPUs */
	uint32_t bufsize;   /* of each CPU's ring; may be rounded up */
	uint64_t max_size;  /* of the data part: tables become smaller to fit; 0: 1 GiB */
	uint32_t ncounters; /* of sites; may become 0 where there are too many for all CPUs */
	/* By index of the map, whether clauses in the process use it; NULL: all of them. */
	const bool *agg_used, *arr_used;
	bool has_samples; /* some clause samples (native_samples()) */
	bool has_live;	  /* some clause in the process calls live() */
};

/* Refused: sizes that cannot fit, with the remedy; E2BIG: a smaller bufsize may work. */
MUST_CHECK struct err *blob_plan_create(const struct ndata_opts *opts, struct blob_plan **ret);
void blob_plan_destroy(struct blob_plan *p); /* NULL is allowed */

/* A place in a program of a language. */
struct ndata_site {
	const char *file; /* "": there is none */
	uint64_t line;	  /* 0: it is not known */
};

struct ndata_hooks {
	/* Whether the clause may have fired on the probe in the process. NULL: it may. */
	bool (*allows)(void *ctx, uint32_t clause, uint32_t probe);
	/* Whether a thread is alive; tid: the id that it has for itself. NULL: not known. */
	bool (*is_alive)(void *ctx, uint32_t tid);
	/*
	 * What the numbers mean that stand in place of lfile and lline in a key (agg_key_site());
	 * the result lives as long as ctx. is_new: they were found in a table of the process;
	 * else, NULL: they never were. NULL: there are none.
	 */
	const struct ndata_site *(*site)(void *ctx, uint64_t code, uint64_t at, bool is_new);
	void *ctx;
	uint32_t pid; /* of the process, as the session numbers it: whose addresses live() has */
	/* No clause notes the time there, so no clock is set (ndata_clock_usable() is false). */
	bool has_no_clock;
};

/*
 * map: a mapping of the data part, all zero, which is not used after the return. fd, off: where the
 * same memory is read and written later. plan and layout stay the caller's.
 */
MUST_CHECK struct err *ndata_create(const struct blob_plan *plan, const struct layout *layout,
				    uint8_t *map, int fd, uint64_t off,
				    const struct ndata_hooks *hooks, struct ndata **ret);
void ndata_destroy(struct ndata *d); /* NULL is allowed */
/* What stands behind the code of the blob; the caller's, to be freed. */
struct blob_conf *ndata_conf(const struct ndata *d, size_t *ret_size);

/* state: enum rt_state. The first ON sets the clock, which takes 10 ms after ndata_create(). */
/*
 * Makes the pages with which the rings begin, 16 MiB of all together, before anything is recorded.
 * The thread that first writes to a page waits 2.5 us for the kernel to make it: 40 ns for each of
 * the records that fill it, which themselves take half of that. Pages that are there already are
 * mapped sixteen at a time, for whom reads first (native/rt/record.c).
 */
MUST_CHECK struct err *ndata_rings_make(const struct ndata *d);
MUST_CHECK struct err *ndata_set_state(struct ndata *d, uint32_t state);
MUST_CHECK struct err *ndata_state(struct ndata *d, uint32_t *ret_state);

/* ---- time ------------------------------------------------------------------------------------ */

/*
 * Whether CLOCK_MONOTONIC can be computed from the time stamp counter on this machine: the kernel
 * does so itself, and the counter runs evenly. Else *ret_why says why a clause that notes the time
 * cannot run in a process, as that of native_takes() (static).
 */
bool ndata_clock_usable(const char **ret_why);
/* Compares the clock in the process, if it has one, with CLOCK_MONOTONIC, and corrects it. */
MUST_CHECK struct err *ndata_clock_correct(struct ndata *d);

/* ---- records --------------------------------------------------------------------------------- */

/*
 * As engine.drain(). A record that was begun and not ended holds back those behind it on its CPU,
 * until its thread is dead, or for NDATA_GRACE_NS.
 */
MUST_CHECK struct err *ndata_drain(struct ndata *d, uint64_t horizon, engine_record_f *func,
				   void *ctx);
uint32_t ndata_fill(const struct ndata *d); /* as engine.fill() */

/* ---- counters, aggregations, threads --------------------------------------------------------- */

/* Adds what was dropped since the last call to the counters of the session. */
MUST_CHECK struct err *ndata_count(struct ndata *d, struct rt_control *control);
/* All that it has handed over: records, updates of aggregations, variables, addresses of live(). */
struct ndata_drops {
	uint64_t records, aggs, vars, lives;
};
struct ndata_drops ndata_dropped(const struct ndata *d);
uint64_t ndata_nbad(const struct ndata *d); /* records that were no records */
/*
 * The number left out of the last whole reading of what is alive (ndata_aggs.alive()): slots
 * that lead to no element of live(), because the process has changed them.
 */
uint64_t ndata_nbad_lives(const struct ndata *d);

/*
 * Gives a counter (struct blob_plan) to a site that does nothing but count. It counts for nobody
 * before ndata_counter_add(). False: there is none left.
 */
bool ndata_counter_make(struct ndata *d, uint32_t *ret);
/*
 * From now on the counter counts for an element, too: of the map, with the key that is padded to
 * the size in the plan, or without keys the u32 number of the element, all of which is copied. One
 * counter may count for several elements, or twice for one; several may count for one element.
 */
void ndata_counter_add(struct ndata *d, uint32_t counter, uint32_t map, const void *key);

/* ctx: a struct ndata. drops() counts what ndata_count() has not handed over. */
extern const struct agg_io ndata_aggs;

/* followed() is true of every address from now on; the data part has a struct blob_samples. */
MUST_CHECK struct err *ndata_samples_end(const struct ndata *d);

/* Frees the variables of threads that have ended (hooks.is_alive): some times a minute. */
MUST_CHECK struct err *ndata_sweep(struct ndata *d);

/* ---- kin (data_kin.c) ------------------------------------------------------------------------ */

/*
 * The data part of a child of the process, which is zeros, and which nobody uses yet: from now on
 * ndata_drain(), ndata_count() and ndata_aggs of d are about both. state: enum rt_state; the clock
 * is that of d. Without tables of live(). The conf that its process needs differs by cookie and pid
 * (ndata_conf()). The result is of d, until ndata_kin_end(); state, clock and sweeps are as those
 * of any other.
 */
MUST_CHECK struct err *ndata_kin_create(struct ndata *d, int fd, const struct ndata_hooks *hooks,
					uint32_t state, struct ndata **ret);
/* Whether all records were handed out that are there now. */
bool ndata_kin_is_drained(struct ndata *x);
/* Its process has ended, and it is drained: d keeps what it has counted, and forgets it. */
void ndata_kin_end(struct ndata *d, struct ndata *x, struct rt_control *control);
