/* SPDX-License-Identifier: MIT */
/* The command ::lhandles: sockets, timers and others of a runtime's event loop. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/text.h"
#include "mdb/lang.h"

struct handle {
	bool is_begun, has_object;
	uint64_t addr, object;
	const char *type, *state, *fd; /* of the value; NULL: not said */
};

static void handle_row(struct mdb *m, const struct lang *l, const struct handle *h)
{
	const struct value_style style = {.items = 1, .text = 60, .is_one_line = true};
	struct strbuf text = {0};

	if (!h->is_begun)
		return;
	if (h->has_object)
		lang_value_add(m, l, h->object, &style, &text);
	emit_row(&m->out);
	if (h->has_object)
		emit_value(&m->out, h->object);
	emit_addr(&m->out, "handle", h->addr, 16);
	emit_str(&m->out, "type", h->type ? h->type : "", -10);
	emit_str(&m->out, "state", h->state ? h->state : "", -18);
	if (m->out.is_json && h->fd)
		emit_int(&m->out, "fd", strtoll(h->fd, NULL, 10), 0);
	emit_say(&m->out, "%4s ", h->fd ? h->fd : "");
	if (h->has_object) {
		emit_addr(&m->out, "object", h->object, 16);
		emit_bytes(&m->out, "value", strbuf_text(&text), text.len, 1);
	}
	emit_end(&m->out);
	strbuf_deinit(&text);
}

static void handles_show(struct mdb *m, const struct lang *l, const struct value *v)
{
	struct handle h = {0};

	if (v->items.len)
		emit_say(&m->out, "%16s %-10s %-18s %4s %16s %s\n", "HANDLE", "TYPE", "STATE", "FD",
			 "OBJECT", "");
	for (uint32_t i = 0; i < v->items.len && !m->is_interrupted; i++) {
		const struct value_item *item = &v->items.data[i];
		const char *literal = strbuf_text(&item->said.literal);

		if (item->kind != VALUE_ITEM)
			continue;
		if (strcmp(item->name, "handle") == 0) {
			handle_row(m, l, &h);
			h = (struct handle){.is_begun = true, .addr = item->word};
		} else if (strcmp(item->name, "type") == 0) {
			h.type = literal;
		} else if (strcmp(item->name, "state") == 0) {
			h.state = literal;
		} else if (strcmp(item->name, "fd") == 0) {
			h.fd = literal;
		} else if (strcmp(item->name, "object") == 0) {
			h.object = item->word;
			h.has_object = item->has_word;
		}
	}
	handle_row(m, l, &h);
}

struct err *cmd_lhandles(struct mdb *m, const struct call *c)
{
	bool is_any = false;
	struct lang l;

	(void)c;
	walks_begin(m);
	for (uint32_t i = 0; i < m->replay.nhelpers; i++) {
		struct value v;

		if (!lang_at(m, i, &l))
			continue;
		value_answer_read(l.p, l.h, HELPER_HANDLES, 0, &v);
		is_any |= v.is_known;
		handles_show(m, &l, &v);
		value_free(&v);
	}
	if (is_any)
		return NULL;
	return err_new("the process has no event loop that is described");
}
