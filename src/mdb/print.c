/* SPDX-License-Identifier: MIT */
/*
 * ::print: values in memory by their types, as text or JSON.
 *
 * Text has a line for each member, "name = value", and braces around members of structures. JSON
 * has a value of its own for each: numbers, texts of arrays of characters, names of enumerators,
 * lists, objects; a pointer is {"pointer": "0x7f00"}, with the symbol or text it leads to. Members
 * of an anonymous member are those of the structure, and a base class is a member with its name.
 *
 * Types come from files and values from memory that nobody has checked: the depth and the number of
 * what is shown are bounded.
 */
#include <inttypes.h>
#include <math.h>

#include "base/text.h"
#include "mdb/print.h"

#define INDENT	     4
#define DEPTH_MAX    64
#define VALUES_MAX   100000 /* that one call shows */
#define TEXT_MAX     256    /* bytes of an array of characters */
#define POINTED_MAX  64	    /* bytes of a text to which a pointer leads */
#define ELEMENTS_MAX 32	    /* by default */

struct shower {
	struct mdb *m;
	struct types *t;
	struct strbuf *o;
	const struct print_opts *opts;
	bool is_json;
	uint32_t left;	 /* values that may be shown */
	uint32_t nlined; /* members of the object of JSON that is open */
};

static void value_show(struct shower *s, const struct mdb_value *v, uint32_t depth);

/* ---- scalars --------------------------------------------------------------------------------- */

static void text_show(struct shower *s, const char *text, size_t len)
{
	if (s->is_json)
		json_quote(s->o, text, len);
	else
		escape_quote(s->o, text, len, &escapes_c);
}

static void unreadable_show(struct shower *s)
{
	strbuf_adds(s->o, s->is_json ? "null" : "<unreadable>");
}

static void number_show(struct shower *s, uint64_t word, bool is_signed)
{
	int64_t value = (int64_t)word;

	if (s->is_json && is_signed)
		strbuf_addf(s->o, "%" PRId64, value);
	else if (s->is_json)
		strbuf_addf(s->o, "%" PRIu64, word);
	else if (is_signed && !s->opts->is_hex)
		strbuf_addf(s->o, "%s0t%" PRIu64, value < 0 ? "-" : "", value < 0 ? -word : word);
	else
		strbuf_addf(s->o, "0x%" PRIx64, word);
}

static void int_show(struct shower *s, const struct type_info *info, uint32_t bits, uint64_t word)
{
	static const struct escapes how = {.letters = "\aa\bb\ff\nn\rr\tt\vv''\\\\",
					   .nul = "\\0",
					   .other = "\\%03o"};
	char c = (char)word;

	if (bits < 64 && s->opts->is_hex)
		word &= (1ull << bits) - 1;
	if (info->size == 1 && strcmp(info->name, "_Bool") == 0 && word <= 1) {
		strbuf_adds(s->o, word ? "true" : "false");
	} else if (!s->is_json && !s->opts->is_hex && info->is_char && bits == 8 &&
		   strcmp(info->name, "char") == 0) {
		strbuf_addc(s->o, '\'');
		escape_add(s->o, &c, 1, &how);
		strbuf_addc(s->o, '\'');
	} else {
		number_show(s, word, info->is_signed);
	}
}

void enum_name_add(const struct type_info *info, uint64_t word, struct strbuf *out)
{
	uint64_t rest = word;
	size_t from = out->len;

	for (uint32_t i = 0; i < info->nenums; i++) {
		if ((uint64_t)info->enums[i].val != word)
			continue;
		strbuf_adds(out, info->enums[i].name);
		return;
	}
	/* flags: names of single bits that are all of the value */
	for (uint32_t i = 0; i < info->nenums && rest; i++) {
		uint64_t bit = (uint64_t)info->enums[i].val;

		if (!bit || (bit & (bit - 1)) || !(rest & bit))
			continue;
		strbuf_addf(out, "%s%s", out->len > from ? "|" : "", info->enums[i].name);
		rest &= ~bit;
	}
	if (rest) {
		out->len = from;
		strbuf_adds(out, "");
	}
}

