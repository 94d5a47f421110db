/* SPDX-License-Identifier: MIT */
/* JSON of values: numbers, text, bytes, addresses, stacks. */
#include <inttypes.h>

#include "base/text.h"
#include "render/json.h"
#include "sym/sym.h"

void json_int(struct strbuf *o, uint64_t v, bool is_signed)
{
	out_int(o, -1, v, is_signed);
}

void json_hex(struct strbuf *o, const char *bytes, uint32_t size)
{
	strbuf_addc(o, '"');
	for (uint32_t i = 0; i < size; i++)
		strbuf_addf(o, "%02x", (unsigned char)bytes[i]);
	strbuf_addc(o, '"');
}

static void name_members(struct printer *p, struct strbuf *o, const struct position *at,
			 const char *object, bool has_offset)
{
	struct sym_line line;
	struct sym_name n;

	if (!position_find(p, at, &n))
		return;
	json_member(o, object, n.object);
	if (n.name && !(at->pid && p->opts->noresolve))
		json_member(o, "name", n.name);
	if (n.name && has_offset)
		strbuf_addf(o, ", \"offset\": \"0x%" PRIx64 "\"", n.off);
	if (n.has_file_addr && (!n.name || has_offset))
		strbuf_addf(o, ", \"file-address\": \"0x%" PRIx64 "\"", n.file_addr);
	if (at->pid && p->opts->lines &&
	    syms_line(p->syms, at->pid, at->addr - at->is_return, &line)) {
		json_member(o, "file", line.file);
		strbuf_addf(o, ", \"line\": %" PRIu32, line.line);
	}
}

/* What the text of a frame of a program's language says; all parts, or none. */
struct language_text {
	struct {
		const char *at;
		size_t len;
	} func, file, line;
};

static struct language_text language_parts(const char *func, const char *func_end, const char *file,
					   const char *file_end, const char *line, size_t ndigits)
{
	return (struct language_text){{func, (size_t)(func_end - func)},
				      {file, (size_t)(file_end - file)},
				      {line, ndigits}};
}

static size_t digits_at(const char *text)
{
	return strspn(text, "0123456789");
}

/*
 * Takes the text of a helper apart. The helpers write "FILE:LINE (FUNCTION)", Java's "FUNCTION(FILE:LINE)",
 * with a star for code that was compiled, that of Node.js "FUNCTION at FILE line LINE". False: the
 * text has another form.
 */
static bool language_parse(const char *text, struct language_text *ret)
{
	const char *end = text + strlen(text), *p, *q;
	size_t n;

	for (p = strchr(text, ':'); p; p = strchr(p + 1, ':')) {
		n = digits_at(p + 1);
		if (n && end[-1] == ')' && strncmp(p + 1 + n, " (", 2) == 0) {
			*ret = language_parts(p + n + 3, end - 1, text, p, p + 1, n);
			return true;
		}
	}
	p = strrchr(text, '(');
	q = p ? strrchr(p, ':') : NULL;
	n = q ? digits_at(q + 1) : 0;
	if (n && (strcmp(q + 1 + n, ")") == 0 || strcmp(q + 1 + n, ")*") == 0)) {
		*ret = language_parts(text, p, p + 1, q, q + 1, n);
		return true;
	}
	p = strstr(text, " at ");
	for (q = p; q && (q = strstr(q + 1, " line "));) {
		n = digits_at(q + 6);
		if (!n || q[6 + n])
			continue;
		*ret = language_parts(text, p, p + 4, q, q + 6, n);
		return true;
	}
	return false;
}

static void language_members(struct strbuf *o, const char *text)
{
	struct language_text t;
	const char *waiting;

	text += *text == '@';
	waiting = async_text(text);
	if (waiting)
		strbuf_adds(o, ", \"async\": true");
	if (!language_parse(waiting ? waiting : text, &t))
		return;
	strbuf_adds(o, ", \"name\": ");
	json_quote(o, t.func.at, t.func.len);
	strbuf_adds(o, ", \"file\": ");
	json_quote(o, t.file.at, t.file.len);
	strbuf_addf(o, ", \"line\": %lu", strtoul(t.line.at, NULL, 10));
}

/* Whether the text of a ustack helper is the name of the frame; "@text" only annotates it. */
static bool is_named_by_helper(struct printer *p, const struct position *at)
{
	struct sym_name n;

	return at->is_language || (at->helper && *at->helper != '@' && !position_find(p, at, &n));
}

struct frames {
	struct printer *p;
	struct strbuf *o;
	enum addr_form form;
	uint32_t n;
};

