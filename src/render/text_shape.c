/* print() as text: a value as an initializer with types and names (d-language.md 6.5). */
#include "render/impl.h"

#include <inttypes.h>

#include "dif/shape.h"

#define INDENT 4

/* ---- scalars -------------------------------------------------------------------------------- */

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

static void show_quoted(struct out *o, const char *text, size_t len)
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
	const char *name = shape_enum_name(sh, word);

	if (name)
		out_adds(o, name);
	else
		out_addf(o, "%" PRId64, shape_enum_value(sh, word));
}

static void show_float(const struct shape_view *v, const struct shape *sh, long double value)
{
	switch (sh->size) {
	case sizeof(float):
	case sizeof(double): out_addf(v->o, "%+.7e", (double)value); return;
	case sizeof(value): out_addf(v->o, "%+.16LE", value); return;
	default: out_adds(v->o, "<floating point>"); /* of a size no machine of ours has */
	}
}

/* A number of at most 8 bytes, wherever it came from. */
static void show_word(const struct shape_view *v, const struct shape *sh, uint64_t word,
		      uint32_t bits)
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

static void show_text(const struct shape_view *v, const struct shape *sh, const char *text,
		      size_t len)
{
	bool is_array = sh->kind == SHAPE_ARRAY;

	if (is_array)
		out_adds(v->o, "[ ");
	show_quoted(v->o, text, len);
	if (is_array)
		out_adds(v->o, " ]");
}

static void show_forward(const struct shape_view *v, const struct shape *sh)
{
	out_adds(v->o, "<forward decl>");
}

/* ---- arrays and structures ------------------------------------------------------------------ */

static bool is_compound(const struct shape *sh)
{
	while (sh->kind == SHAPE_ARRAY)
		sh = sh->elem;
	return sh->kind == SHAPE_SOU;
}

static void line_begin(const struct shape_view *v, uint32_t depth)
{
	out_addc(v->o, '\n');
	out_pad(v->o, ' ', (size_t)depth * INDENT);
}

/* Members stand one below the other, elements in a row unless they have members. */
static bool is_in_lines(const struct shape *sh)
{
	return sh->kind == SHAPE_SOU || is_compound(sh->elem);
}

static void show_open(const struct shape_view *v, const struct shape *sh)
{
	out_addc(v->o, sh->kind == SHAPE_SOU ? '{' : '[');
}

static void show_gap(const struct shape_view *v, const struct shape *sh, uint32_t i, uint32_t depth)
{
	if (i && sh->kind == SHAPE_ARRAY)
		out_addc(v->o, ',');
	if (is_in_lines(sh))
		line_begin(v, depth + 1);
	else
		out_addc(v->o, ' ');
}

static void show_member_name(struct out *o, const struct shape_member *m)
{
	bool is_nameless_sou = !*m->name && m->shape->kind == SHAPE_SOU;

	out_adds(o, m->shape->type);
	if (*m->name)
		out_addf(o, " %s", m->name);
	if (m->bit_size)
		out_addf(o, " :%u", m->bit_size);
	out_adds(o, is_nameless_sou ? " " : " = ");
}

static void show_item(const struct shape_view *v, const struct shape *sh, uint32_t i,
		      uint32_t depth)
{
	show_gap(v, sh, i, depth);
	if (sh->kind == SHAPE_SOU)
		show_member_name(v->o, &sh->members[i]);
	else if (is_in_lines(sh))
		out_addf(v->o, "%s ", sh->elem->type);
}

static void show_item_end(const struct shape_view *v, const struct shape *sh)
{
}

static void show_cut(const struct shape_view *v, const struct shape *sh, uint32_t i, uint32_t depth)
{
	show_gap(v, sh, i, depth);
	out_adds(v->o, "...");
}

static void show_close(const struct shape_view *v, const struct shape *sh, uint32_t depth)
{
	if (sh->kind == SHAPE_SOU || (is_in_lines(sh) && sh->nelems))
		line_begin(v, depth);
	else
		out_addc(v->o, ' ');
	out_addc(v->o, sh->kind == SHAPE_SOU ? '}' : ']');
}

static const struct shape_visitor shape_text = {
	.word = show_word,
	.flt = show_float,
	.text = show_text,
	.open = show_open,
	.item = show_item,
	.item_end = show_item_end,
	.cut = show_cut,
	.close = show_close,
	.forward = show_forward,
};

void print_shape(struct printer *p, struct out *o, const struct shape *shape, const struct datum *d)
{
	out_addf(o, "%s ", shape->type);
	walk_shape(p, o, &shape_text, shape, d);
	out_addc(o, '\n');
}
