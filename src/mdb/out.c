/* SPDX-License-Identifier: MIT */
/* Rows of commands to text and JSON. */
#include "mdb/out.h"

#include <inttypes.h>

#include "base/text.h"

void emit_deinit(struct out *o)
{
	strbuf_deinit(&o->text);
	vec_deinit(&o->piped);
}

void emit_begin(struct out *o, const char *command)
{
	o->nrows = 0;
	o->is_row = false;
	if (!o->is_json || o->is_piped)
		return;
	strbuf_adds(&o->text, "{\"command\": ");
	json_quote(&o->text, command, strlen(command));
	strbuf_adds(&o->text, ", \"rows\": [");
}

void emit_finish(struct out *o, const char *error)
{
	emit_end(o);
	if (!o->is_json || o->is_piped)
		return;
	strbuf_addc(&o->text, ']');
	if (error) {
		strbuf_adds(&o->text, ", \"error\": ");
		json_quote(&o->text, error, strlen(error));
	}
	strbuf_adds(&o->text, "}\n");
}

void emit_row(struct out *o)
{
	emit_end(o);
	o->is_row = true;
	o->nmembers = 0;
	if (o->is_json && !o->is_piped)
		strbuf_adds(&o->text, o->nrows ? ", {" : "{");
	o->nrows++;
}

void emit_end(struct out *o)
{
	if (!o->is_row)
		return;
	o->is_row = false;
	if (o->is_piped)
		return;
	while (!o->is_json && o->text.len && o->text.data[o->text.len - 1] == ' ')
		o->text.data[--o->text.len] = '\0';
	strbuf_addc(&o->text, o->is_json ? '}' : '\n');
}

void emit_value(struct out *o, uint64_t value)
{
	if (o->is_piped)
		vec_push(&o->piped, value);
}

/* ---- members --------------------------------------------------------------------------------- */

/* Begins a member of JSON; false: the output is text, which shows it if width is not 0. */
static bool member_begin(struct out *o, const char *name)
{
	if (!o->is_json || o->is_piped)
		return false;
	strbuf_adds(&o->text, o->nmembers++ ? ", " : "");
	json_quote(&o->text, name, strlen(name));
	strbuf_adds(&o->text, ": ");
	return true;
}

/* Adds a column of text, and a blank behind it. */
static void column_add(struct out *o, const char *text, size_t len, int width)
{
	size_t room = (size_t)abs(width), pad = room > len ? room - len : 0;

	if (o->is_piped || !width)
		return;
	if (width > 0)
		strbuf_pad(&o->text, ' ', pad);
	strbuf_add(&o->text, text, len);
	if (width < 0)
		strbuf_pad(&o->text, ' ', pad);
	strbuf_addc(&o->text, ' ');
}

void emit_addr(struct out *o, const char *name, uint64_t addr, int width)
{
	char text[32];
	int n;

	if (member_begin(o, name)) {
		strbuf_addf(&o->text, "\"0x%" PRIx64 "\"", addr);
		return;
	}
	n = snprintf(text, sizeof(text), "%" PRIx64, addr);
	column_add(o, text, (size_t)n, width);
}

void emit_int(struct out *o, const char *name, int64_t number, int width)
{
	char text[32];
	int n = snprintf(text, sizeof(text), "%" PRId64, number);

	if (member_begin(o, name))
		strbuf_adds(&o->text, text);
	else
		column_add(o, text, (size_t)n, width);
}

void emit_bytes(struct out *o, const char *name, const char *bytes, size_t len, int width)
{
	struct strbuf text = {0};

	if (member_begin(o, name)) {
		json_quote(&o->text, bytes, len);
		return;
	}
	text_escape(&text, bytes, len);
	column_add(o, strbuf_text(&text), text.len, width);
	strbuf_deinit(&text);
}

void emit_str(struct out *o, const char *name, const char *text, int width)
{
	emit_bytes(o, name, text, strlen(text), width);
}

void emit_bool(struct out *o, const char *name, bool is)
{
	if (member_begin(o, name))
		strbuf_adds(&o->text, is ? "true" : "false");
}

void emit_json(struct out *o, const char *name, const char *json)
{
	if (member_begin(o, name))
		strbuf_adds(&o->text, json);
}

void emit_list(struct out *o, const char *name)
{
	o->is_list = member_begin(o, name);
	o->nlisted = 0;
	if (o->is_list)
		strbuf_addc(&o->text, '[');
}

static bool element_begin(struct out *o)
{
	if (!o->is_list)
		return false;
	strbuf_adds(&o->text, o->nlisted++ ? ", " : "");
	return true;
}

void emit_list_int(struct out *o, int64_t number)
{
	if (element_begin(o))
		strbuf_addf(&o->text, "%" PRId64, number);
}

void emit_list_str(struct out *o, const char *text, size_t len)
{
	if (element_begin(o))
		json_quote(&o->text, text, len);
}

void emit_list_end(struct out *o)
{
	if (o->is_list)
		strbuf_addc(&o->text, ']');
	o->is_list = false;
}

void emit_say(struct out *o, const char *fmt, ...)
{
	va_list ap;

	if (o->is_json || o->is_piped)
		return;
	va_start(ap, fmt);
	strbuf_vaddf(&o->text, fmt, ap);
	va_end(ap);
}
