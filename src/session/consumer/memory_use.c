/* SPDX-License-Identifier: MIT */
/*
 * Lists what a session keeps in memory, for the option debug: once a minute and at the end.
 *
 * All of it is bounded, so that a session may last for months. Each part counts what it has removed
 * to make room.
 */
#include "base/str.h"
#include "session/consumer/consumer.h"
#include "sym/sym.h"

#define PERIOD_NS 60000000000ull

static void memory_tell(const struct consumer *c)
{
	const struct live *live = c->live;
	struct strbuf text = {0};

	if (live->names->syms) {
		syms_describe(live->names->syms, &text);
		strbuf_adds(&text, "; ");
	}
	if (stacks_describe(live->stacks, &text))
		strbuf_adds(&text, "; ");
	aggs_describe(c->aggs, &text);
	report_debug(live->report, "kept: %s", strbuf_text(&text));
	strbuf_deinit(&text);
}

void consumer_debug_memory(struct consumer *c)
{
	uint64_t now = now_ns();

	if (!report_is_debugging(c->live->report) || (!c->is_ended && now < c->memory_at))
		return;
	c->memory_at = now + PERIOD_NS;
	memory_tell(c);
}
