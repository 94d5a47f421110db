/* SPDX-License-Identifier: MIT */
/* Format strings of printf(): the table of conversions, and the parser. */
#include "d/check/fmt.h"

#include "d/check/check_impl.h"

#define NUMBER_MAX 65535 /* widths and precisions; nobody prints wider fields */

/* ---- conversions ------------------------------------------------------------------------ */

typedef bool accept_f(const struct types *t, type_id type, enum datum_kind kind);

static bool is_int_of(const struct types *t, type_id type, uint32_t min, uint32_t max)
{
	uint32_t size = type_size(t, type);

	return type_is_integer(t, type) && size >= min && size <= max;
}

static bool accept_int(const struct types *t, type_id type, enum datum_kind kind)
{
	return kind == DATUM_INT && type_is_integer(t, type);
}

static bool accept_short(const struct types *t, type_id type, enum datum_kind kind)
{
	return kind == DATUM_INT && is_int_of(t, type, 2, 2);
}

/* int64_t is a long here and a long long elsewhere, so "%lld" must accept a long. */
static bool accept_long(const struct types *t, type_id type, enum datum_kind kind)
{
	return kind == DATUM_INT && is_int_of(t, type, 8, 8);
}

static bool accept_char(const struct types *t, type_id type, enum datum_kind kind)
{
	return kind == DATUM_INT && is_int_of(t, type, 1, 4);
}

static bool accept_wchar(const struct types *t, type_id type, enum datum_kind kind)
{
	return kind == DATUM_INT && is_int_of(t, type, 4, 4);
}

static bool accept_float(const struct types *t, type_id type, enum datum_kind kind)
{
	return type_is_float(t, type);
}

static bool is_address(const struct types *t, type_id type)
{
	return type_is_pointer(t, type) || type_is_integer(t, type);
}

static bool accept_pointer(const struct types *t, type_id type, enum datum_kind kind)
{
	return kind != DATUM_STRING && kind != DATUM_STACK && kind != DATUM_USTACK &&
	       is_address(t, type);
}

static bool accept_symbol(const struct types *t, type_id type, enum datum_kind kind)
{
	return (kind == DATUM_INT && is_address(t, type)) || kind == DATUM_SYM || kind == DATUM_MOD;
}

static bool accept_user_symbol(const struct types *t, type_id type, enum datum_kind kind)
{
	return (kind == DATUM_INT && is_address(t, type)) || kind == DATUM_USYM ||
	       kind == DATUM_UMOD || kind == DATUM_UADDR;
}

static bool is_array_of(const struct types *t, type_id type, uint32_t size)
{
	type_id elem;

	if (type_kind(t, type) != TK_ARRAY)
		return false;
	elem = type_deref(t, type);
	return type_is_integer(t, elem) && type_size(t, elem) == size;
}

/* An address for which a name is recorded is shown as that name. */
static bool accept_string(const struct types *t, type_id type, enum datum_kind kind)
{
	return type_is_string(t, type) || is_array_of(t, type, 1) ||
	       (kind >= DATUM_SYM && kind <= DATUM_UADDR);
}

static bool accept_plain_string(const struct types *t, type_id type, enum datum_kind kind)
{
	return type_is_string(t, type);
}

static bool accept_wide_string(const struct types *t, type_id type, enum datum_kind kind)
{
	return is_array_of(t, type, 4);
}

static bool accept_stack(const struct types *t, type_id type, enum datum_kind kind)
{
	return kind == DATUM_STACK || kind == DATUM_USTACK || kind == DATUM_STACKID;
}

#define W_INT	 "char, short, int, long, or long long"
#define W_CHAR	 "char, short, or int"
#define W_FLOAT	 "float, double, or long double"
#define W_ADDR	 "pointer or integer"
#define W_UADDR	 "pointer or integer (with -p/-c) or _usymaddr (without -p/-c)"
#define W_STRING "char [] or string (or use stringof)"
#define W_WIDE	 "wchar_t []"

