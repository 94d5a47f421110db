/*
 * The phase work of a session: what a run records and counts becomes output.
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
#include "session/run.h"

struct drops;
struct stream;

struct consumer {
	struct run *run; /* what is consumed; and, through it, what of the handle is used */
	struct print_opts print_opts;

	/* from consumer_start() to consumer_undo() */
	struct stream *stream;
	struct drops *drops;
	struct aggs *aggs;
	struct printer *printer;
	struct print_hooks print_hooks;
	bool is_ended;			 /* END has fired */
	FILE *fp;			 /* of the dtrace_work() that runs */
	uint64_t work_at, work_interval; /* last dtrace_work(), and how soon the next is due */
	uint64_t status_at;		 /* when drops are looked for */
	uint64_t kept_at;		 /* when the option debug says what is kept */
	uint64_t snap_at;		 /* when aggregations may be read again */
	bool is_snapped;		 /* in this dtrace_work() */
	uint32_t remedies_given;	 /* bits of messages.c */
	uint32_t faults, faults_held;	 /* reported and held back since drops were looked for */
};

void consumer_init(struct consumer *c, struct run *run);
/* Options have changed, or the targets. */
void consumer_refresh(struct consumer *c);
/* The run is loaded. */
MUST_CHECK struct err *consumer_start(struct consumer *c);
void consumer_undo(struct consumer *c);

/* When consumer_work() should be called again. */
uint64_t consumer_due(const struct consumer *c);
/* Reads and prints what there is; now and then, what was lost. */
MUST_CHECK struct err *consumer_work(struct consumer *c, FILE *fp);
/* The same for the last time: the run is stopped, and END fires in between. */
MUST_CHECK struct err *consumer_finish(struct consumer *c, FILE *fp);

/* Who sees records, rows and text from now on: these callbacks, and the handlers of the report. */
void consumer_set_callbacks(struct consumer *c, dtrace_consume_probe_f *probe,
			    dtrace_consume_rec_f *rec, void *arg);
/*
 * EDT_ACTIVE if a callback runs: what is given to it must not change. name: the public function
 * that was called.
 */
MUST_CHECK struct err *consumer_check_idle(const struct consumer *c, const char *name);
/* Reads the aggregations. */
MUST_CHECK struct err *consumer_snap(struct consumer *c);
/* Aggregations that no printa() has printed, in the order of walk; NULL: as the options say. */
MUST_CHECK struct err *consumer_print_aggs(struct consumer *c, FILE *fp,
					   dtrace_aggregate_walk_f *walk);
/* What ends the output in its form. */
MUST_CHECK struct err *consumer_end_output(struct consumer *c, FILE *fp);

/* kept.c: with the option debug, says now and then what is kept in memory. */
void consumer_debug_kept(struct consumer *c);

/* messages.c: lost records, faults of clauses, faults of the consumer while it printed a record. */
MUST_CHECK struct err *consumer_report_drops(struct consumer *c);
MUST_CHECK struct err *consumer_report_fault(struct consumer *c, const struct rt_rec_fault *f,
					     uint32_t cpu);
void consumer_report_library_fault(struct consumer *c, uint32_t clause, uint32_t probe,
				   const char *text);
