/* SPDX-License-Identifier: MIT */
/*
 * The work phase of a session: turns what a run records and counts into output.
 *
 * Owns     records that are held back, the snapshot of the aggregations, the printer.
 * Units    times in ns of CLOCK_MONOTONIC.
 * Errors   struct err *, to the caller of dtrace_work(); lost records and faults of clauses are
 *          reported (messages.c).
 */
#pragma once

#include <stdio.h>

#include "agg/agg.h"
#include "render/print.h"
#include "session/arrivals/arrivals.h"

struct drops;
struct stream;

struct consumer {
	/* The parts of the session that it uses. */
	struct arrivals *arrivals;
	struct live *live; /* its records are consumed */
	const struct match *match;
	struct probes *probes;
	struct print_opts print_opts;

	/* These are valid from consumer_start() to consumer_undo(). */
	struct stream *stream;
	struct drops *drops;
	struct agg_merge *engine_aggs; /* aggs reads these: those of all engines */
	struct aggs *aggs;
	struct printer *printer;
	struct print_hooks print_hooks;
	bool is_ended;			 /* END has fired */
	FILE *fp;			 /* the output of the dtrace_work() that runs */
	uint64_t work_at, work_interval; /* last dtrace_work(), and how soon the next is due */
	uint32_t printed;		 /* records, for RECORDS_A_SERVICE */
	uint64_t status_at;		 /* when lost records are counted next */
	uint64_t memory_at;		 /* when the option debug next says what is kept */
	uint64_t snap_at;		 /* when aggregations may be read again */
	uint64_t sites_at;		 /* when places of a language are read next, */
	uint64_t sites_interval;	 /* and how long after the last time */
	bool is_snapped;		 /* this dtrace_work() has read the aggregations */
	uint32_t remedies_given;	 /* bits of messages.c */
	uint64_t late_stacks;		 /* of which the user knows */
	uint64_t spent_stacks;		 /* the same */
	uint64_t fence_ended;		 /* the same: keeper_fence_ended() */
	struct live_checked live_told;	 /* the same, of objects of live() */
	uint32_t faults, faults_held;	 /* reported and held back since the last status_at */
};

void consumer_init(struct consumer *c, struct arrivals *a);
/* Takes over changed options and targets. */
void consumer_refresh(struct consumer *c);
/* Prepares to consume a run that is loaded. */
MUST_CHECK struct err *consumer_start(struct consumer *c);
void consumer_undo(struct consumer *c);

/* Returns when consumer_work() should be called again. */
uint64_t consumer_due(const struct consumer *c);
/* Reads and prints the records that are there; now and then reports what was lost. */
MUST_CHECK struct err *consumer_work(struct consumer *c, FILE *fp);
/* Does the same for the last time: stops the run, fires END, and prints the rest. */
MUST_CHECK struct err *consumer_finish(struct consumer *c, FILE *fp);

/* Hands records to these callbacks from now on, beside the handlers of the report. */
void consumer_set_callbacks(struct consumer *c, dtrace_consume_probe_f *probe,
			    dtrace_consume_rec_f *rec, void *arg);
/* Takes a snapshot of the aggregations. */
MUST_CHECK struct err *consumer_snap(struct consumer *c);
/*
 * Prints the aggregations that no printa() has printed, in the order of walk; NULL: in the order
 * that the options give.
 */
MUST_CHECK struct err *consumer_print_aggs(struct consumer *c, FILE *fp,
					   dtrace_aggregate_walk_f *walk);
/* Prints what the form of output needs at its end. */
MUST_CHECK struct err *consumer_end_output(struct consumer *c, FILE *fp);

/* livecheck.c: the next snapshot checks objects of live() as the options say. */
void consumer_livecheck_set(struct consumer *c);
/* Says how many were gone, or could not be checked, since it was said last. */
void consumer_livecheck_report(struct consumer *c);

/* memory_use.c: with the option debug, lists now and then what is kept in memory. */
void consumer_debug_memory(struct consumer *c);

/*
 * messages.c: these report lost records, faults of clauses, and faults of the consumer while it
 * printed a record.
 */
MUST_CHECK struct err *consumer_report_drops(struct consumer *c);
MUST_CHECK struct err *consumer_report_fault(struct consumer *c, const struct rt_rec_fault *f,
					     uint32_t cpu);
void consumer_report_library_fault(struct consumer *c, uint32_t clause, uint32_t probe,
				   const char *text);
