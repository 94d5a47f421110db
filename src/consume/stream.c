/* SPDX-License-Identifier: MIT */
/* Passes records from the engines through speculations and the policy ring (stream.h). */
#include "consume/stream.h"

#include "consume/latest.h"
#include "consume/merge.h"
#include "consume/spec.h"

struct stream {
	struct engine_run *const *runs;
	uint32_t nruns;
	struct specs *specs;
	struct latest *latest; /* for the policy ring; NULL for other policies */
	uint32_t nclauses;
	engine_record_f *func; /* of the current drain */
	void *ctx;
};

/* All speculations are in one engine (session/match/together.h); NULL: there are none. */
static const uint64_t *spec_words(struct engine_run *const *runs, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (runs[i]->spec)
			return runs[i]->spec;
	return NULL;
}

struct stream *stream_create(struct engine_run *const *runs, uint32_t n,
			     const struct stream_opts *opts)
{
	struct stream *s = xcalloc(1, sizeof(*s));

	s->runs = runs;
	s->nruns = n;
	s->specs = specs_create(opts->layout, spec_words(runs, n), opts->specsize);
	s->nclauses = opts->layout->nclauses;
	if (opts->keep)
		s->latest = latest_create(runs[0]->ncpus, opts->keep);
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
		e = merge_drain(s->runs, s->nruns, horizon, record_read, s);
	if (e)
		return e;
	/* END may still commit a speculation that is active when tracing stops */
	specs_drain_end(s->specs, is_last ? horizon : MIN(horizon, now_ns()));
	if (s->latest && is_last)
		e = latest_drain(s->latest, record_hand_out, s);
	return e;
}