/* Each letter goes with each size; an empty first size means that the size may be missing. */
/* clang-format off */
static const struct conv_row {
	const char *letters;
	const char *size;
	accept_f *accept;
	const char *wants;
} rows[] = {
	{ "diouxX",  "",   accept_int,          W_INT },
	{ "dio",     "h",  accept_short,        "short" },
	{ "uxX",     "h",  accept_short,        "unsigned short" },
	{ "dio",     "l",  accept_long,         "long" },
	{ "uxX",     "l",  accept_long,         "unsigned long" },
	{ "dio",     "ll", accept_long,         "long long" },
	{ "uxX",     "ll", accept_long,         "unsigned long long" },
	{ "cC",      "",   accept_char,         W_CHAR },
	{ "c",       "l",  accept_wchar,        "int" },
	{ "c",       "w",  accept_wchar,        "int" },
	{ "eEfgG",   "",   accept_float,        W_FLOAT },
	{ "eEfgG",   "L",  accept_float,        "long double" },
	{ "p",       "",   accept_pointer,      W_ADDR },
	{ "sSq",     "",   accept_string,       W_STRING },
	{ "s",       "l",  accept_wide_string,  W_WIDE },
	{ "s",       "w",  accept_wide_string,  W_WIDE },
	{ "a",       "",   accept_symbol,       W_ADDR },
	{ "A",       "",   accept_user_symbol,  W_UADDR },
	{ "k",       "",   accept_stack,        "stack" },
	{ "TY",      "",   accept_long,         "int64_t" },
	{ "I",       "",   accept_plain_string, "string" },
	{ "P",       "",   accept_short,        "uint16_t" },
};
/* clang-format on */

static const struct conv_row *row_find(const struct prog_conv *conv)
{
	for (uint32_t i = 0; i < ARRAY_LEN(rows); i++)
		if (strchr(rows[i].letters, conv->conv) && strcmp(rows[i].size, conv->size) == 0)
			return &rows[i];
	return NULL;
}

static const char *const part_words[] = {
	[CONV_PART_COUNT] = "count",
	[CONV_PART_AGE] = "age",
};

const char *fmt_conv_text(const struct prog_conv *conv, struct arena *a)
{
	if (conv->part != CONV_PART_VALUE)
		return arena_printf(a, "%%@%s", part_words[conv->part]);
	return arena_printf(a, "%%%s%s%c", conv->flags & CONV_AGG ? "@" : "", conv->size,
			    conv->conv);
}

const char *fmt_conv_wants(const struct prog_conv *conv)
{
	return row_find(conv)->wants;
}

bool fmt_conv_accepts(const struct prog_conv *conv, const struct types *t, type_id type,
		      enum datum_kind kind)
{
	return row_find(conv)->accept(t, type, kind);
}

/* ---- parsing ---------------------------------------------------------------------------- */

static const struct {
	char c;
	uint32_t sets, clears;
} flags[] = {
	{'-', CONV_LEFT, CONV_ZERO}, {'+', CONV_SIGN, 0},	  {' ', CONV_SPACE, 0},
	{'#', CONV_ALT, 0},	     {'0', CONV_ZERO, CONV_LEFT}, {'\'', CONV_GROUP, 0},
	{'@', CONV_AGG, 0},
};

struct fmt_parser {
	struct check *c;
	struct span at;
	const char *p, *end;
	uint32_t number; /* of the conversion, for messages */
	struct prog_conv conv;
	bool has_dot, has_width;
	struct strbuf literal;
	LIST(struct prog_conv) convs;
};

static bool fmt_fail(struct fmt_parser *f, const char *what)
{
	check_error(f->c, D_SYNTAX, f->at, "format conversion #%u %s", f->number, what);
	diag_hint(
		f->c->diags,
		"conversions are those of printf(3), and %%a %%k %%q %%Y %%T of D; %%%% prints a percent sign");
	return false;
}

static bool parse_number(struct fmt_parser *f)
{
	int n = 0;

	for (; f->p < f->end && *f->p >= '0' && *f->p <= '9'; f->p++) {
		n = n * 10 + (*f->p - '0');
		if (n > NUMBER_MAX)
			return fmt_fail(f, "has a width or precision of more than 65535");
	}
	if (f->p < f->end && *f->p == '$')
		return fmt_fail(f, "uses unsupported positional format (%n$)");
	if (f->has_dot) {
		f->conv.prec = n ? n : -1;
	} else {
		f->conv.width = n;
		f->has_width = true;
	}
	return true;
}

static bool parse_star(struct fmt_parser *f)
{
	uint32_t flag = f->has_dot ? CONV_PREC_ARG : CONV_WIDTH_ARG;

	f->p++;
	if (f->conv.flags & flag)
		return fmt_fail(f,
				f->has_dot
					? "has more than one '*' specified for the output precision"
					: "has more than one '*' specified for the output width");
	f->conv.flags |= flag;
	f->has_width |= !f->has_dot;
	return true;
}