static void enum_show(struct shower *s, const struct type_info *info, uint64_t word)
{
	struct strbuf name = {0};

	enum_name_add(info, word, &name);
	if (!name.len)
		number_show(s, word, true);
	else if (s->is_json)
		json_quote(s->o, strbuf_text(&name), name.len);
	else
		text_escape(s->o, strbuf_text(&name), name.len);
	strbuf_deinit(&name);
}

size_t pointed_text(struct mdb *m, taddr addr, char *to, size_t max)
{
	size_t n = 0;

	while (n < max && mdb_read(m, addr + n, to + n, 1) && to[n])
		n++;
	return n;
}

static bool leads_to_text(const struct types *t, type_id pointer)
{
	const struct type_info *to = type_get(t, type_resolve(t, type_deref(t, pointer)));

	return to->kind == TK_INT && to->is_char && to->size == 1;
}

static void pointer_show(struct shower *s, type_id type, uint64_t word)
{
	struct strbuf name = {0};
	char text[POINTED_MAX], first;
	size_t len;

	strbuf_addf(s->o, s->is_json ? "{\"pointer\": \"0x%" PRIx64 "\"" : "0x%" PRIx64, word);
	if (leads_to_text(s->t, type) && mdb_read(s->m, word, &first, 1)) {
		len = pointed_text(s->m, word, text, sizeof(text));
		strbuf_adds(s->o, s->is_json ? ", \"text\": " : " ");
		text_show(s, text, len);
		if (len == sizeof(text) && !s->is_json)
			strbuf_adds(s->o, "...");
	} else if (word && mdb_name_add(s->m, word, false, &name)) {
		strbuf_adds(s->o, s->is_json ? ", \"symbol\": " : " <");
		if (s->is_json)
			json_quote(s->o, strbuf_text(&name), name.len);
		else
			text_escape(s->o, strbuf_text(&name), name.len);
		strbuf_adds(s->o, s->is_json ? "" : ">");
	}
	strbuf_adds(s->o, s->is_json ? "}" : "");
	strbuf_deinit(&name);
}

bool float_read(struct mdb *m, const struct mdb_value *v, long double *ret)
{
	uint32_t size = type_size(mdb_types(m), v->type);
	char bytes[sizeof(long double)] = {0};
	long double ld;
	double d;
	float f;

	if (size > sizeof(bytes) || !mdb_read(m, v->addr, bytes, size))
		return false;
	memcpy(&f, bytes, sizeof(f));
	memcpy(&d, bytes, sizeof(d));
	memcpy(&ld, bytes, sizeof(ld));
	*ret = size == sizeof(f) ? (long double)f : size == sizeof(d) ? (long double)d : ld;
	return size == sizeof(f) || size == sizeof(d) || size == sizeof(ld);
}

static void float_show(struct shower *s, const struct mdb_value *v)
{
	uint32_t size = type_size(s->t, v->type);
	int digits = size == sizeof(float) ? 9 : size == sizeof(double) ? 17 : 21;
	long double value;

	if (!float_read(s->m, v, &value))
		unreadable_show(s);
	else if (s->is_json && !isfinite(value))
		strbuf_addf(s->o, "\"%Lg\"", value);
	else
		strbuf_addf(s->o, "%.*Lg", digits, value);
}

static void scalar_show(struct shower *s, const struct mdb_value *v)
{
	const struct type_info *info = type_get(s->t, type_resolve(s->t, v->type));
	uint64_t word;

	if (info->kind == TK_FLOAT)
		float_show(s, v);
	else if (!mdb_value_word(s->m, v, &word))
		unreadable_show(s);
	else if (info->kind == TK_PTR)
		pointer_show(s, v->type, word);
	else if (info->kind == TK_ENUM)
		enum_show(s, info, word);
	else
		int_show(s, info, v->bit_size ? v->bit_size : info->size * 8, word);
}

/* ---- arrays and structures ------------------------------------------------------------------- */

