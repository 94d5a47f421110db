/* SPDX-License-Identifier: MIT */
/* ::printf: members of a structure by a format as in C. */
#include <ctype.h>
#include <inttypes.h>

#include "base/text.h"
#include "mdb/print.h"

#define WIDTH_MAX 1000
#define TEXT_MAX  4096 /* bytes of a text */

/* A conversion: "%-8.3s". */
struct conversion {
	bool is_left, has_zeros, has_plus, is_alternate, has_precision;
	uint32_t width, precision;
	char letter;
};

static uint32_t digits_read(const char **at)
{
	uint32_t n = 0;

	for (; isdigit((unsigned char)**at); (*at)++)
		n = MIN(n * 10 + (uint32_t)(**at - '0'), (uint32_t)WIDTH_MAX);
	return n;
}

/* Reads a conversion from behind its '%' on. */
static struct err *conversion_read(const char **at, struct conversion *ret)
{
	const char *p = *at;

	*ret = (struct conversion){.is_left = false};
	for (;; p++) {
		if (*p == '-')
			ret->is_left = true;
		else if (*p == '0')
			ret->has_zeros = true;
		else if (*p == '+')
			ret->has_plus = true;
		else if (*p == '#')
			ret->is_alternate = true;
		else
			break;
	}
	ret->width = digits_read(&p);
	if (*p == '.') {
		p++;
		ret->has_precision = true;
		ret->precision = digits_read(&p);
	}
	while (*p && strchr("hlzjqL", *p)) /* the type of the member has the size */
		p++;
	ret->letter = *p;
	if (!*p || !strchr("diuxXopcsafge", *p))
		return err_hint(err_new("the format has an unknown conversion: '%%%c'",
					*p > ' ' && *p < 0x7f ? *p : '?'),
				"conversions are %%d %%i %%u %%x %%X %%o %%p %%c %%s %%a %%f %%e "
				"%%g and %%%%");
	*at = p + 1;
	return NULL;
}

static void padded_add(struct strbuf *out, const struct conversion *c, const char *text, size_t len)
{
	size_t pad = c->width > len ? c->width - len : 0;

	if (!c->is_left)
		strbuf_pad(out, ' ', pad);
	strbuf_add(out, text, len);
	if (c->is_left)
		strbuf_pad(out, ' ', pad);
}

/* ---- values ---------------------------------------------------------------------------------- */

static void number_add(struct strbuf *out, const struct conversion *c, uint64_t word)
{
	const char *sign = "", *prefix = "";
	char digits[32];
	struct strbuf text = {0};
	size_t len, zeros;

	if ((c->letter == 'd' || c->letter == 'i') && (int64_t)word < 0) {
		word = -word;
		sign = "-";
	} else if (c->has_plus && (c->letter == 'd' || c->letter == 'i')) {
		sign = "+";
	}
	if (c->letter == 'p' || (c->is_alternate && (c->letter == 'x' || c->letter == 'X')))
		prefix = "0x";
	len = (size_t)snprintf(digits, sizeof(digits),
			       c->letter == 'x' || c->letter == 'p' ? "%" PRIx64
			       : c->letter == 'X'		    ? "%" PRIX64
			       : c->letter == 'o'		    ? "%" PRIo64
								    : "%" PRIu64,
			       word);
	zeros = c->has_precision && c->precision > len ? c->precision - len : 0;
	strbuf_addf(&text, "%s%s", sign, prefix);
	if (c->has_zeros && !c->is_left && !c->has_precision && c->width > len + text.len)
		zeros = c->width - len - text.len;
	strbuf_pad(&text, '0', zeros);
	strbuf_add(&text, digits, len);
	padded_add(out, c, strbuf_text(&text), text.len);
	strbuf_deinit(&text);
}

/* A text: an array of characters, what a pointer leads to, the name of an enumerator. */
static struct err *text_add(struct mdb *m, const struct conversion *c, const struct mdb_value *v,
			    struct strbuf *out)
{
	struct types *t = mdb_types(m);
	const struct type_info *info = type_get(t, type_resolve(t, v->type));
	CLEANUP(free) char *bytes = xmalloc(TEXT_MAX);
	struct strbuf text = {0}, shown = {0};
	size_t max = c->has_precision ? MIN(c->precision, (uint32_t)TEXT_MAX) : TEXT_MAX;
	uint64_t word = v->addr;