static bool parse_size(struct fmt_parser *f)
{
	size_t n = strlen(f->conv.size);

	if (n + 1 >= sizeof(f->conv.size))
		return false;
	f->conv.size[n] = *f->p++;
	return true;
}

static bool parse_flag(struct fmt_parser *f)
{
	if (*f->p == '0' && (f->has_dot || f->has_width))
		return false;
	for (uint32_t i = 0; i < ARRAY_LEN(flags); i++) {
		if (flags[i].c != *f->p)
			continue;
		f->conv.flags = (f->conv.flags & ~flags[i].clears) | flags[i].sets;
		f->p++;
		return true;
	}
	return false;
}

/* Parses everything between '%' and the letter; false after reporting. */
static bool parse_modifiers(struct fmt_parser *f)
{
	for (; f->p < f->end;) {
		if (parse_flag(f))
			continue;
		if (*f->p >= '0' && *f->p <= '9') {
			if (!parse_number(f))
				return false;
		} else if (*f->p == '*') {
			if (!parse_star(f))
				return false;
		} else if (*f->p == '.') {
			if (f->has_dot)
				return fmt_fail(f, "has more than one '.' specified");
			f->has_dot = true;
			f->p++;
		} else if (*f->p == '?') {
			f->conv.width = 2 * (int)sizeof(uint64_t);
			f->has_width = true;
			f->p++;
		} else if (!strchr("hlLw", *f->p) || !parse_size(f)) {
			return true;
		}
	}
	return fmt_fail(f, "name expected before end of format string");
}

/* Parses a word behind '@' that names a part of the value; true if there is one. */
static bool parse_part(struct fmt_parser *f)
{
	for (uint32_t i = CONV_PART_COUNT; (f->conv.flags & CONV_AGG) && i < ARRAY_LEN(part_words);
	     i++) {
		size_t n = strlen(part_words[i]);

		if ((size_t)(f->end - f->p) < n || memcmp(f->p, part_words[i], n) != 0)
			continue;
		f->p += n;
		f->conv.part = (enum conv_part)i;
		f->conv.conv = 'd';
		return true;
	}
	return false;
}

static void add_conv(struct fmt_parser *f)
{
	struct arena *a = f->c->arena;

	f->conv.literal_len = (uint32_t)f->literal.len;
	f->conv.literal = arena_strndup(a, strbuf_text(&f->literal), f->literal.len);
	list_push(a, &f->convs, f->conv);
	strbuf_clear(&f->literal);
}

/* Parses a conversion behind its '%'. */
static bool parse_conv(struct fmt_parser *f)
{
	const char *start = f->p;

	f->number++;
	f->conv = (struct prog_conv){.width = -1, .prec = -1};
	f->has_dot = f->has_width = false;
	if (!parse_modifiers(f))
		return false;
	if (*f->p == '%') {
		if (f->p != start)
			return fmt_fail(f, "cannot be combined with other format flags: %%");
		f->number--;
		strbuf_addc(&f->literal, *f->p++);
		return true;
	}
	if (!parse_part(f))
		f->conv.conv = *f->p++;
	if (!f->conv.conv || !row_find(&f->conv))
		return fmt_fail(f, arena_printf(f->c->arena, "is undefined: %s",
						fmt_conv_text(&f->conv, f->c->arena)));
	add_conv(f);
	return true;
}

static bool parse_text(struct fmt_parser *f)
{
	while (f->p < f->end) {
		if (*f->p != '%') {
			strbuf_addc(&f->literal, *f->p++);
			continue;
		}
		f->p++;
		if (!parse_conv(f))
			return false;
	}
	if (f->literal.len) {
		f->conv = (struct prog_conv){.flags = CONV_NOARG, .width = -1, .prec = -1};
		add_conv(f);
	}
	return true;
}

struct prog_fmt *fmt_parse(struct check *c, const char *text, uint32_t len, struct span at)
{
	struct fmt_parser f = {.c = c, .at = at, .p = text, .end = text + strnlen(text, len)};
	bool good = parse_text(&f);
	struct prog_fmt *fmt;

	strbuf_deinit(&f.literal);
	if (!good)
		return NULL;
	fmt = ARENA_NEW(c->arena, struct prog_fmt);
	fmt->convs = f.convs.data;
	fmt->nconvs = f.convs.len;
	return fmt;
}
