/* SPDX-License-Identifier: MIT */
/* Passes records from an engine through speculations and the policy ring (stream.h). */
#include "consume/stream.h"

#include "consume/latest.h"
#include "consume/spec.h"

struct stream {
	struct engine_run *engine;
	struct specs *specs;
	struct latest *latest; /* for the policy ring; NULL for other policies */
	uint32_t nclauses;
	engine_record_f *func; /* of the current drain */
	void *ctx;
};

struct stream *stream_create(struct engine_run *engine, const struct stream_opts *opts)
{
	struct stream *s = xcalloc(1, sizeof(*s));

	s->engine = engine;
	s->specs = specs_create(opts->layout, engine->spec, opts->specsize);
	s->nclauses = opts->layout->nclauses;
	if (opts->keep)
		s->latest = latest_create(engine->ncpus, opts->keep);
	return s;
}

void stream_destroy(struct stream *s)
{
	if (!s)
		return;
	specs_destroy(s->specs);
	latest_destroy(s->latest);
	free(s);
}

const struct specs *stream_specs(const struct stream *s)
{
	return s->specs;
}

/* Passes on the next record only if it is one of a clause. */
static struct err *record_hand_out(void *ctx, const struct rt_rec *rec, uint32_t len, uint32_t cpu,
				   const struct rt_rec *next)
{
	const struct stream *s = ctx;

	if (next && next->clause >= s->nclauses)
		next = NULL;
	return s->func(s->ctx, rec, len, cpu, next);
}

/* Passes on a record that no speculation holds back. */
static struct err *record_committed(void *ctx, const struct rt_rec *rec, uint32_t len, uint32_t cpu,
				    const struct rt_rec *next)
{
	struct stream *s = ctx;

	if (!s->latest)
		return record_hand_out(s, rec, len, cpu, next);
	latest_add(s->latest, rec, len, cpu);
	return NULL;
}

static struct err *record_read(void *ctx, const struct rt_rec *rec, uint32_t len, uint32_t cpu,
			       const struct rt_rec *next)
{
	struct stream *s = ctx;

	return specs_record(s->specs, rec, len, cpu, next, record_committed, s);
}

struct err *stream_drain(struct stream *s, uint64_t horizon, bool is_last, engine_record_f *func,
			 void *ctx)
{
	struct err *e;

	s->func = func;
	s->ctx = ctx;
	specs_drain_begin(s->specs);
	e = specs_resume(s->specs, record_committed, s);
	if (!e)
		e = s->engine->engine->drain(s->engine, horizon, record_read, s);
	if (e)
		return e;
	/* END may still commit a speculation that is active when tracing stops */
	specs_drain_end(s->specs, is_last ? horizon : MIN(horizon, now_ns()));
	if (s->latest && is_last)
		e = latest_drain(s->latest, record_hand_out, s);
	return e;
}
