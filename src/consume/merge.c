/* SPDX-License-Identifier: MIT */
/* The records of several engines in the order of their times. */
#include "consume/merge.h"

#include "base/vec.h"

/* A record that was copied, and where the next one of its engine and CPU is. */
struct copy {
	struct rt_rec *rec;
	uint32_t len, cpu;
	const struct rt_rec *next; /* NULL: there is none */
};

struct merge {
	VEC(struct copy) copies; /* of all engines but the first, by time */
	uint32_t pos;		 /* the first one that was not handed out */
	engine_record_f *func;
	void *ctx;
};

/* The records that one engine has handed out, copied, to be merged with those of the others. */
struct source {
	VEC(struct copy) copies;
	VEC(uint32_t) last; /* by CPU: 1 + the last one in copies; 0: none yet */
};

static struct err *record_copy(void *ctx, const struct rt_rec *rec, uint32_t len, uint32_t cpu,
			       const struct rt_rec *next)
{
	struct source *s = ctx;
	struct copy c = {xmalloc(len), len, cpu, NULL};

	memcpy(c.rec, rec, len);
	while (s->last.len <= cpu)
		vec_push(&s->last, 0);
	if (s->last.data[cpu])
		s->copies.data[s->last.data[cpu] - 1].next = c.rec;
	vec_push(&s->copies, c);
	s->last.data[cpu] = s->copies.len;
	return NULL;
}

/* Puts the records of one more engine among those that were copied; all are in order. */
static void source_add(struct merge *m, const struct source *s)
{
	VEC(struct copy) all = {0};
	uint32_t i = 0, k = 0;

	while (i < m->copies.len || k < s->copies.len)
		if (k == s->copies.len ||
		    (i < m->copies.len &&
		     m->copies.data[i].rec->time <= s->copies.data[k].rec->time))
			vec_push(&all, m->copies.data[i++]);
		else
			vec_push(&all, s->copies.data[k++]);
	vec_deinit(&m->copies);
	m->copies.data = all.data;
	m->copies.len = all.len;
	m->copies.cap = all.cap;
}

/* Hands out the copies up to that time. */
static struct err *copies_hand_out(struct merge *m, uint64_t until)
{
	struct err *e = NULL;

	while (!e && m->pos < m->copies.len && m->copies.data[m->pos].rec->time <= until) {
		const struct copy *c = &m->copies.data[m->pos++];

		e = m->func(m->ctx, c->rec, c->len, c->cpu, c->next);
	}
	return e;
}

/* A record of the first engine: what the others have recorded until then comes before it. */
static struct err *record_pass(void *ctx, const struct rt_rec *rec, uint32_t len, uint32_t cpu,
			       const struct rt_rec *next)
{
	struct merge *m = ctx;
	struct err *e = copies_hand_out(m, rec->time);

	return e ? e : m->func(m->ctx, rec, len, cpu, next);
}

struct err *merge_drain(struct engine_run *const *runs, uint32_t n, uint64_t horizon,
			engine_record_f *func, void *ctx)
{
	struct merge m = {.func = func, .ctx = ctx};
	struct err *e = NULL;

	if (n == 1)
		return runs[0]->engine->drain(runs[0], horizon, func, ctx);
	for (uint32_t i = 1; i < n && !e; i++) {
		struct source s = {0};

		e = runs[i]->engine->drain(runs[i], horizon, record_copy, &s);
		source_add(&m, &s);
		vec_deinit(&s.copies);
		vec_deinit(&s.last);
	}
	if (!e)
		e = runs[0]->engine->drain(runs[0], horizon, record_pass, &m);
	if (!e)
		e = copies_hand_out(&m, UINT64_MAX);
	for (uint32_t i = 0; i < m.copies.len; i++)
		free(m.copies.data[i].rec);
	vec_deinit(&m.copies);
	return e;
}
