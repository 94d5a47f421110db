/* Values without format: trace(), keys, raw dumps (d-language.md 6.2, 6.4.1). */
#include "render/impl.h"

/* ---- from records and keys ----------------------------------------------------------------- */

static bool is_int_size(uint32_t size)
{
	return size == 1 || size == 2 || size == 4 || size == 8;
}

static uint64_t int_at(const void *p, uint32_t size, bool is_signed)
{
	uint64_t v = 0;

	memcpy(&v, p, size); /* little-endian, as all of our targets */
	if (is_signed && size < 8) {
		unsigned int up = 64 - size * 8;

		v = (uint64_t)((int64_t)(v << up) >> up);
	}
	return v;
}

static void datum_text(struct datum *d, const char *text, size_t room)
{
	d->bytes = text;
	d->size = (uint32_t)strnlen(text, room);
}

/* A string in the record's heap; a NULL string is an empty one. */
static bool datum_heap(struct datum *d, const char *base, const char *field, uint32_t len)
{
	struct rt_str s;

	memcpy(&s, field, sizeof(s));
	if (s.len == UINT32_MAX)
		s = (struct rt_str){0, 0};
	if (s.off > len || s.len > len - s.off)
		return false;
	datum_text(d, base + s.off, s.len);
	return true;
}

static bool datum_stack(struct datum *d, const char *base, const struct rec_field *f, uint32_t len)
{
	struct rt_str s;

	memcpy(&s, base + f->off, sizeof(s));
	d->is_traced = s.len & RT_STACK_TRACED;
	s.len &= ~RT_STACK_TRACED;
	if (s.off > len || s.len > len - s.off)
		return false;
	d->bytes = base + s.off;
	d->size = s.len;
	d->frames = f->frames;
	return true;
}

static bool datum_strid(struct datum *d, const struct strtab *t, const char *field)
{
	uint32_t off;

	memcpy(&off, field, sizeof(off));
	if (off >= strtab_size(t))
		return false;
	datum_text(d, strtab_get(t, off), strtab_size(t) - off);
	return true;
}

/* Bytes a field takes in the fixed part. */
static uint32_t field_size(const struct rec_field *f)
{
	switch (f->kind) {
	case REC_INT:
	case REC_BYTES: return f->size;
	case REC_STR:
	case REC_STACK: return sizeof(struct rt_str);
	case REC_COMM: return 16;
	case REC_STRID: return sizeof(uint32_t);
	}
	BUG("record field kind %d", (int)f->kind);
}

bool datum_of_field(struct datum *d, const struct layout *l, const struct rec_field *f,
		    const struct rt_rec *rec, uint32_t len)
{
	const char *base = (const char *)rec, *field = base + f->off;

	if (f->off > len || field_size(f) > len - f->off)
		return false;
	*d = (struct datum){.kind = f->datum, .is_signed = f->is_signed, .size = f->size};
	switch (f->kind) {
	case REC_INT:
		if (!is_int_size(f->size))
			return false;
		d->ival = int_at(field, f->size, f->is_signed);
		if (f->datum == DATUM_STRING || f->datum == DATUM_BYTES || f->datum == DATUM_STRUCT)
			d->kind = DATUM_INT; /* those have bytes */
		return true;
	case REC_STR: return datum_heap(d, base, field, len);
	case REC_STACK: return datum_stack(d, base, f, len);
	case REC_COMM: datum_text(d, field, 16); return true;
	case REC_STRID: return datum_strid(d, l->strtab, field);
	case REC_BYTES:
		d->bytes = field;
		if (f->datum == DATUM_STRING)
			datum_text(d, field, f->size);
		return true;
	}
	BUG("record field kind %d", (int)f->kind);
}

struct datum datum_of_key(const struct agg_key *k)
{
	return (struct datum){.kind = k->datum,
			      .is_signed = k->is_signed,
			      .size = k->size,
			      .ival = k->ival,
			      .bytes = k->bytes,
			      .is_merged = k->name != NULL};
}

uint64_t datum_int(const struct datum *d)
{
	if (!d->bytes)
		return d->ival;
	if (d->kind >= DATUM_USYM && d->kind <= DATUM_UADDR && d->size == 2 * sizeof(uint64_t))
		return int_at(d->bytes + sizeof(uint64_t), sizeof(uint64_t), false);
	return is_int_size(d->size) ? int_at(d->bytes, d->size, d->is_signed) : 0;
}

bool datum_is_int(const struct datum *d)
{
	return is_int_size(d->size);
}

