/* SPDX-License-Identifier: MIT */
/* The structures by which runtimes store values. */
#include "mdb/lang.h"

#include <inttypes.h>

#include "base/text.h"

#define INDENT		  4
#define FIELD_CLASSES_MAX 16

/* How many bytes of a field are its value; 0: it is a word of the runtime. */
static uint32_t type_size(const char *type)
{
	static const struct {
		const char *type;
		uint32_t size;
	} types[] = {
		{"int", 4},	{"int32_t", 4},	  {"uint32_t", 4}, {"uint16_t", 2},
		{"uint8_t", 1}, {"char", 1},	  {"size_t", 8},   {"Address", 8},
		{"double", 8},	{"uintptr_t", 8}, {"uint64_t", 8}, {"intptr_t", 8},
	};

	for (uint32_t i = 0; i < ARRAY_LEN(types); i++)
		if (strcmp(types[i].type, type) == 0)
			return types[i].size;
	return 0;
}

/*
 * Adds what a value is besides its type. V8's values that are none of a program's, such as
 * "<hole>", are called by their names.
 */
static void plain_value_add(struct mdb *m, const struct lang *l, uint64_t word, bool is_named,
			    struct strbuf *out)
{
	const struct value_style style = {.items = 1, .text = 60, .is_one_line = true};
	struct strbuf text = {0};
	const char *name;
	size_t len;

	strbuf_adds(out, ": ");
	lang_value_add(m, l, word, &style, &text);
	name = strbuf_text(&text);
	len = text.len;
	if (is_named && len > 2 && name[0] == '<' && name[len - 1] == '>') {
		name++;
		len -= 2;
	}
	strbuf_adds(out, is_named ? "\"" : "");
	strbuf_add(out, name, len);
	strbuf_adds(out, is_named ? "\"" : "");
	strbuf_deinit(&text);
}

/* What a field has: a number, or a word with what it is. */
static void field_value_add(struct mdb *m, const struct lang *l, const struct value_field *f,
			    struct strbuf *out)
{
	uint32_t size = type_size(f->type);
	struct strbuf type = {0};
	uint64_t word = 0;
	struct value v;

	if (f->has_word) {
		lang_value_add_short(m, l, f->word, out);
		return;
	}
	if (!mdb_read(m, f->addr, &word, size ? size : sizeof(word))) {
		strbuf_adds(out, "(not there)");
		return;
	}
	strbuf_addf(out, "%" PRIx64, word);
	if (size || !value_type_add(l->p, l->h, word, &type))
		return;
	strbuf_adds(out, " (");
	text_escape(out, strbuf_text(&type), type.len);
	if (value_read(l->p, l->h, word, 1, &v) && !v.has_items)
		plain_value_add(m, l, word,
				strcmp(strbuf_text(&type), "Oddball") == 0 ||
					strcmp(strbuf_text(&type), "Hole") == 0,
				out);
	strbuf_addc(out, ')');
	value_free(&v);
	strbuf_deinit(&type);
}

static void field_row(struct mdb *m, const struct lang *l, const char *base,
		      const struct value_field *f, uint32_t depth)
{
	struct strbuf value = {0};

	field_value_add(m, l, f, &value);
	emit_row(&m->out);
	emit_say(&m->out, "%*s%" PRIx64 " ", (int)(INDENT * depth), "", f->addr);
	emit_addr(&m->out, "address", f->addr, 0);
	emit_str(&m->out, "class", base, 0);
	emit_str(&m->out, "name", f->name, -1);
	emit_say(&m->out, "= ");
	emit_bytes(&m->out, "value", strbuf_text(&value), value.len, 1);
	emit_say(&m->out, "[");
	emit_str(&m->out, "type", f->type, 0);
	text_escape(&m->out.text, f->type, m->out.is_json ? 0 : strlen(f->type));
	emit_say(&m->out, "]");
	emit_end(&m->out);
	strbuf_deinit(&value);
}

/* Whether a field of that name and address came before in the class that begins at `from`. */
static bool field_is_again(const value_fields *v, uint32_t from, uint32_t i)
{
	for (uint32_t k = from + 1; k < i; k++)
		if (v->data[k].addr == v->data[i].addr &&
		    strcmp(v->data[k].name, v->data[i].name) == 0)
			return true;
	return false;
}

static int field_compare(const void *a, const void *b)
{
	const struct value_field *x = a, *y = b;

	return (x->addr > y->addr) - (x->addr < y->addr);
}

/* Sorts the fields of each class by their addresses. */
static void fields_sort(value_fields *v)
{
	for (uint32_t i = 0, end; i < v->len; i = end) {
		for (end = i + 1; end < v->len && !v->data[end].base; end++)
			;
		qsort(&v->data[i + 1], end - i - 1, sizeof(*v->data), field_compare);
	}
}

/* The fields of the class that begins at an index, behind those of the class it derives from. */
static void classes_show(struct mdb *m, const struct lang *l, uint64_t word, const value_fields *v)
{
	uint32_t begins[FIELD_CLASSES_MAX], n = 0;

	for (uint32_t i = 0; i < v->len && n < FIELD_CLASSES_MAX; i++) {
		if (!v->data[i].base)
			continue;
		emit_say(&m->out, "%*s%" PRIx64 " ", (int)(INDENT * n), "", word);
		if (!m->out.is_json)
			text_escape(&m->out.text, v->data[i].base, strlen(v->data[i].base));
		emit_say(&m->out, " {\n");
		begins[n++] = i;
	}
	while (n--) {
		for (uint32_t i = begins[n] + 1; i < v->len && !v->data[i].base; i++)
			if (!field_is_again(v, begins[n], i))
				field_row(m, l, v->data[begins[n]].base, &v->data[i], n + 1);
		emit_say(&m->out, "%*s}\n", (int)(INDENT * n), "");
	}
}

struct err *cmd_lraw(struct mdb *m, const struct call *c)
{
	value_fields fields = {0};
	struct lang l;
	struct err *e = lang_of_word(m, c->addr, &l);

	if (!e && !value_raw_read(l.p, l.h, c->addr, &fields))
		e = err_new("%" PRIx64 " has no structure: it is a number, or its runtime does not "
			    "say how it stores values",
			    c->addr);
	fields_sort(&fields);
	if (!e)
		classes_show(m, &l, c->addr, &fields);
	value_fields_free(&fields);
	return e;
}
