/* SPDX-License-Identifier: MIT */
/* JSON of print(): structures, unions, arrays and their members. */
#include <inttypes.h>
#include <math.h>

#include "base/text.h"
#include "dif/shape.h"
#include "render/json.h"

static void shape_word(const struct shape_view *v, const struct shape *sh, uint64_t word,
		       uint32_t bits)
{
	const char *name;

	if (sh->kind == SHAPE_INT || sh->kind == SHAPE_CHAR) {
		uint32_t up = 64 - MIN(MAX(bits, 1u), 64u);

		json_int(v->o, sh->is_signed ? (uint64_t)((int64_t)(word << up) >> up) : word,
			 sh->is_signed);
		return;
	}
	name = sh->kind == SHAPE_ENUM ? shape_enum_name(sh, word) : NULL;
	if (sh->kind == SHAPE_ENUM && !name) {
		json_int(v->o, (uint64_t)shape_enum_value(sh, word), true);
	} else if (name) {
		json_quote(v->o, name, strlen(name));
	} else {
		struct strbuf text = {0};

		if (sh->kind == SHAPE_FUNC && word && !sh->is_user)
			addr_text(v->p, &text, 0, word, ADDR_FULL);
		else
			strbuf_addf(&text, "0x%" PRIx64, word);
		json_quote(v->o, text.data, text.len);
		strbuf_deinit(&text);
	}
}

static void shape_float(const struct shape_view *v, const struct shape *sh, long double value)
{
	if (isfinite(value))
		strbuf_addf(v->o, "%.*Lg",
			    sh->size == sizeof(float)	 ? 9
			    : sh->size == sizeof(double) ? 17
							 : 21,
			    value);
	else
		strbuf_addf(v->o, "\"%Lg\"", value);
}

static void shape_text(const struct shape_view *v, const struct shape *sh, const char *text,
		       size_t len)
{
	json_quote(v->o, text, len);
}

static void shape_open(const struct shape_view *v, const struct shape *sh)
{
	strbuf_addc(v->o, '[');
}

static void shape_item(const struct shape_view *v, const struct shape *sh, uint32_t i,
		       uint32_t depth)
{
	const struct shape_member *m = sh->kind == SHAPE_SOU ? &sh->members[i] : NULL;

	if (i)
		strbuf_adds(v->o, ", ");
	if (!m)
		return;
	strbuf_adds(v->o, "{\"member-name\": ");
	json_quote(v->o, m->name, strlen(m->name));
	json_member(v->o, "name", m->shape->type);
	strbuf_adds(v->o, ", \"value\": ");
}

static void shape_item_end(const struct shape_view *v, const struct shape *sh)
{
	if (sh->kind == SHAPE_SOU)
		strbuf_addc(v->o, '}');
}

static void shape_cut(const struct shape_view *v, const struct shape *sh, uint32_t i,
		      uint32_t depth)
{
	strbuf_adds(v->o, i ? ", {\"warning\": \"the rest was not recorded\"}"
			    : "{\"warning\": \"not recorded\"}");
}

static void shape_close(const struct shape_view *v, const struct shape *sh, uint32_t depth)
{
	strbuf_addc(v->o, ']');
}

static void shape_forward(const struct shape_view *v, const struct shape *sh)
{
	strbuf_adds(v->o, "null");
}

static const struct shape_visitor shape_json = {
	.word = shape_word,
	.flt = shape_float,
	.text = shape_text,
	.open = shape_open,
	.item = shape_item,
	.item_end = shape_item_end,
	.cut = shape_cut,
	.close = shape_close,
	.forward = shape_forward,
};

void json_shape(struct printer *p, struct strbuf *o, const struct shape *shape,
		const struct datum *d)
{
	walk_shape(p, o, &shape_json, shape, d);
}

void json_typed(struct printer *p, const struct shape *shape, const struct datum *d)
{
	json_item(p);
	strbuf_adds(&p->out, "{\"type\": [{\"name\": ");
	json_quote(&p->out, shape->type, strlen(shape->type));
	strbuf_adds(&p->out, ", \"value\": ");
	json_shape(p, &p->out, shape, d);
	strbuf_adds(&p->out, "}]}");
}
