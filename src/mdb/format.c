/* SPDX-License-Identifier: MIT */
/* The table of formats, and how each kind is printed. */
#include "mdb/format.h"

#include <ctype.h>
#include <inttypes.h>
#include <time.h>

#include "base/text.h"

#define REPEAT_MAX 65536u

/* clang-format off */
const struct format formats[] = {
	{'+', FORMAT_MOVE, 1, 0, false, "go on by the count"},
	{'-', FORMAT_MOVE, 0, 0, false, "go back by the count"},
	{'A', FORMAT_NUMBER, 0, 16, false, "the address"},
	{'B', FORMAT_INT, 1, 16, false, "hexadecimal integer (1 byte)"},
	{'C', FORMAT_CHAR, 1, 1, false, "character, escaped as in C (1 byte)"},
	{'D', FORMAT_INT, 4, 10, true, "decimal signed integer (4 bytes)"},
	{'E', FORMAT_INT, 8, 10, false, "decimal unsigned integer (8 bytes)"},
	{'F', FORMAT_FLOAT, 8, 0, false, "double (8 bytes)"},
	{'G', FORMAT_INT, 8, 8, false, "octal unsigned integer (8 bytes)"},
	{'H', FORMAT_SWAPPED, 4, 16, false, "integer with its bytes swapped (4 bytes)"},
	{'I', FORMAT_INSN, 0, 1, false, "address and instruction"},
	{'J', FORMAT_INT, 8, 16, false, "hexadecimal integer (8 bytes)"},
	{'K', FORMAT_INT, 8, 16, false, "hexadecimal word of the target (8 bytes)"},
	{'N', FORMAT_SPACE, '\n', 0, false, "end of line"},
	{'O', FORMAT_INT, 4, 8, false, "octal unsigned integer (4 bytes)"},
	{'P', FORMAT_POINTER, 8, 16, false, "pointer, with its symbol (8 bytes)"},
	{'Q', FORMAT_INT, 4, 8, true, "octal signed integer (4 bytes)"},
	{'R', FORMAT_INT, 8, 2, false, "binary integer (8 bytes)"},
	{'S', FORMAT_STRING, 0, 1, false, "string, escaped as in C"},
	{'T', FORMAT_SPACE, '\t', 0, false, "tab"},
	{'U', FORMAT_INT, 4, 10, false, "decimal unsigned integer (4 bytes)"},
	{'V', FORMAT_INT, 1, 10, false, "decimal unsigned integer (1 byte)"},
	{'X', FORMAT_INT, 4, 16, false, "hexadecimal integer (4 bytes)"},
	{'Y', FORMAT_TIME, 4, 0, false, "time in seconds (4 bytes)"},
	{'a', FORMAT_NAME, 0, 0, false, "the address as symbol and offset"},
	{'b', FORMAT_INT, 1, 8, false, "octal unsigned integer (1 byte)"},
	{'c', FORMAT_CHAR, 1, 0, false, "character (1 byte)"},
	{'d', FORMAT_INT, 2, 10, true, "decimal signed integer (2 bytes)"},
	{'e', FORMAT_INT, 8, 10, true, "decimal signed integer (8 bytes)"},
	{'f', FORMAT_FLOAT, 4, 0, false, "float (4 bytes)"},
	{'g', FORMAT_INT, 8, 8, true, "octal signed integer (8 bytes)"},
	{'h', FORMAT_SWAPPED, 2, 16, false, "integer with its bytes swapped (2 bytes)"},
	{'i', FORMAT_INSN, 0, 0, false, "instruction"},
	{'n', FORMAT_SPACE, '\n', 0, false, "end of line"},
	{'o', FORMAT_INT, 2, 8, false, "octal unsigned integer (2 bytes)"},
	{'p', FORMAT_POINTER, 8, 16, false, "pointer, with its symbol (8 bytes)"},
	{'q', FORMAT_INT, 2, 8, true, "octal signed integer (2 bytes)"},
	{'r', FORMAT_SPACE, ' ', 0, false, "blank"},
	{'s', FORMAT_STRING, 0, 0, false, "string"},
	{'t', FORMAT_SPACE, '\t', 0, false, "tab"},
	{'u', FORMAT_INT, 2, 10, false, "decimal unsigned integer (2 bytes)"},
	{'v', FORMAT_INT, 1, 10, true, "decimal signed integer (1 byte)"},
	{'x', FORMAT_INT, 2, 16, false, "hexadecimal integer (2 bytes)"},
	{'y', FORMAT_TIME, 8, 0, false, "time in seconds (8 bytes)"},
};
/* clang-format on */
const uint32_t nformats = ARRAY_LEN(formats);

