/* SPDX-License-Identifier: MIT */
/*
 * The stream of records from the engines to the renderer, in the order of time: records of a
 * speculation are held back until its commit, and with the policy ring all records until the end.
 *
 * Owns     copies of records that are held back or kept; the buffers are the engine's.
 * Errors   those of the function that gets the records.
 * Threads  one consumer.
 */
#pragma once

#include "probe/engine.h"

struct stream;
struct specs;

struct stream_opts {
	const struct layout *layout;
	uint64_t specsize; /* most bytes of a speculation on one CPU */
	uint64_t keep;	   /* policy ring: bytes to keep for each CPU; 0 = another policy */
};

/* runs: of the n engines of the session; they and the layout must live longer than the stream. */
struct stream *stream_create(struct engine_run *const *runs, uint32_t n,
			     const struct stream_opts *opts);
void stream_destroy(struct stream *s); /* NULL is allowed */

/*
 * Hands out what there is up to the horizon, as struct engine's drain(). is_last: END has fired, so
 * nothing is kept any longer.
 */
MUST_CHECK struct err *stream_drain(struct stream *s, uint64_t horizon, bool is_last,
				    engine_record_f *func, void *ctx);
/* The speculations, whose drops the consumer counts. */
const struct specs *stream_specs(const struct stream *s);
