/* SPDX-License-Identifier: MIT */
/* Walks over a value by the shape of its type: members, elements, scalars. */
#include "render/impl.h"

#include "dif/shape.h"

/*
 * Limits the number of values. Members overlap in unions, and in hostile debug information
 * anywhere, so that a few bytes could be shown any number of times; real types show each byte a few
 * times.
 */
#define SHOWN_MIN      4096
#define SHOWN_PER_BYTE 32

static void visit_value(const struct shape_view *v, const struct shape *sh, uint64_t off,
			uint32_t depth);

static bool is_recorded(const struct shape_view *v, uint64_t off, uint64_t size)
{
	return off <= v->len && size <= v->len - off;
}

/* Counts a value; false when there are too many. */
static bool value_take(const struct shape_view *v)
{
	if (!*v->left)
		return false;
	--*v->left;
	return true;
}

/* ---- scalars -------------------------------------------------------------------------------- */

/* The size bytes at off, zero-extended; of more than 8 bytes the low 8. */
static uint64_t word_at(const struct shape_view *v, uint64_t off, uint32_t size)
{
	uint64_t word = 0;

	memcpy(&word, v->bytes + off, MIN(size, 8u));
	return word;
}

static int64_t sign_extend(uint64_t word, uint32_t bits)
{
	uint32_t up = 64 - MIN(MAX(bits, 1u), 64u);

	return (int64_t)(word << up) >> up;
}

int64_t shape_enum_value(const struct shape *sh, uint64_t word)
{
	return sh->is_signed ? sign_extend(word, sh->size * 8) : (int64_t)word;
}

const char *shape_enum_name(const struct shape *sh, uint64_t word)
{
	int64_t val = shape_enum_value(sh, word);

	for (uint32_t i = 0; i < sh->nenums; i++)
		if (sh->enums[i].val == val)
			return sh->enums[i].name;
	return NULL;
}

/* The value of a floating-point number; 0 for a size that C does not have. */
static long double float_at(const struct shape_view *v, const struct shape *sh, uint64_t off)
{
	long double ld = 0;
	double d;
	float f;

	switch (sh->size) {
	case sizeof(f): memcpy(&f, v->bytes + off, sizeof(f)); return (long double)f;
	case sizeof(d): memcpy(&d, v->bytes + off, sizeof(d)); return (long double)d;
	case sizeof(ld): memcpy(&ld, v->bytes + off, sizeof(ld)); return ld;
	default: return 0;
	}
}

static uint64_t bits_at(const struct shape_view *v, const struct shape_member *m, uint64_t off)
{
	uint64_t bit = off * 8 + m->bit_off, first = bit / 8, end = (bit + m->bit_size + 7) / 8;
	unsigned __int128 wide = 0;

	memcpy(&wide, v->bytes + first, MIN(end - first, sizeof(wide)));
	wide >>= bit % 8;
	return (uint64_t)wide & (m->bit_size < 64 ? (1ull << m->bit_size) - 1 : UINT64_MAX);
}

/* ---- arrays --------------------------------------------------------------------------------- */

/* Whether bytes are text: characters, then NULs to the end, at least one of each. */
static bool is_text(const char *bytes, uint32_t n)
{
	uint32_t len = (uint32_t)strnlen(bytes, n);

	if (len == 0 || len == n)
		return false;
	for (uint32_t i = 0; i < len; i++)
		if ((unsigned char)bytes[i] < ' ' && !strchr("\a\b\f\n\r\t\v", bytes[i]))
			return false;
	return true;
}

/* Visits elements; the first one that was not recorded ends the visit. */
static void visit_elems(const struct shape_view *v, const struct shape *sh, uint64_t off,
			uint32_t depth)
{
	for (uint32_t i = 0; i < sh->nelems; i++) {
		uint64_t at = off + (uint64_t)i * sh->elem->size;

		if (!is_recorded(v, at, MAX(sh->elem->size, 1u)) || !value_take(v)) {
			v->visitor->cut(v, sh, i, depth);
			break;
		}
		v->visitor->item(v, sh, i, depth);
		visit_value(v, sh->elem, at, depth + 1);
		v->visitor->item_end(v, sh);
	}
}

