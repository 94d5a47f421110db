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
		unwinds_request(s->tables, req);
	else
		vec_push(&s->meetings, *req);
}

/*
 * Tables come first: to look at a process takes longer than to read the rows of most files, and
 * stacks are cut until these are there.
 */
static void requests_take(struct stacks *s)
{
	s->engine->ops->requests(s->engine->ctx, request_take, s);
	while (s->meetings.len) {
		const struct rt_ureq req = s->meetings.data[0];

		s->meetings.len--;
		memmove(s->meetings.data, s->meetings.data + 1, s->meetings.len * sizeof(req));
		ustacks_add_process(s->helpers, &req);
		s->engine->ops->requests(s->engine->ctx, request_take, s);
	}
}

void requests_take_between(struct stacks *s)
{
	if (!s->is_serving)
		requests_take(s);
}

void stacks_serve(struct stacks *s)
{
	if (!s || !s->tables || s->is_serving)
		return;
	s->is_serving = true;
	requests_take(s);
	s->is_serving = false;
}
