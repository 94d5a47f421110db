/* SPDX-License-Identifier: MIT */
/* Who holds objects of a type, or one object: chains from roots. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "mdb/holders.h"
#include "mdb/mdb.h"
#include "memprof.h"

static void json_print(const struct memprof *m, const struct holders *h,
		       const struct holders_chain *c)
{
	struct strbuf b = {0};

	look_json_begin(m, &b);
	strbuf_addf(&b, ", \"kind\": \"%s\", \"type\": ", h->kind);
	json_quote(&b, h->type, strlen(h->type));
	strbuf_addf(&b, ", \"count\": %" PRIu64 ", \"example\": \"0x%" PRIx64 "\", \"root\": ",
		    c->count, c->example);
	json_quote(&b, c->root, strlen(c->root));
	strbuf_adds(&b, ", \"steps\": [");
	for (uint32_t i = 0; i < c->steps.len; i++) {
		strbuf_adds(&b, i ? ", " : "");
		json_quote(&b, c->steps.data[i], strlen(c->steps.data[i]));
	}
	strbuf_adds(&b, "]}\n");
	(void)fwrite(b.data, 1, b.len, stdout);
	strbuf_deinit(&b);
}

static void line_print(int indent, const char *text)
{
	struct strbuf b = {0};

	look_text_add(&b, text);
	printf("%*s%s\n", indent, "", strbuf_text(&b));
	strbuf_deinit(&b);
}

static void chain_print(const struct holders_chain *c)
{
	printf("%10" PRIu64 " %14" PRIx64, c->count, c->example);
	line_print(2, *c->root ? c->root : "a place that has no name");
	for (uint32_t i = 0; i < c->steps.len; i++)
		line_print(29, c->steps.data[i]);
}

static void table_print(const struct memprof *m, const struct holders *h)
{
	uint32_t nshown = m->top && m->top < h->chains.len ? m->top : (uint32_t)h->chains.len;
	struct strbuf type = {0};
	uint64_t rest = 0;

	if (nshown)
		printf("%10s %14s  HELD BY\n", "COUNT", "EXAMPLE");
	for (uint32_t i = 0; i < h->chains.len; i++)
		if (i < nshown)
			chain_print(&h->chains.data[i]);
		else
			rest += h->chains.data[i].count;
	if (nshown < h->chains.len)
		printf("... %u more chain%s, to %" PRIu64 " object%s\n",
		       (uint32_t)h->chains.len - nshown, PLURAL(h->chains.len - nshown), rest,
		       PLURAL(rest));
	look_text_add(&type, h->type);
	printf("%10" PRIu64 "  of %s", h->nobjects, strbuf_text(&type));
	if (h->nunheld)
		printf(", %" PRIu64 " of which nothing holds that is known", h->nunheld);
	putchar('\n');
	strbuf_deinit(&type);
}

int holds_run(struct memprof *m)
{
	struct mdb *debugger = look_open(m);
	struct holders h;
	struct err *e = holders_find(debugger, m->what, &h);

	if (e)
		look_fatal(m, e);
	for (uint32_t i = 0; m->is_json && i < h.chains.len && (!m->top || i < m->top); i++)
		json_print(m, &h, &h.chains.data[i]);
	if (!m->is_json)
		table_print(m, &h);
	holders_deinit(&h);
	mdb_close(debugger);
	return E_SUCCESS;
}
