/* print(): a value as an initializer with types and names (d-language.md 6.5). */
#include "print/impl.h"

#include <inttypes.h>

#include "dif/shape.h"

#define INDENT 4

/* The bytes of the value that is shown; those from len on were not recorded. */
struct view {
	struct printer *p;
	struct out *o;
	const char *bytes;
	uint64_t len;
};

static void show_value(const struct view *v, const struct shape *sh, uint64_t off, uint32_t depth);

static bool is_recorded(const struct view *v, uint64_t off, uint64_t size)
{
	return off <= v->len && size <= v->len - off;
}

/* ---- scalars -------------------------------------------------------------------------------- */

/* size bytes at off, zero-extended; sizes above 8: the low 8. */
static uint64_t word_at(const struct view *v, uint64_t off, uint32_t size)
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

/* '\0' and its kin, quotes and backslashes escaped; what is no character in octal. */
static void show_char(struct out *o, unsigned char c, char quote)
{
	static const char escapes[] = "\aa\bb\ff\nn\rr\tt\vv\\\\";
	const char *e = c ? strchr(escapes, c) : NULL;

	if (c == (unsigned char)quote)
		out_addf(o, "\\%c", c);
	else if (e && (e - escapes) % 2 == 0)
		out_addf(o, "\\%c", e[1]);
	else if (c >= ' ' && c <= '~')
		out_addc(o, (char)c);
	else if (c == 0)
		out_adds(o, "\\0");
	else
		out_addf(o, "\\%03o", c);
}

static void show_text(struct out *o, const char *text, size_t len)
{
	out_addc(o, '"');
	for (size_t i = 0; i < len; i++)
		show_char(o, (unsigned char)text[i], '"');
	out_addc(o, '"');
}

static void show_hex(struct out *o, uint64_t word)
{
	out_addf(o, "%#" PRIx64, word);
}

static void show_enum(struct out *o, const struct shape *sh, uint64_t word)
{
	int64_t val = sh->is_signed ? sign_extend(word, sh->size * 8) : (int64_t)word;

	for (uint32_t i = 0; i < sh->nenums; i++)
		if (sh->enums[i].val == val) {
			out_adds(o, sh->enums[i].name);
			return;
		}
	out_addf(o, "%" PRId64, val);
}

static void show_float(const struct view *v, const struct shape *sh, uint64_t off)
{
	long double ld = 0;
	double d;
	float f;

	switch (sh->size) {
	case sizeof(f):
		memcpy(&f, v->bytes + off, sizeof(f));
		out_addf(v->o, "%+.7e", (double)f);
		return;
	case sizeof(d):
		memcpy(&d, v->bytes + off, sizeof(d));
		out_addf(v->o, "%+.7e", d);
		return;
	case sizeof(ld):
		memcpy(&ld, v->bytes + off, sizeof(ld));
		out_addf(v->o, "%+.16LE", ld);
		return;
	default: out_adds(v->o, "<floating point>"); /* of a size no machine of ours has */
	}
}

/* A number of at most 8 bytes, wherever it came from. */
static void show_word(const struct view *v, const struct shape *sh, uint64_t word)
{
	switch (sh->kind) {
	case SHAPE_CHAR:
		out_addc(v->o, '\'');
		show_char(v->o, (unsigned char)word, '\'');
		out_addc(v->o, '\'');
		return;
	case SHAPE_ENUM: show_enum(v->o, sh, word); return;
	case SHAPE_FUNC:
		if (word && !sh->is_user) {
			addr_text(v->p, v->o, 0, word, ADDR_FULL);
			return;
		}
		break;
	case SHAPE_INT:
	case SHAPE_POINTER:
	case SHAPE_FLOAT:
	case SHAPE_STRING:
	case SHAPE_ARRAY:
	case SHAPE_SOU:
	case SHAPE_FORWARD: break;
	}
	if (sh->kind == SHAPE_INT)
		show_hex(v->o, word);
	else
		out_addf(v->o, "0x%" PRIx64, word);
}

static uint64_t bits_at(const struct view *v, const struct shape_member *m, uint64_t off)
{
	uint64_t bit = off * 8 + m->bit_off, first = bit / 8, end = (bit + m->bit_size + 7) / 8;
	unsigned __int128 wide = 0;

	memcpy(&wide, v->bytes + first, MIN(end - first, sizeof(wide)));
	wide >>= bit % 8;
	return (uint64_t)wide & (m->bit_size < 64 ? (1ull << m->bit_size) - 1 : UINT64_MAX);
}

/* ---- arrays --------------------------------------------------------------------------------- */

/* Characters, then NULs to the end, at least one of each. */
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

static bool is_compound(const struct shape *sh)
{
	while (sh->kind == SHAPE_ARRAY)
		sh = sh->elem;
	return sh->kind == SHAPE_SOU;
}

static void line_begin(const struct view *v, uint32_t depth)
{
	out_addc(v->o, '\n');
	out_pad(v->o, ' ', (size_t)depth * INDENT);
}