void json_position(struct printer *p, struct strbuf *o, const struct position *at,
		   enum addr_form form)
{
	struct strbuf text = {0};
	bool is_language;

	if (at->mark) {
		strbuf_addf(o, "{\"symbol\": \"%s\", \"kind\": \"cut\"}", mark_text(at->mark));
		return;
	}
	position_text(p, &text, at, form);
	strbuf_adds(o, "{\"symbol\": ");
	json_quote(o, text.data, text.len);
	strbuf_deinit(&text);
	is_language = is_named_by_helper(p, at);
	json_member(o, "kind", is_language ? "language" : at->pid ? "native" : "kernel");
	if (is_language)
		language_members(o, at->helper);
	else
		name_members(p, o, at, "module", form == ADDR_FULL);
	if (form == ADDR_FULL && !at->is_language)
		strbuf_addf(o, ", \"address\": \"0x%" PRIx64 "\"", at->addr);
	if (at->helper)
		json_member(o, "helper", at->helper);
	strbuf_addc(o, '}');
}

static void json_frame(void *ctx, const struct position *at)
{
	struct frames *f = ctx;

	if (f->n++)
		strbuf_adds(f->o, ", ");
	json_position(f->p, f->o, at, f->form);
}

void json_frames(struct printer *p, struct strbuf *o, const struct datum *d)
{
	struct frames f = {p, o, stack_form(p, d), 0};

	strbuf_addc(o, '[');
	walk_stack(p, d, json_frame, &f);
	strbuf_addc(o, ']');
}

static void pair_stack(struct printer *p, struct strbuf *o, const struct datum *d)
{
	strbuf_addf(o, "\"%s\": ", d->kind == DATUM_STACK ? "stack-frames" : "ustack-frames");
	json_frames(p, o, d);
}

static void pair_address(struct printer *p, struct strbuf *o, const struct datum *d,
			 const char *name)
{
	enum addr_form form = addr_form_of(d->kind);
	struct position at = {0};
	struct strbuf text = {0};

	addr_of_datum(d, &at.pid, &at.addr);
	addr_text(p, &text, at.pid, at.addr, form);
	strbuf_addf(o, "\"%s\": ", name);
	json_quote(o, text.data, text.len);
	strbuf_deinit(&text);
	if (form != ADDR_MOD)
		name_members(p, o, &at, "object", form == ADDR_FULL);
}

bool json_is_plain(const struct datum *d)
{
	return d->kind == DATUM_STRING || (d->kind == DATUM_INT && !d->bytes) ||
	       (d->kind == DATUM_STRUCT && datum_is_int(d)) ||
	       ((d->kind == DATUM_BYTES || d->kind == DATUM_INT) && datum_is_text(d));
}

void json_plain(struct strbuf *o, const struct datum *d)
{
	if (d->bytes && d->kind != DATUM_STRUCT)
		json_quote(o, d->bytes, strnlen(d->bytes, d->size));
	else
		json_int(o, datum_int(d), d->is_signed || d->kind == DATUM_STRUCT);
}

void json_pair(struct printer *p, struct strbuf *o, const struct datum *d)
{
	if (json_is_plain(d)) {
		strbuf_adds(o, "\"value\": ");
		json_plain(o, d);
		return;
	}
	switch (d->kind) {
	case DATUM_INT:
	case DATUM_STRING:
	case DATUM_BYTES:
	case DATUM_STRUCT:
	case DATUM_MEMORY:
		strbuf_adds(o, "\"bytes\": ");
		json_hex(o, d->bytes, d->bytes ? d->size : 0);
		return;
	case DATUM_STACK:
	case DATUM_USTACK: pair_stack(p, o, d); return;
	case DATUM_SYM: pair_address(p, o, d, "sym"); return;
	case DATUM_MOD: pair_address(p, o, d, "mod"); return;
	case DATUM_USYM: pair_address(p, o, d, "usym"); return;
	case DATUM_UMOD: pair_address(p, o, d, "umod"); return;
	case DATUM_UADDR: pair_address(p, o, d, "uaddr"); return;
	case DATUM_STACKID: break; /* act_datum() makes a stack of it */
	}
	BUG("datum kind %d", (int)d->kind);
}

void json_value(struct printer *p, const struct datum *d)
{
	json_item(p);
	strbuf_addc(&p->out, '{');
	json_pair(p, &p->out, d);
	strbuf_addc(&p->out, '}');
}

void json_memory(struct printer *p, const char *action, const struct datum *d)
{
	json_item(p);
	strbuf_addf(&p->out, "{\"%s\": ", action);
	json_hex(&p->out, d->bytes, d->bytes ? d->size : 0);
	strbuf_addc(&p->out, '}');
}