	if (info->kind == TK_ARRAY)
		max = MIN(max, (size_t)info->size);
	else if (!mdb_value_word(m, v, &word))
		return err_new("%%s is for texts, pointers to texts and enumerators that can be "
			       "read");
	if (info->kind == TK_ENUM)
		enum_name_add(info, word, &text);
	if (info->kind == TK_ENUM && !text.len)
		strbuf_addf(&text, "%" PRId64, (int64_t)word);
	else if (info->kind == TK_PTR || info->kind == TK_ARRAY)
		strbuf_add(&text, bytes, pointed_text(m, word, bytes, max));
	else if (info->kind == TK_INT)
		strbuf_addf(&text, "%" PRIu64, word);
	text_escape(&shown, strbuf_text(&text), MIN(text.len, max));
	padded_add(out, c, strbuf_text(&shown), shown.len);
	strbuf_deinit(&text);
	strbuf_deinit(&shown);
	return NULL;
}

static struct err *float_add(struct mdb *m, const struct conversion *c, const struct mdb_value *v,
			     struct strbuf *out)
{
	int precision = c->has_precision ? (int)c->precision : 6;
	struct strbuf text = {0};
	long double value;

	if (type_kind(mdb_types(m), v->type) != TK_FLOAT || !float_read(m, v, &value))
		return err_new("%%%c is for floating point numbers that can be read", c->letter);
	if (c->letter == 'f')
		strbuf_addf(&text, "%.*Lf", precision, value);
	else if (c->letter == 'e')
		strbuf_addf(&text, "%.*Le", precision, value);
	else
		strbuf_addf(&text, "%.*Lg", precision, value);
	padded_add(out, c, strbuf_text(&text), text.len);
	strbuf_deinit(&text);
	return NULL;
}

static struct err *value_add(struct mdb *m, const struct conversion *c, const struct mdb_value *v,
			     struct strbuf *out)
{
	struct strbuf name = {0}, shown = {0};
	uint64_t word = v->addr;
	char byte;

	if (c->letter == 's')
		return text_add(m, c, v, out);
	if (strchr("feg", c->letter))
		return float_add(m, c, v, out);
	/* of an array or structure, its address */
	if (!type_is_byref(mdb_types(m), v->type) && !mdb_value_word(m, v, &word))
		return err_new("%%%c is for numbers that can be read", c->letter);
	if (c->letter == 'c') {
		byte = (char)word;
		text_escape(&shown, &byte, 1);
	} else if (c->letter == 'a') {
		if (!mdb_name_add(m, word, false, &name))
			strbuf_addf(&name, "0x%" PRIx64, word);
		text_escape(&shown, strbuf_text(&name), name.len);
	} else {
		number_add(out, c, word);
		return NULL;
	}
	padded_add(out, c, strbuf_text(&shown), shown.len);
	strbuf_deinit(&name);
	strbuf_deinit(&shown);
	return NULL;
}

/* ---- the command ----------------------------------------------------------------------------- */

static struct err *format_add(struct mdb *m, const struct call *c, const char *format, type_id type,
			      uint32_t at, struct strbuf *out)
{
	struct err *e = NULL;

	for (const char *p = format; *p && !e;) {
		struct mdb_value v = {.type = type, .addr = c->addr};
		struct conversion how;

		if (*p == '\\' && p[1] && strchr("nt\\", p[1])) {
			strbuf_addc(out, p[1] == 'n' ? '\n' : p[1] == 't' ? '\t' : '\\');
			p += 2;
		} else if (*p != '%' || p[1] == '%') {
			strbuf_addc(out, *p);
			p += *p == '%' ? 2 : 1;
		} else {
			p++;
			e = conversion_read(&p, &how);
			if (!e && at >= c->argc)
				e = err_new("the format has more conversions than there are "
					    "members");
			/* "." is the value itself */
			if (!e && strcmp(c->argv[at], ".") != 0)
				e = mdb_value_member(m, c->argv[at], true, &v);
			if (!e)
				e = value_add(m, &how, &v, out);
			at++;
		}
	}
	if (!e && at < c->argc)
		e = err_new("the format has fewer conversions than there are members");
	return e;
}

struct err *cmd_printf(struct mdb *m, const struct call *c)
{
	struct strbuf text = {0};
	uint32_t at = 1;
	type_id type;
	struct err *e = mdb_type_words(m, c, &at, &type);

	if (!e)
		e = format_add(m, c, c->argv[0], type, at, &text);
	if (!e) {
		emit_row(&m->out);
		emit_value(&m->out, c->addr);
		emit_addr(&m->out, "address", c->addr, 0);
		emit_str(&m->out, "text", strbuf_text(&text), 0);
		/* the row ends the line */
		if (text.len && text.data[text.len - 1] == '\n')
			text.data[text.len - 1] = '\0';
		emit_say(&m->out, "%s", strbuf_text(&text));
		emit_end(&m->out);
	}
	strbuf_deinit(&text);
	return e;
}