/* ---- raw dump ------------------------------------------------------------------------------ */

static bool is_print(char c)
{
	return c >= ' ' && c <= '~';
}

static void raw_line(struct out *o, const char *bytes, uint32_t at, uint32_t n)
{
	out_addf(o, "     %5x:", at);
	for (uint32_t i = 0; i < 16; i++) {
		if (i < n)
			out_addf(o, " %02x", (unsigned char)bytes[at + i]);
		else
			out_adds(o, "   ");
	}
	out_adds(o, "  ");
	for (uint32_t i = 0; i < n; i++)
		out_addc(o, is_print(bytes[at + i]) ? bytes[at + i] : '.');
	out_addc(o, '\n');
}

void print_raw(struct out *o, const char *bytes, uint32_t size)
{
	static const char hex[] = "0123456789abcdef";

	if (!size)
		return;
	out_adds(o, "\n           ");
	for (int i = 0; i < 16; i++)
		out_addf(o, "  %c", hex[i]);
	out_addf(o, "  %s\n", hex);
	for (uint32_t at = 0; at < size; at += 16)
		raw_line(o, bytes, at, MIN(size - at, 16u));
}

/* ---- bytes --------------------------------------------------------------------------------- */

static bool is_text_byte(char c)
{
	return is_print(c) || (c >= '\t' && c <= '\r') || c == '\b' || c == '\a';
}

/* Text, then nothing or NULs to the end. */
static bool looks_like_text(const char *bytes, uint32_t size)
{
	uint32_t i = 0;

	while (i < size && is_text_byte(bytes[i]))
		i++;
	if (i == 0)
		return false;
	while (i < size && bytes[i] == '\0')
		i++;
	return i == size;
}

static void print_string(struct out *o, int width, const char *text, size_t len)
{
	struct spec s = {CONV_LEFT, width, -1};

	out_adds(o, "  ");
	out_text(o, &s, text, len);
}

bool datum_is_text(const struct datum *d)
{
	return d->bytes && looks_like_text(d->bytes, d->size);
}

/* width < 0: the text alone */
static void print_bytes(struct printer *p, struct out *o, int width, const struct datum *d)
{
	size_t len = strnlen(d->bytes, d->size);

	if (p->opts->rawbytes || !looks_like_text(d->bytes, d->size))
		print_raw(o, d->bytes, d->size);
	else if (width < 0)
		out_add(o, d->bytes, len);
	else
		print_string(o, width, d->bytes, len);
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

static void print_int(struct out *o, bool is_quiet, uint32_t size, uint64_t v, bool is_signed)
{
	if (!is_quiet)
		out_addc(o, ' ');
	out_int(o, is_quiet ? -1 : int_width(size), v, is_signed);
}

/*
 * A structure of the size of an integer prints as one, others are dumped: what is printed depends
 * on the type, and not on whether the members of this value happen to look like text.
 */
static void print_struct(struct out *o, int str_width, const struct datum *d)
{
	if (datum_is_int(d))
		print_int(o, str_width < 0, d->size, int_at(d->bytes, d->size, true), true);
	else
		print_raw(o, d->bytes, d->size);
}

/* Option rawbytes: the characters and the NUL behind them. */
static void print_raw_string(struct out *o, const struct datum *d)
{
	struct out text = {0};

	out_add(&text, d->bytes, d->size);
	out_addc(&text, '\0');
	print_raw(o, text.data, (uint32_t)text.len);
	out_deinit(&text);
}

static void print_addr(struct printer *p, struct out *o, const struct datum *d)
{
	struct out text = {0};
	uint64_t pid, addr;

	addr_of_datum(d, &pid, &addr);
	addr_text(p, &text, pid, addr, addr_form_of(d->kind));
	print_string(o, 50, text.data, text.len);
	out_deinit(&text);
}

/* str_width: of strings; < 0: quiet, nothing is padded. */
static void print_datum(struct printer *p, struct out *o, int str_width, const struct datum *d)
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
		else if (str_width < 0)
			out_add(o, d->bytes, d->size);
		else
			print_string(o, str_width, d->bytes, d->size);
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
	}
	BUG("datum kind %d", (int)d->kind);
}

void print_trace(struct printer *p, struct out *o, const struct datum *d)
{
	print_datum(p, o, p->opts->quiet ? -1 : 33, d);
}

void print_key(struct printer *p, struct out *o, const struct datum *d)
{
	print_datum(p, o, 50, d);
}
