/* SPDX-License-Identifier: MIT */
/* Values: reads fields of records and keys of aggregations. */
#include "render/impl.h"

/* ---- from records and keys ----------------------------------------------------------------- */

static bool is_int_size(uint32_t size)
{
	return size == 1 || size == 2 || size == 4 || size == 8;
}

uint64_t int_at(const void *p, uint32_t size, bool is_signed)
{
	uint64_t v = 0;

	memcpy(&v, p, size); /* all supported machines are little-endian */
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

/* A string among the bytes behind the record's fields; a NULL string is empty. */
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

/* The number of bytes of a field in the fixed part of the record. */
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
	*d = (struct datum){.kind = f->datum,
			    .is_signed = f->is_signed,
			    .is_own = f->is_own,
			    .size = f->size};
	switch (f->kind) {
	case REC_INT:
		if (!is_int_size(f->size))
			return false;
		d->ival = int_at(field, f->size, f->is_signed);
		if (f->datum == DATUM_STRING || f->datum == DATUM_BYTES || f->datum == DATUM_STRUCT)
			d->kind = DATUM_INT; /* the other kinds have bytes */
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
			      .is_own = k->is_own,
			      .size = k->size,
			      .ival = k->ival,
			      .bytes = k->bytes,
			      .time = k->time,
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

/* ---- text in memory ------------------------------------------------------------------------ */

static bool is_text_byte(char c)
{
	return (c >= ' ' && c <= '~') || (c >= '\t' && c <= '\r') || c == '\b' || c == '\a';
}

/* Whether bytes are text, with NULs or nothing behind it. */
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

bool datum_is_text(const struct datum *d)
{
	return d->bytes && looks_like_text(d->bytes, d->size);
}
