/* SPDX-License-Identifier: MIT */
/* Prints values without format: trace(), keys, raw dumps (d-language.md 6.2, 6.4.1). */
#include "render/impl.h"

/* ---- raw dump ------------------------------------------------------------------------------ */

static bool is_print(char c)
{
	return c >= ' ' && c <= '~';
}

static void raw_line(struct strbuf *o, const char *bytes, uint32_t at, uint32_t n)
{
	strbuf_addf(o, "     %5x:", at);
	for (uint32_t i = 0; i < 16; i++) {
		if (i < n)
			strbuf_addf(o, " %02x", (unsigned char)bytes[at + i]);
		else
			strbuf_adds(o, "   ");
	}
	strbuf_adds(o, "  ");
	for (uint32_t i = 0; i < n; i++)
		strbuf_addc(o, is_print(bytes[at + i]) ? bytes[at + i] : '.');
	strbuf_addc(o, '\n');
}

void print_raw(struct strbuf *o, const char *bytes, uint32_t size)
{
	static const char hex[] = "0123456789abcdef";

	if (!size)
		return;
	strbuf_adds(o, "\n           ");
	for (int i = 0; i < 16; i++)
		strbuf_addf(o, "  %c", hex[i]);
	strbuf_addf(o, "  %s\n", hex);
	for (uint32_t at = 0; at < size; at += 16)
		raw_line(o, bytes, at, MIN(size - at, 16u));
}

/* ---- bytes --------------------------------------------------------------------------------- */

void datum_text_add(struct printer *p, struct strbuf *o, const struct spec *s,
		    const struct datum *d, const char *text, size_t len)
{
	if (p->escapes && !d->is_own)
		out_foreign(o, s, text, len);
	else
		out_text(o, s, text, len);
}

/* Prints a text behind two spaces; width < 0: without spaces and padding. */
static void print_string(struct printer *p, struct strbuf *o, int width, const struct datum *d,
			 const char *text, size_t len)
{
	struct spec s = {CONV_LEFT, width, -1};

	if (width >= 0)
		strbuf_adds(o, "  ");
	datum_text_add(p, o, &s, d, text, len);
}

/* Prints bytes as text or as a raw dump; width < 0: without padding. */
static void print_bytes(struct printer *p, struct strbuf *o, int width, const struct datum *d)
{
	size_t len = strnlen(d->bytes, d->size);

	if (p->opts->rawbytes || !datum_is_text(d))
		print_raw(o, d->bytes, d->size);
	else
		print_string(p, o, width, d, d->bytes, len);
}

int int_width(uint32_t size)
{
	switch (size) {
	case 1: return 3;
	case 2: return 5;
	case 4: return 8;
	default: return 16;
	}
}

static void print_int(struct strbuf *o, bool is_quiet, uint32_t size, uint64_t v, bool is_signed)
{
	if (!is_quiet)
		strbuf_addc(o, ' ');
	out_int(o, is_quiet ? -1 : int_width(size), v, is_signed);
}

/*
 * Prints a structure of the size of an integer as an integer, and dumps other structures: the form
 * depends on the type, and not on whether the members of this value happen to look like text.
 */
static void print_struct(struct strbuf *o, int str_width, const struct datum *d)
{
	if (datum_is_int(d))
		print_int(o, str_width < 0, d->size, int_at(d->bytes, d->size, true), true);
	else
		print_raw(o, d->bytes, d->size);
}

/* Option rawbytes: dumps the characters and the NUL after them. */
static void print_raw_string(struct strbuf *o, const struct datum *d)
{
	struct strbuf text = {0};

	strbuf_add(&text, d->bytes, d->size);
	strbuf_addc(&text, '\0');
	print_raw(o, text.data, (uint32_t)text.len);
	strbuf_deinit(&text);
}

static void print_addr(struct printer *p, struct strbuf *o, const struct datum *d)
{
	struct strbuf text = {0};
	uint64_t pid, addr;

	addr_of_datum(d, &pid, &addr);
	addr_text(p, &text, pid, addr, addr_form_of(d->kind));
	print_string(p, o, 50, d, strbuf_text(&text), text.len);
	strbuf_deinit(&text);
}

/* Prints a value. str_width: width of strings; < 0: nothing is padded (option quiet). */
static void print_datum(struct printer *p, struct strbuf *o, int str_width, const struct datum *d)
{
	switch (d->kind) {
	case DATUM_INT:
		if (d->bytes) {
			print_bytes(p, o, str_width, d);
			return;
		}
		print_int(o, str_width < 0, d->size, d->ival, d->is_signed);
		return;
	case DATUM_STRING:
		if (p->opts->rawbytes)
			print_raw_string(o, d);
		else
			print_string(p, o, str_width, d, d->bytes, d->size);
		return;
	case DATUM_BYTES:
	case DATUM_MEMORY: print_bytes(p, o, str_width, d); return;
	case DATUM_STRUCT: print_struct(o, str_width, d); return;
	case DATUM_STACK:
	case DATUM_USTACK: print_stack(p, o, d, p->opts->stackindent); return;
	case DATUM_SYM:
	case DATUM_MOD:
	case DATUM_USYM:
	case DATUM_UMOD:
	case DATUM_UADDR: print_addr(p, o, d); return;
	case DATUM_STACKID: break; /* act_datum() makes a stack of it */
	}
	BUG("datum kind %d", (int)d->kind);
}

void print_trace(struct printer *p, struct strbuf *o, const struct datum *d)
{
	print_datum(p, o, p->opts->quiet ? -1 : 33, d);
}

void print_key(struct printer *p, struct strbuf *o, const struct datum *d)
{
	print_datum(p, o, 50, d);
}