static void line_begin(struct shower *s, uint32_t depth, taddr addr)
{
	strbuf_addc(s->o, '\n');
	if (s->opts->has_addrs)
		strbuf_addf(s->o, "%-14" PRIx64 " ", addr);
	strbuf_pad(s->o, ' ', (size_t)depth * INDENT);
}

/* Shows how many elements or members are left out. */
static void rest_show(struct shower *s, uint32_t n, uint32_t depth, bool is_line, taddr addr)
{
	if (s->is_json) {
		strbuf_addf(s->o, "{\"more\": %u}", n);
		return;
	}
	if (is_line)
		line_begin(s, depth, addr);
	strbuf_addf(s->o, "... %u more", n);
}

/*
 * Shows an array of characters as text if it is one: printable up to a NUL, or to its end; bytes
 * behind the NUL are not looked at. False: it is none.
 */
static bool characters_show(struct shower *s, const struct mdb_value *v,
			    const struct type_info *array)
{
	const struct type_info *elem = type_get(s->t, type_resolve(s->t, array->ref));
	char text[TEXT_MAX];
	uint32_t n = MIN(array->nelems, (uint32_t)sizeof(text));
	size_t len;

	if (elem->kind != TK_INT || !elem->is_char || elem->size != 1 || !n ||
	    strcmp(elem->name, "unsigned char") == 0 || !mdb_read(s->m, v->addr, text, n))
		return false;
	len = strnlen(text, n);
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] < ' ' && !strchr("\a\b\f\n\r\t\v", text[i]))
			return false;
	strbuf_adds(s->o, s->is_json ? "" : "[ ");
	text_show(s, text, len);
	if (!s->is_json)
		strbuf_adds(s->o, len == n && n < array->nelems ? "... ]" : " ]");
	return true;
}

static bool is_compound(const struct types *t, type_id type)
{
	while (type_kind(t, type) == TK_ARRAY)
		type = type_deref(t, type);
	return type_is_sou(t, type);
}

static void array_show(struct shower *s, const struct mdb_value *v, const struct type_info *info,
		       uint32_t depth)
{
	bool has_lines = is_compound(s->t, info->ref);
	uint32_t size = type_size(s->t, info->ref), max = s->opts->elements, i;

	if (characters_show(s, v, info))
		return;
	strbuf_addc(s->o, '[');
	for (i = 0; i < info->nelems && (i < max || !max) && s->left && !s->m->is_interrupted;
	     i++) {
		const struct mdb_value elem = {.type = info->ref,
					       .addr = v->addr + (uint64_t)i * size};

		strbuf_adds(s->o, i ? s->is_json || !has_lines ? ", " : "," : "");
		if (has_lines && !s->is_json)
			line_begin(s, depth + 1, elem.addr);
		else if (!i && !s->is_json)
			strbuf_addc(s->o, ' ');
		value_show(s, &elem, depth + 1);
	}
	if (i < info->nelems) {
		strbuf_adds(s->o, i ? s->is_json || !has_lines ? ", " : "," : "");
		rest_show(s, info->nelems - i, depth + 1, has_lines, v->addr + (uint64_t)i * size);
	}
	if (has_lines && !s->is_json)
		line_begin(s, depth, v->addr);
	else if (!s->is_json)
		strbuf_addc(s->o, ' ');
	strbuf_addc(s->o, ']');
}

static const char *tag_of(const struct types *t, type_id type)
{
	return type_get(t, type_resolve(t, type))->name;
}

/* Adds the name of a member, with its type if that is wanted. */
static void member_name_show(struct shower *s, const struct type_member *m)
{
	struct strbuf name = {0};

	if (s->opts->has_types) {
		mdb_type_name_add(s->m, m->type, s->o);
		strbuf_adds(s->o, *m->name || m->bit_size ? " " : "");
	}
	/* a base class has no name, but its type has one */
	if (!*m->name && *tag_of(s->t, m->type) && !s->opts->has_types)
		strbuf_addf(&name, "<%s>", tag_of(s->t, m->type));
	else
		strbuf_adds(&name, m->name);
	text_escape(s->o, strbuf_text(&name), name.len);
	if (m->bit_size)
		strbuf_addf(s->o, " :%u", m->bit_size);
	strbuf_adds(s->o, name.len || m->bit_size || s->opts->has_types ? " = " : "");
	strbuf_deinit(&name);
}

