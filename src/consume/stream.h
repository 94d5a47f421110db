/*
 * The records of a run on their way to whoever shows them: out of the engine in the order of their
 * times, held back while they belong to a speculation that was not committed, and, with the
 * policy ring, kept until the end.
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
	uint64_t specsize; /* per speculation and CPU */
	uint64_t keep;	   /* policy ring: bytes of each CPU that are kept; 0 = another policy */
};

/* engine and layout outlive it. */
struct stream *stream_create(struct engine_run *engine, const struct stream_opts *opts);
void stream_destroy(struct stream *s); /* NULL is allowed */

/*
 * Hands out what there is up to the horizon, as struct engine's drain(). is_last: END has fired, so
 * nothing is kept any longer.
 */
MUST_CHECK struct err *stream_drain(struct stream *s, uint64_t horizon, bool is_last,
				    engine_record_f *func, void *ctx);
/* Their drops are counted on this side. */
const struct specs *stream_specs(const struct stream *s);