const struct format *format_find(char letter)
{
	for (uint32_t i = 0; i < nformats; i++)
		if (formats[i].letter == letter)
			return &formats[i];
	return NULL;
}

/* ---- values ---------------------------------------------------------------------------------- */

static int64_t sign_extend(uint64_t value, uint32_t size)
{
	uint32_t shift = 64 - 8 * size;

	return (int64_t)(value << shift) >> shift;
}

static void digits_add(struct strbuf *out, uint64_t value, uint32_t base)
{
	char digits[65];
	uint32_t n = 0;

	do
		digits[n++] = (char)('0' + value % base);
	while (value /= base);
	while (n)
		strbuf_addc(out, digits[--n]);
}

/* Hexadecimal numbers have no prefix, octal and binary ones none but a zero, as MDB prints them. */
static void int_add(const struct format *f, uint64_t value, struct strbuf *out)
{
	int64_t number = f->is_signed ? sign_extend(value, f->size) : 0;

	if (f->base == 16) {
		strbuf_addf(out, "%" PRIx64, value);
		return;
	}
	if (f->base == 8 && value)
		strbuf_addc(out, '0');
	if (number < 0) {
		strbuf_addc(out, '-');
		value = -(uint64_t)number;
	}
	digits_add(out, value, f->base);
}

static void float_add(const struct format *f, uint64_t value, struct strbuf *out)
{
	double d;
	float s;

	if (f->size == sizeof(s)) {
		memcpy(&s, &value, sizeof(s));
		strbuf_addf(out, "%.9g", (double)s);
		return;
	}
	memcpy(&d, &value, sizeof(d));
	strbuf_addf(out, "%.17g", d);
}

static void char_add(const struct format *f, uint64_t value, struct strbuf *out)
{
	char c = (char)value;

	if (f->base)
		escape_add(out, &c, 1, &escapes_c);
	else
		strbuf_addc(out, isprint((unsigned char)c) ? c : '?');
}

/* The time of the local zone, as MDB prints it; of a number that is none, the number. */
static void time_add(const struct format *f, uint64_t value, struct strbuf *out)
{
	time_t t = (time_t)sign_extend(value, f->size);
	char text[64];
	struct tm tm;

	if (localtime_r(&t, &tm) && strftime(text, sizeof(text), "%Y %b %e %H:%M:%S", &tm))
		strbuf_adds(out, text);
	else
		strbuf_addf(out, "%" PRId64, (int64_t)t);
}

static void swapped_add(const struct format *f, uint64_t value, struct strbuf *out)
{
	strbuf_addf(out, "%" PRIx64, __builtin_bswap64(value) >> (64 - 8 * f->size));
}

static void pointer_add(const struct format_env *env, uint64_t value, struct strbuf *out)
{
	struct strbuf name = {0};

	strbuf_addf(out, "0x%" PRIx64, value);
	if (env->name && env->name(env->ctx, value, &name))
		strbuf_addf(out, " <%s>", strbuf_text(&name));
	strbuf_deinit(&name);
}

static void number_add(const struct format *f, const struct format_env *env, uint64_t value,
		       struct strbuf *out)
{
	if (f->size && f->size < 8)
		value &= (1ull << 8 * f->size) - 1;
	switch (f->kind) {
	case FORMAT_INT: int_add(f, value, out); break;
	case FORMAT_FLOAT: float_add(f, value, out); break;
	case FORMAT_CHAR: char_add(f, value, out); break;
	case FORMAT_SWAPPED: swapped_add(f, value, out); break;
	case FORMAT_POINTER: pointer_add(env, value, out); break;
	case FORMAT_TIME: time_add(f, value, out); break;
	case FORMAT_NUMBER: strbuf_addf(out, "%" PRIx64, value); break;
	case FORMAT_NAME:
		if (!env->name || !env->name(env->ctx, value, out))
			strbuf_addf(out, "0x%" PRIx64, value);
		break;
	case FORMAT_STRING:
	case FORMAT_INSN:
	case FORMAT_MOVE:
	case FORMAT_SPACE: BUG("format '%c' has no number", f->letter);
	}
}

/* ---- what is read ---------------------------------------------------------------------------- */

static struct err *unreadable_err(taddr addr)
{
	return err_new("no memory at 0x%" PRIx64 " can be read", addr);
}

