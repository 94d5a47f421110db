/* SPDX-License-Identifier: MIT */
/*
 * What walks ask for: the engine hands out requests for two rooms. One with a mapping is for the
 * table of its file; one without is for the helpers of a process, whose key (rt/helper.h) it has.
 */
#include "stacks/impl.h"

static void request_take(void *ctx, const struct rt_ureq *req)
{
	struct stacks *s = ctx;

	if (req->end)
		vec_push(&s->wanted, *req);
	else
		vec_push(&s->meetings, *req);
}

static void requests_sort(struct stacks *s)
{
	s->engine->ops->requests(s->engine->ctx, request_take, s);
}

static void tables_serve(struct stacks *s)
{
	while (s->wanted.len) {
		const struct rt_ureq req = s->wanted.data[0];

		s->wanted.len--;
		memmove(s->wanted.data, s->wanted.data + 1, s->wanted.len * sizeof(req));
		unwinds_request(s->tables, &req);
	}
}

/*
 * Tables come first: to look at a process takes longer than to read the rows of most files, and
 * stacks are cut until these are there. Of a large file, helpers need not wait for the end.
 */
static void meetings_serve(struct stacks *s, bool with_tables)
{
	if (s->is_meeting)
		return;
	s->is_meeting = true;
	while (s->meetings.len) {
		const struct rt_ureq req = s->meetings.data[0];

		s->meetings.len--;
		memmove(s->meetings.data, s->meetings.data + 1, s->meetings.len * sizeof(req));
		ustacks_add_process(s->helpers, &req);
		requests_sort(s);
		if (with_tables)
			tables_serve(s);
	}
	s->is_meeting = false;
}

static void requests_take(struct stacks *s, bool with_tables)
{
	requests_sort(s);
	if (with_tables)
		tables_serve(s);
	meetings_serve(s, with_tables);
}

void requests_take_between(struct stacks *s, bool with_tables)
{
	requests_take(s, with_tables && !s->is_serving);
}

void stacks_serve(struct stacks *s)
{
	if (!s || !s->tables || s->is_serving)
		return;
	s->is_serving = true;
	requests_take(s, true);
	s->is_serving = false;
}
