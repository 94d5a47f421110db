/* SPDX-License-Identifier: MIT */
/* Writes a report as text and as JSON. */
#include "crash/doc.h"

#include <inttypes.h>

#include "base/text.h"

void doc_deinit(struct doc *d)
{
	strbuf_deinit(&d->text);
	strbuf_deinit(&d->json);
}

/* Adds a string of JSON in which HTML has no meaning either. */
static void string_add(struct strbuf *out, const char *text, size_t len)
{
	struct strbuf quoted = {0};
	const char *p;

	json_quote(&quoted, text, len);
	p = strbuf_text(&quoted);
	for (size_t i = 0; i < quoted.len; i++) {
		if (p[i] == '<' || p[i] == '>' || p[i] == '&')
			strbuf_addf(out, "\\u%04x", (unsigned char)p[i]);
		else
			strbuf_addc(out, p[i]);
	}
	strbuf_deinit(&quoted);
}

static void name_add(struct doc *d, const char *name)
{
	if (d->has_one)
		strbuf_adds(&d->json, name ? ", " : ",\n");
	d->has_one = true;
	if (name) {
		string_add(&d->json, name, strlen(name));
		strbuf_adds(&d->json, ": ");
	}
}

void doc_open(struct doc *d, const char *name, char bracket)
{
	name_add(d, name);
	strbuf_addc(&d->json, bracket);
	d->has_one = false;
}

void doc_close(struct doc *d, char bracket)
{
	strbuf_addc(&d->json, bracket);
	d->has_one = true;
}

void doc_str(struct doc *d, const char *name, const char *text)
{
	doc_bytes(d, name, text, strlen(text));
}

void doc_bytes(struct doc *d, const char *name, const char *text, size_t len)
{
	name_add(d, name);
	string_add(&d->json, text, len);
}

void doc_int(struct doc *d, const char *name, int64_t number)
{
	name_add(d, name);
	strbuf_addf(&d->json, "%" PRId64, number);
}

void doc_addr(struct doc *d, const char *name, uint64_t addr)
{
	name_add(d, name);
	strbuf_addf(&d->json, "\"0x%" PRIx64 "\"", addr);
}

void doc_bool(struct doc *d, const char *name, bool is)
{
	name_add(d, name);
	strbuf_adds(&d->json, is ? "true" : "false");
}

void doc_say(struct doc *d, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	strbuf_vaddf(&d->text, fmt, ap);
	va_end(ap);
}

void doc_tell(struct doc *d, const char *text, size_t len)
{
	text_escape(&d->text, text, len);
}

void doc_tells(struct doc *d, const char *text)
{
	doc_tell(d, text, strlen(text));
}
