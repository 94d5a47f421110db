/* SPDX-License-Identifier: MIT */
/*
 * Lists what a session keeps in memory, for the option debug: once a minute and at the end.
 *
 * All of it is bounded, so that a session may last for months. Each part counts what it has removed
 * to make room.
 */
#include "base/str.h"
#include "session/consumer.h"
#include "sym/sym.h"
#include "unwind/unwind.h"
#include "helper/ustack.h"

#define PERIOD_NS 60000000000ull

static void kept_tell(const struct consumer *c)
{
	const struct run *run = c->run;
	struct strbuf text = {0};

	if (run->names->syms) {
		syms_describe(run->names->syms, &text);
		strbuf_adds(&text, "; ");
	}
	if (run->unwinds) {
		unwinds_describe(run->unwinds, &text);
		strbuf_adds(&text, "; ");
	}
	aggs_describe(c->aggs, &text);
	report_debug(run->report, "kept: %s", strbuf_text(&text));
	text.len = 0;
	if (ustacks_fault(run->ustacks, &text))
		report_debug(run->report, "%s", strbuf_text(&text));
	strbuf_deinit(&text);
}

void consumer_debug_kept(struct consumer *c)
{
	uint64_t now = now_ns();

	if (!report_is_debugging(c->run->report) || (!c->is_ended && now < c->kept_at))
		return;
	c->kept_at = now + PERIOD_NS;
	kept_tell(c);
}
