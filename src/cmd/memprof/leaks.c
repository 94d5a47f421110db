/* SPDX-License-Identifier: MIT */
/* Leaks: blocks of malloc to which nothing points, by type. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "mdb/mdb.h"
#include "mdb/survey.h"
#include "memprof.h"

static void json_print(const struct memprof *m, const struct survey_type *t)
{
	struct strbuf b = {0};

	look_json_begin(m, &b);
	strbuf_addf(&b,
		    ", \"bytes\": %" PRIu64 ", \"count\": %" PRIu64 ", \"held\": %" PRIu64
		    ", \"kind\": \"%s\", \"type\": ",
		    t->bytes, t->count, t->held, t->kind);
	json_quote(&b, t->name, strlen(t->name));
	strbuf_addf(&b, ", \"example\": \"0x%" PRIx64 "\"", t->example);
	if (t->place) {
		strbuf_adds(&b, ", \"stack\": [");
		lines_add(&b, t->place, false);
		strbuf_addc(&b, ']');
	}
	strbuf_adds(&b, "}\n");
	(void)fwrite(b.data, 1, b.len, stdout);
	strbuf_deinit(&b);
}

#define PLACE_INDENT 50

static void row_print(const struct survey_type *t)
{
	char bytes[32], held[32];
	struct strbuf name = {0};

	size_text(bytes, sizeof(bytes), (int64_t)t->bytes);
	size_text(held, sizeof(held), (int64_t)t->held);
	look_text_add(&name, t->name);
	printf("%10s %9" PRIu64 " %10s %14" PRIx64 "  %s\n", bytes, t->count, held, t->example,
	       strbuf_text(&name));
	strbuf_deinit(&name);
	for (const char *line = t->place; line && *line; line = strchr(line, '\n') + 1)
		printf("%*s%.*s\n", PLACE_INDENT, "", (int)strcspn(line, "\n") - 1, line + 1);
}

static void sums_print(const struct survey *s)
{
	char lost[32], all[32];

	size_text(lost, sizeof(lost), (int64_t)s->nlost_bytes);
	size_text(all, sizeof(all), (int64_t)s->nbytes);
	printf("%10s  in %" PRIu64 " block%s %s leaked, of %s in %" PRIu64 "\n", lost, s->nlost,
	       PLURAL(s->nlost), s->nlost == 1 ? "has" : "have", all, s->nblocks);
}

static void table_print(const struct memprof *m, const struct survey *s)
{
	uint32_t nshown = m->top && m->top < s->types.len ? m->top : (uint32_t)s->types.len;
	uint64_t rest = 0;
	char text[32];

	if (nshown)
		printf("%10s %9s %10s %14s  %s\n", "BYTES", "BLOCKS", "WITH HELD", "EXAMPLE",
		       "TYPE");
	for (uint32_t i = 0; i < s->types.len; i++)
		if (i < nshown)
			row_print(&s->types.data[i]);
		else
			rest += s->types.data[i].held;
	if (nshown < s->types.len) {
		size_text(text, sizeof(text), (int64_t)rest);
		printf("... %u more row%s, %s\n", (uint32_t)s->types.len - nshown,
		       PLURAL(s->types.len - nshown), text);
	}
	sums_print(s);
}

/* Blocks that were there before have no place, nor have those that were asked for by others. */
static void places_say(const struct survey *s)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < s->types.len; i++)
		n += s->types.data[i].count;
	say("of %" PRIu64 " leaked block%s that no other one holds, %" PRIu64
	    " %s asked for while malloc was traced",
	    n, n == 1 ? "" : "s", s->nplaced, s->nplaced == 1 ? "was" : "were");
}

int leaks_run(struct memprof *m)
{
	bool is_traced = m->duration_s > 0;
	int status = E_SUCCESS;
	struct places places = {0};
	struct mdb *debugger;
	struct survey s;
	struct err *e;

	if (is_traced)
		status = places_trace(&places, m);
	debugger = is_traced ? places.copy : look_open(m);
	if (!debugger)
		say_fatal(m, "process %d has ended: its memory cannot be looked at", (int)m->pid);
	e = survey_leaks(debugger, is_traced ? place_find : NULL, &places, &s);
	if (e)
		look_fatal(m, e);
	for (uint32_t i = 0; m->is_json && i < s.types.len && (!m->top || i < m->top); i++)
		json_print(m, &s.types.data[i]);
	if (!m->is_json)
		table_print(m, &s);
	look_notes_say(&s);
	if (is_traced)
		places_say(&s);
	survey_deinit(&s);
	mdb_close(debugger);
	places_deinit(&places);
	return status;
}
