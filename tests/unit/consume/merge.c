/* SPDX-License-Identifier: MIT */
/* Records of several engines in the order of their times. */
#include "consume/merge.h"

#include "base/err.h"
#include "record/format.h"
#include "tap.h"

/* An engine that has these records, ascending times; .clause of each is its number. */
struct fake {
	struct engine_run run;
	const struct rt_rec *recs;
	const uint32_t *cpus;
	uint32_t n, pos;
};

static const struct rt_rec *fake_next(const struct fake *f, uint32_t i)
{
	for (uint32_t k = i + 1; k < f->n; k++)
		if (f->cpus[k] == f->cpus[i])
			return &f->recs[k];
	return NULL;
}

static struct err *fake_drain(struct engine_run *r, uint64_t horizon, engine_record_f *func,
			      void *ctx)
{
	struct fake *f = CONTAINER_OF(r, struct fake, run);
	struct err *e = NULL;

	for (; !e && f->pos < f->n && f->recs[f->pos].time <= horizon; f->pos++)
		e = func(ctx, &f->recs[f->pos], sizeof(struct rt_rec), f->cpus[f->pos],
			 fake_next(f, f->pos));
	return e;
}

static const struct engine engine_fake = {.name = "fake", .drain = fake_drain};

static const struct rt_rec first_recs[] = {{1, 0, 10}, {2, 0, 30}, {3, 0, 30}, {4, 0, 70}};
static const uint32_t first_cpus[] = {0, 1, 0, 1};
static const struct rt_rec second_recs[] = {{5, 0, 5}, {6, 0, 30}, {7, 0, 60}, {8, 0, 90}};
static const uint32_t second_cpus[] = {0, 0, 1, 0};
static const struct rt_rec third_recs[] = {{9, 0, 40}, {10, 0, 80}};
static const uint32_t third_cpus[] = {0, 0};

struct seen {
	char text[256];
	size_t len;
	uint32_t stop_at; /* the clause whose record is an error; 0 = none */
};

/* Notes "clause", then "<next clause" if there is a next record on the CPU. */
static struct err *record_note(void *ctx, const struct rt_rec *rec, uint32_t len, uint32_t cpu,
			       const struct rt_rec *next)
{
	struct seen *s = ctx;

	(void)cpu;
	if (len != sizeof(*rec) || rec->clause == s->stop_at)
		return err_new("stopped at %u", rec->clause);
	s->len += (size_t)snprintf(s->text + s->len, sizeof(s->text) - s->len, " %u", rec->clause);
	if (next)
		s->len += (size_t)snprintf(s->text + s->len, sizeof(s->text) - s->len, "<%u",
					   next->clause);
	return NULL;
}

static struct seen drain(struct engine_run *const *runs, uint32_t n, uint64_t horizon,
			 uint32_t stop_at, struct err **ret)
{
	struct seen s = {.stop_at = stop_at};

	*ret = merge_drain(runs, n, horizon, record_note, &s);
	return s;
}

#define FAKE(name)                                                                                 \
	{                                                                                          \
		{.engine = &engine_fake}, name##_recs, name##_cpus, ARRAY_LEN(name##_recs), 0      \
	}

int main(void)
{
	struct fake a = FAKE(first), b = FAKE(second), c = FAKE(third);
	struct engine_run *runs[] = {&a.run, &b.run, &c.run};
	struct err *e;
	struct seen s;

	s = drain(runs, 1, ENGINE_EVERYTHING, 0, &e);
	ok(!e, "one engine");
	is_str(s.text, " 1<3 2<4 3 4", "its records as it hands them out");

	a.pos = 0;
	s = drain(runs, 3, 50, 0, &e);
	ok(!e, "three engines, up to a time");
	is_str(s.text, " 5<6 1<3 6 2<4 3 9", "by time; the next record is of the same engine");
	s = drain(runs, 3, ENGINE_EVERYTHING, 0, &e);
	ok(!e, "the rest");
	is_str(s.text, " 7 4 10 8", "what was handed out does not come again");
	s = drain(runs, 3, ENGINE_EVERYTHING, 0, &e);
	is_str(s.text, "", "nothing is left");

	a.pos = b.pos = 0;
	s = drain(runs, 2, ENGINE_EVERYTHING, 6, &e);
	ok(e && strcmp(err_text(e), "stopped at 6") == 0, "an error at a copy ends the drain");
	is_str(s.text, " 5<6 1<3", "with what came before it");
	err_destroy(e);
	a.pos = b.pos = 0;
	s = drain(runs, 2, ENGINE_EVERYTHING, 3, &e);
	ok(e != NULL, "an error at a record of the first engine, too");
	err_destroy(e);
	return tap_done();
}