/* Shows the members of a structure, and of JSON those of its anonymous members in their place. */
static void members_show(struct shower *s, const struct mdb_value *v, const struct type_info *info,
			 uint32_t depth)
{
	uint32_t i;

	for (i = 0; i < info->nmembers && s->left && !s->m->is_interrupted; i++) {
		const struct type_member *m = &info->members[i];
		const struct mdb_value member = {.type = m->type,
						 .addr = v->addr + m->bit_off / 8,
						 .bit_off = m->bit_off % 8,
						 .bit_size = m->bit_size};
		const char *name = *m->name ? m->name : tag_of(s->t, m->type);

		if (!s->is_json) {
			line_begin(s, depth + 1, member.addr);
			member_name_show(s, m);
			value_show(s, &member, depth + 1);
			continue;
		}
		if (!*name && type_is_sou(s->t, m->type)) {
			const type_id inner = type_resolve(s->t, m->type);

			(void)type_complete(s->t, inner);
			s->left--;
			if (depth < DEPTH_MAX)
				members_show(s, &member, type_get(s->t, inner), depth + 1);
			continue;
		}
		strbuf_adds(s->o, s->nlined++ ? ", " : "");
		json_quote(s->o, name, strlen(name));
		strbuf_adds(s->o, ": ");
		value_show(s, &member, depth + 1);
	}
	if (i == info->nmembers)
		return;
	if (s->is_json)
		strbuf_addf(s->o, "%s\"...\": ", s->nlined++ ? ", " : "");
	rest_show(s, info->nmembers - i, depth + 1, true, v->addr);
}

static void sou_show(struct shower *s, const struct mdb_value *v, uint32_t depth)
{
	uint32_t outer = s->nlined;

	if (!type_complete(s->t, v->type)) {
		strbuf_adds(s->o, s->is_json ? "null" : "<declared, but defined nowhere>");
		return;
	}
	if (depth >= s->opts->depth || depth >= DEPTH_MAX) {
		strbuf_adds(s->o, s->is_json ? "{\"...\": null}" : "{ ... }");
		return;
	}
	if (!type_get(s->t, type_resolve(s->t, v->type))->nmembers) {
		strbuf_adds(s->o, s->is_json ? "{}" : "{ }");
		return;
	}
	strbuf_addc(s->o, '{');
	s->nlined = 0;
	members_show(s, v, type_get(s->t, type_resolve(s->t, v->type)), depth);
	s->nlined = outer;
	if (!s->is_json)
		line_begin(s, depth, v->addr);
	strbuf_addc(s->o, '}');
}

static void value_show(struct shower *s, const struct mdb_value *v, uint32_t depth)
{
	const struct type_info *info = type_get(s->t, type_resolve(s->t, v->type));

	if (s->left)
		s->left--;
	switch (info->kind) {
	case TK_STRUCT:
	case TK_UNION: sou_show(s, v, depth); return;
	case TK_ARRAY:
		if (depth < DEPTH_MAX)
			array_show(s, v, info, depth);
		else
			strbuf_adds(s->o, "[]");
		return;
	case TK_INT:
	case TK_FLOAT:
	case TK_PTR:
	case TK_ENUM: scalar_show(s, v); return;
	case TK_VOID:
	case TK_TYPEDEF:
	case TK_CONST:
	case TK_VOLATILE:
	case TK_RESTRICT:
	case TK_USERLAND:
	case TK_FUNC:
	case TK_STRING:
	case TK_DYNAMIC:
	case TK_STACK:
	case TK_SYMADDR:
	case TK_USYMADDR:
	case TK_ERROR: break;
	}
	strbuf_adds(s->o, s->is_json ? "null" : "<no value>");
}