static void visit_array(const struct shape_view *v, const struct shape *sh, uint64_t off,
			uint32_t depth)
{
	if (sh->elem->kind == SHAPE_CHAR && is_recorded(v, off, sh->nelems) &&
	    is_text(v->bytes + off, sh->nelems)) {
		v->visitor->text(v, sh, v->bytes + off, strnlen(v->bytes + off, sh->nelems));
		return;
	}
	v->visitor->open(v, sh);
	visit_elems(v, sh, off, depth);
	v->visitor->close(v, sh, depth);
}

/* ---- structures ----------------------------------------------------------------------------- */

static void visit_member(const struct shape_view *v, const struct shape_member *m, uint64_t off,
			 uint32_t depth)
{
	uint64_t word;

	if (!m->bit_size) {
		visit_value(v, m->shape, off + m->bit_off / 8, depth);
		return;
	}
	word = bits_at(v, m, off);
	if (m->shape->kind == SHAPE_ENUM && m->shape->is_signed)
		word = (uint64_t)sign_extend(word, m->bit_size);
	v->visitor->word(v, m->shape, word, m->bit_size);
}

/* Whether all bytes of a member were recorded, those of a bit-field as well. */
static bool member_is_recorded(const struct shape_view *v, const struct shape_member *m,
			       uint64_t off)
{
	uint64_t bits = m->bit_size ? m->bit_size : (uint64_t)m->shape->size * 8;

	if (m->shape->kind == SHAPE_ARRAY || m->shape->kind == SHAPE_SOU)
		bits = MIN(bits, 8); /* they say themselves where the record ends */
	return is_recorded(v, off, (m->bit_off + bits + 7) / 8);
}

static void visit_sou(const struct shape_view *v, const struct shape *sh, uint64_t off,
		      uint32_t depth)
{
	v->visitor->open(v, sh);
	for (uint32_t i = 0; i < sh->nmembers; i++) {
		if (!member_is_recorded(v, &sh->members[i], off) || !value_take(v)) {
			v->visitor->cut(v, sh, i, depth);
			break;
		}
		v->visitor->item(v, sh, i, depth);
		visit_member(v, &sh->members[i], off, depth + 1);
		v->visitor->item_end(v, sh);
	}
	v->visitor->close(v, sh, depth);
}

static void visit_value(const struct shape_view *v, const struct shape *sh, uint64_t off,
			uint32_t depth)
{
	const char *at = v->bytes + off;

	switch (sh->kind) {
	case SHAPE_SOU: visit_sou(v, sh, off, depth); return;
	case SHAPE_ARRAY: visit_array(v, sh, off, depth); return;
	case SHAPE_FORWARD: v->visitor->forward(v, sh); return;
	case SHAPE_STRING:
		v->visitor->text(v, sh, at, strnlen(at, MIN(sh->size, v->len - off)));
		return;
	case SHAPE_FLOAT: v->visitor->flt(v, sh, float_at(v, sh, off)); return;
	case SHAPE_INT:
	case SHAPE_CHAR:
	case SHAPE_ENUM:
	case SHAPE_POINTER:
	case SHAPE_FUNC: v->visitor->word(v, sh, word_at(v, off, sh->size), sh->size * 8); return;
	}
	BUG("shape kind %d", (int)sh->kind);
}

void walk_shape(struct printer *p, struct strbuf *o, const struct shape_visitor *visitor,
		const struct shape *shape, const struct datum *d)
{
	uint64_t word = d->ival, left;
	struct shape_view v = {p, o, visitor, d->bytes, d->size, &left};

	if (!v.bytes) {
		v.bytes = (const char *)&word;
		v.len = sizeof(word);
	}
	if (p->opts->printsize && shape->kind != SHAPE_STRING)
		v.len = MIN(v.len, p->opts->printsize);
	left = SHOWN_MIN + SHOWN_PER_BYTE * v.len;
	visit_value(&v, shape, 0, 0);
}