/* Elements in a row, those with members one below the other. */
static void show_elems(const struct view *v, const struct shape *sh, uint64_t off, uint32_t depth)
{
	bool in_lines = is_compound(sh->elem);

	for (uint32_t i = 0; i < sh->nelems; i++) {
		uint64_t at = off + (uint64_t)i * sh->elem->size;

		if (i)
			out_addc(v->o, ',');
		if (in_lines)
			line_begin(v, depth + 1);
		else
			out_addc(v->o, ' ');
		if (!is_recorded(v, at, MAX(sh->elem->size, 1u))) {
			out_adds(v->o, "...");
			break;
		}
		if (in_lines)
			out_addf(v->o, "%s ", sh->elem->type);
		show_value(v, sh->elem, at, depth + 1);
	}
	if (in_lines && sh->nelems)
		line_begin(v, depth);
	else
		out_addc(v->o, ' ');
}

static void show_array(const struct view *v, const struct shape *sh, uint64_t off, uint32_t depth)
{
	out_addc(v->o, '[');
	if (sh->elem->kind == SHAPE_CHAR && is_recorded(v, off, sh->nelems) &&
	    is_text(v->bytes + off, sh->nelems)) {
		out_addc(v->o, ' ');
		show_text(v->o, v->bytes + off, strnlen(v->bytes + off, sh->nelems));
		out_addc(v->o, ' ');
	} else {
		show_elems(v, sh, off, depth);
	}
	out_addc(v->o, ']');
}

/* ---- structures ----------------------------------------------------------------------------- */

static void show_member(const struct view *v, const struct shape_member *m, uint64_t off,
			uint32_t depth)
{
	bool is_nameless_sou = !*m->name && m->shape->kind == SHAPE_SOU;

	out_adds(v->o, m->shape->type);
	if (*m->name)
		out_addf(v->o, " %s", m->name);
	if (m->bit_size)
		out_addf(v->o, " :%u", m->bit_size);
	out_adds(v->o, is_nameless_sou ? " " : " = ");
	if (m->bit_size) {
		uint64_t word = bits_at(v, m, off);

		if (m->shape->kind == SHAPE_ENUM && m->shape->is_signed)
			word = (uint64_t)sign_extend(word, m->bit_size);
		show_word(v, m->shape, word);
	} else {
		show_value(v, m->shape, off + m->bit_off / 8, depth);
	}
}

/* The bytes a member takes, bit-fields rounded outwards. */
static bool member_is_recorded(const struct view *v, const struct shape_member *m, uint64_t off)
{
	uint64_t bits = m->bit_size ? m->bit_size : (uint64_t)m->shape->size * 8;

	if (m->shape->kind == SHAPE_ARRAY || m->shape->kind == SHAPE_SOU)
		bits = MIN(bits, 8); /* they say themselves where the record ends */
	return is_recorded(v, off, (m->bit_off + bits + 7) / 8);
}

static void show_sou(const struct view *v, const struct shape *sh, uint64_t off, uint32_t depth)
{
	out_addc(v->o, '{');
	for (uint32_t i = 0; i < sh->nmembers; i++) {
		const struct shape_member *m = &sh->members[i];

		line_begin(v, depth + 1);
		if (!member_is_recorded(v, m, off)) {
			out_adds(v->o, "...");
			break;
		}
		show_member(v, m, off, depth + 1);
	}
	line_begin(v, depth);
	out_addc(v->o, '}');
}

static void show_value(const struct view *v, const struct shape *sh, uint64_t off, uint32_t depth)
{
	switch (sh->kind) {
	case SHAPE_SOU: show_sou(v, sh, off, depth); return;
	case SHAPE_ARRAY: show_array(v, sh, off, depth); return;
	case SHAPE_FORWARD: out_adds(v->o, "<forward decl>"); return;
	case SHAPE_STRING:
		show_text(v->o, v->bytes + off, strnlen(v->bytes + off, MIN(sh->size, v->len - off)));
		return;
	case SHAPE_FLOAT: show_float(v, sh, off); return;
	case SHAPE_INT:
	case SHAPE_CHAR:
	case SHAPE_ENUM:
	case SHAPE_POINTER:
	case SHAPE_FUNC: show_word(v, sh, word_at(v, off, sh->size)); return;
	}
	BUG("shape kind %d", (int)sh->kind);
}

void print_shape(struct printer *p, struct out *o, const struct shape *shape, const struct datum *d)
{
	uint64_t word = d->ival;
	struct view v = {p, o, d->bytes, d->size};

	if (!v.bytes) {
		v.bytes = (const char *)&word;
		v.len = sizeof(word);
	}
	if (p->opts->printsize && shape->kind != SHAPE_STRING)
		v.len = MIN(v.len, p->opts->printsize);
	out_addf(o, "%s ", shape->type);
	show_value(&v, shape, 0, 0);
	out_addc(o, '\n');
}