/* Reads to the NUL, which may be the last byte that can be read. */
static struct err *string_print(const struct format *f, const struct format_env *env,
				struct format_place *at, struct strbuf *out)
{
	struct strbuf text = {0};
	char c = 1;

	while (text.len < FORMAT_STRING_MAX && env->read && env->read(env->ctx, at->addr, &c, 1) &&
	       c) {
		strbuf_addc(&text, c);
		at->addr++;
	}
	if (c && !text.len)
		return unreadable_err(at->addr);
	if (f->base)
		escape_add(out, strbuf_text(&text), text.len, &escapes_c);
	else
		text_escape(out, strbuf_text(&text), text.len);
	if (c)
		strbuf_adds(out, "...");
	at->addr += !c;
	strbuf_deinit(&text);
	return NULL;
}

static struct err *insn_print(const struct format *f, const struct format_env *env,
			      struct format_place *at, struct strbuf *out)
{
	struct strbuf name = {0};
	uint32_t n;

	if (f->base) {
		if (!env->name || !env->name(env->ctx, at->addr, &name))
			strbuf_addf(&name, "0x%" PRIx64, at->addr);
		strbuf_addf(out, "%s: ", strbuf_text(&name));
	}
	strbuf_deinit(&name);
	n = env->insn ? env->insn(env->ctx, at->addr, out) : 0;
	if (!n)
		return err_new("there is no instruction at 0x%" PRIx64, at->addr);
	at->addr += n;
	return NULL;
}

static struct err *value_print(const struct format *f, const struct format_env *env,
			       struct format_place *at, struct strbuf *out)
{
	uint64_t value = 0;

	if (f->kind == FORMAT_SPACE) {
		strbuf_addc(out, (char)f->size);
		return NULL;
	}
	if (f->kind == FORMAT_MOVE) {
		at->addr += f->size ? 1 : (uint64_t)-1;
		return NULL;
	}
	if (at->is_value && (f->kind == FORMAT_STRING || f->kind == FORMAT_INSN))
		return err_new("the format '%c' reads memory: use '/'", f->letter);
	at->nvalue++;
	if (f->kind == FORMAT_STRING)
		return string_print(f, env, at, out);
	if (f->kind == FORMAT_INSN)
		return insn_print(f, env, at, out);
	if (at->is_value || !f->size)
		value = at->addr;
	else if (!env->read || !env->read(env->ctx, at->addr, &value, f->size))
		return unreadable_err(at->addr);
	number_add(f, env, value, out);
	at->last = value;
	if (!at->is_value)
		at->addr += f->size;
	return NULL;
}

/* ---- a whole format -------------------------------------------------------------------------- */

/* Adds a text in quotes, and moves behind it. */
static struct err *quoted_print(const char **p, struct strbuf *out)
{
	const char *end = strchr(*p + 1, '"');

	if (!end)
		return err_new("the quote \" of the format is not closed");
	strbuf_add(out, *p + 1, (size_t)(end - *p) - 1);
	*p = end + 1;
	return NULL;
}

static struct err *letter_print(const char **p, const struct format_env *env,
				struct format_place *at, struct strbuf *out)
{
	const struct format *f;
	uint64_t n = 0;
	struct err *e = NULL;

	for (; isdigit((unsigned char)**p); (*p)++)
		n = MIN(n * 10 + (uint64_t)(**p - '0'), (uint64_t)REPEAT_MAX + 1);
	f = format_find(**p);
	if (!f)
		return err_hint(err_new("'%c' is no format",
					isprint((unsigned char)**p) ? **p : '?'),
				"::formats lists them");
	if (n > REPEAT_MAX)
		return err_new("a format is repeated %u times at most", REPEAT_MAX);
	for (uint64_t i = 0; !e && i < MAX(n, 1); i++) {
		if (at->nvalue && f->kind != FORMAT_SPACE && f->kind != FORMAT_MOVE && out->len &&
		    !isspace((unsigned char)out->data[out->len - 1]) && f->kind != FORMAT_CHAR)
			strbuf_adds(out, "        ");
		e = value_print(f, env, at, out);
	}
	(*p)++;
	return e;
}

struct err *format_print(const char *text, const struct format_env *env, struct format_place *place,
			 struct strbuf *out)
{
	const char *p = text;
	struct err *e = NULL;

	while (!e && *p) {
		if (isspace((unsigned char)*p))
			p++;
		else if (*p == '"')
			e = quoted_print(&p, out);
		else
			e = letter_print(&p, env, place, out);
	}
	return e;
}