void value_text_add(struct mdb *m, const struct mdb_value *v, const struct print_opts *opts,
		    bool is_json, struct strbuf *out)
{
	struct shower s = {.m = m,
			   .t = mdb_types(m),
			   .o = out,
			   .opts = opts,
			   .is_json = is_json,
			   .left = VALUES_MAX};

	value_show(&s, v, 0);
}

/* ---- the command ----------------------------------------------------------------------------- */

static struct err *opts_read(const struct call *c, struct print_opts *ret)
{
	uint64_t depth = DEPTH_MAX, elements = ELEMENTS_MAX;
	struct err *e = NULL;

	if (c->opts['d'])
		e = mdb_number(c->opts['d'], UINT32_MAX, &depth);
	if (!e && c->opts['l'])
		e = mdb_number(c->opts['l'], UINT32_MAX, &elements);
	*ret = (struct print_opts){.depth = (uint32_t)depth,
				   .elements = (uint32_t)elements,
				   .has_addrs = c->opts['a'],
				   .has_types = c->opts['t'],
				   .is_hex = c->opts['x']};
	return e;
}

static struct err *value_row(struct mdb *m, const struct mdb_value *v, const char *path,
			     const struct print_opts *opts)
{
	struct types *t = mdb_types(m);
	struct strbuf text = {0}, type = {0};
	struct err *e = mdb_type_check(m, v->type);
	uint64_t word = v->addr;
	char byte;

	if (e)
		return e;
	if (type_size(t, v->type) && !mdb_read(m, v->addr, &byte, 1))
		return err_new("memory at 0x%" PRIx64 " cannot be read", v->addr);
	if (type_is_scalar(t, v->type) && type_kind(t, v->type) != TK_ARRAY &&
	    !mdb_value_word(m, v, &word))
		return err_new("memory at 0x%" PRIx64 " cannot be read", v->addr);
	mdb_type_name_add(m, v->type, &type);
	emit_row(&m->out);
	emit_value(&m->out, word);
	if (m->out.is_piped) {
		emit_end(&m->out);
		strbuf_deinit(&type);
		return NULL;
	}
	value_text_add(m, v, opts, m->out.is_json, &text);
	emit_addr(&m->out, "address", v->addr, 0);
	if (*path)
		emit_str(&m->out, "member", path, 0);
	emit_str(&m->out, "type", strbuf_text(&type), 0);
	emit_json(&m->out, "value", strbuf_text(&text));
	if (opts->has_addrs)
		emit_say(&m->out, "%-14" PRIx64 " ", v->addr);
	if (opts->has_types)
		emit_say(&m->out, "%s ", strbuf_text(&type));
	if (*path) {
		CLEANUP(free) char *clean = text_clean(xstrdup(path));

		emit_say(&m->out, "%s = ", clean);
	}
	emit_say(&m->out, "%s", strbuf_text(&text));
	emit_end(&m->out);
	strbuf_deinit(&text);
	strbuf_deinit(&type);
	return NULL;
}

/* Members that begin like one, ".a" or "[1]", are those of the variable at the address. */
static bool has_type(const struct call *c)
{
	return c->argc && !strchr(".[-", c->argv[0][0]);
}

struct err *cmd_print(struct mdb *m, const struct call *c)
{
	struct print_opts opts;
	uint32_t at = 0;
	type_id type;
	struct err *e = opts_read(c, &opts);

	if (!e)
		e = has_type(c) ? mdb_type_words(m, c, &at, &type) : mdb_type_at(m, c->addr, &type);
	if (!e && at == c->argc)
		return value_row(m, &(struct mdb_value){.type = type, .addr = c->addr}, "", &opts);
	for (; !e && at < c->argc; at++) {
		struct mdb_value v = {.type = type, .addr = c->addr};

		e = mdb_value_member(m, c->argv[at], true, &v);
		if (!e)
			e = value_row(m, &v, c->argv[at], &opts);
	}
	return e;
}
