/* SPDX-License-Identifier: MIT */
/* Shows values for print() as text: initializers with types and names (d-language.md 6.5). */
#include "base/text.h"
#include "render/impl.h"

#include <inttypes.h>

#include "dif/shape.h"

#define INDENT 4

/* ---- scalars -------------------------------------------------------------------------------- */

static void show_char(struct strbuf *o, char c)
{
	static const struct escapes how = {.letters = "\aa\bb\ff\nn\rr\tt\vv''\\\\",
					   .nul = "\\0",
					   .other = "\\%03o"};

	strbuf_addc(o, '\'');
	escape_add(o, &c, 1, &how);
	strbuf_addc(o, '\'');
}

static void show_hex(struct strbuf *o, uint64_t word)
{
	strbuf_addf(o, "%#" PRIx64, word);
}

static void show_enum(struct strbuf *o, const struct shape *sh, uint64_t word)
{
	const char *name = shape_enum_name(sh, word);

	if (name)
		strbuf_adds(o, name);
	else
		strbuf_addf(o, "%" PRId64, shape_enum_value(sh, word));
}

static void show_float(const struct shape_view *v, const struct shape *sh, long double value)
{
	switch (sh->size) {
	case sizeof(float):
	case sizeof(double): strbuf_addf(v->o, "%+.7e", (double)value); return;
	case sizeof(value): strbuf_addf(v->o, "%+.16LE", value); return;
	default: strbuf_adds(v->o, "<floating point>"); /* no C type here has this size */
	}
}

/* A number of at most 8 bytes, wherever it came from. */
static void show_word(const struct shape_view *v, const struct shape *sh, uint64_t word,
		      uint32_t bits)
{
	switch (sh->kind) {
	case SHAPE_CHAR: show_char(v->o, (char)word); return;
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
		strbuf_addf(v->o, "0x%" PRIx64, word);
}

static void show_text(const struct shape_view *v, const struct shape *sh, const char *text,
		      size_t len)
{
	bool is_array = sh->kind == SHAPE_ARRAY;

	if (is_array)
		strbuf_adds(v->o, "[ ");
	escape_quote(v->o, text, len, &escapes_c);
	if (is_array)
		strbuf_adds(v->o, " ]");
}

static void show_forward(const struct shape_view *v, const struct shape *sh)
{
	strbuf_adds(v->o, "<forward decl>");
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
	strbuf_addc(v->o, '\n');
	strbuf_pad(v->o, ' ', (size_t)depth * INDENT);
}

/* Whether items stand in lines of their own: members do, elements only if they have members. */
static bool is_in_lines(const struct shape *sh)
{
	return sh->kind == SHAPE_SOU || is_compound(sh->elem);
}

static void show_open(const struct shape_view *v, const struct shape *sh)
{
	strbuf_addc(v->o, sh->kind == SHAPE_SOU ? '{' : '[');
}

static void show_gap(const struct shape_view *v, const struct shape *sh, uint32_t i, uint32_t depth)
{
	if (i && sh->kind == SHAPE_ARRAY)
		strbuf_addc(v->o, ',');
	if (is_in_lines(sh))
		line_begin(v, depth + 1);
	else
		strbuf_addc(v->o, ' ');
}

static void show_member_name(struct strbuf *o, const struct shape_member *m)
{
	bool is_nameless_sou = !*m->name && m->shape->kind == SHAPE_SOU;

	strbuf_adds(o, m->shape->type);
	if (*m->name)
		strbuf_addf(o, " %s", m->name);
	if (m->bit_size)
		strbuf_addf(o, " :%u", m->bit_size);
	strbuf_adds(o, is_nameless_sou ? " " : " = ");
}

static void show_item(const struct shape_view *v, const struct shape *sh, uint32_t i,
		      uint32_t depth)
{
	show_gap(v, sh, i, depth);
	if (sh->kind == SHAPE_SOU)
		show_member_name(v->o, &sh->members[i]);
	else if (is_in_lines(sh))
		strbuf_addf(v->o, "%s ", sh->elem->type);
}

static void show_item_end(const struct shape_view *v, const struct shape *sh)
{
}

static void show_cut(const struct shape_view *v, const struct shape *sh, uint32_t i, uint32_t depth)
{
	show_gap(v, sh, i, depth);
	strbuf_adds(v->o, "...");
}

static void show_close(const struct shape_view *v, const struct shape *sh, uint32_t depth)
{
	if (sh->kind == SHAPE_SOU || (is_in_lines(sh) && sh->nelems))
		line_begin(v, depth);
	else
		strbuf_addc(v->o, ' ');
	strbuf_addc(v->o, sh->kind == SHAPE_SOU ? '}' : ']');
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

void print_shape(struct printer *p, struct strbuf *o, const struct shape *shape,
		 const struct datum *d)
{
	strbuf_addf(o, "%s ", shape->type);
	walk_shape(p, o, &shape_text, shape, d);
	strbuf_addc(o, '\n');
}
