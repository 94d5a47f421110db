/* SPDX-License-Identifier: MIT */
/* Literals: integers with their types, strings and character constants (d-language.md 1.4, 1.5). */
#include "d/parse/lex.h"

#define CHAR_BYTES_MAX 8u

static bool is_hex_digit(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static uint32_t digit_value(char c)
{
	return (uint32_t)(is_digit(c) ? c - '0' : (c | 0x20) - 'a' + 10);
}

/* ---- integers -------------------------------------------------------------------------------- */

/* The first type, of the suffix's or a higher rank, that holds the value (LP64). */
static type_id int_type(uint64_t val, bool is_decimal, bool u, uint32_t nl)
{
	static const struct {
		type_id type;
		uint64_t max;
		bool is_unsigned;
		uint32_t nl; /* number of l: int 0, long 1, long long 2 */
	} types[] = {
		{TYPE_INT, INT32_MAX, false, 0},   {TYPE_UINT, UINT32_MAX, true, 0},
		{TYPE_LONG, INT64_MAX, false, 1},  {TYPE_ULONG, UINT64_MAX, true, 1},
		{TYPE_LLONG, INT64_MAX, false, 2}, {TYPE_ULLONG, UINT64_MAX, true, 2},
	};

	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		if (types[i].nl < nl || (u && !types[i].is_unsigned))
			continue;
		if (is_decimal && !u && types[i].is_unsigned)
			continue;
		if (val <= types[i].max)
			return types[i].type;
	}
	return TYPE_NONE;
}

type_id int_decimal_type(uint64_t val)
{
	return int_type(val, true, false, 0);
}

enum int_error int_literal_parse(const char *s, size_t len, struct int_literal *ret)
{
	bool is_hex = len > 2 && s[0] == '0' && (s[1] | 0x20) == 'x' && is_hex_digit(s[2]);
	uint32_t base = is_hex ? 16 : s[0] == '0' ? 8 : 10, nl = 0;
	size_t i = is_hex ? 2 : 0;
	bool over = false, u = false;

	*ret = (struct int_literal){0};
	for (; i < len && (is_hex ? is_hex_digit(s[i]) : is_digit(s[i])); i++) {
		uint32_t digit = digit_value(s[i]);

		if (digit >= base && !ret->bad_digit)
			ret->bad_digit = s[i];
		over |= __builtin_mul_overflow(ret->val, base, &ret->val);
		over |= __builtin_add_overflow(ret->val, digit, &ret->val);
	}
	if (i < len && (s[i] | 0x20) == 'u')
		u = true, i++;
	for (; nl < 2 && i < len && (s[i] | 0x20) == 'l'; i++)
		nl++;
	ret->len = i;
	if (ret->bad_digit)
		return INT_BAD_DIGIT;
	if (over)
		return INT_OFLOW;
	ret->type = int_type(ret->val, base == 10, u, nl);
	return ret->type == TYPE_NONE ? INT_NO_TYPE : INT_OK;
}

/* The length of the floating-point literal at s; 0 when it is an integer. */
static size_t float_len(const char *s, size_t len)
{
	size_t i = 0, e;
	bool is_float = false;

	while (i < len && is_digit(s[i]))
		i++;
	if (i + 1 < len && s[i] == '.' && is_digit(s[i + 1])) {
		is_float = true;
		for (i++; i < len && is_digit(s[i]); i++)
			;
	}
	e = i;
	if (e < len && (s[e] | 0x20) == 'e') {
		e++;
		if (e < len && (s[e] == '+' || s[e] == '-'))
			e++;
		if (e < len && is_digit(s[e])) {
			is_float = true;
			for (i = e; i < len && is_digit(s[i]); i++)
				;
		}
	}
	if (is_float && i < len && ((s[i] | 0x20) == 'f' || (s[i] | 0x20) == 'l'))
		i++;
	return is_float ? i : 0;
}

struct token lex_number(struct lexer *lx)
{
	const char *from = lx->p;
	size_t left = (size_t)(lx->end - from), flen = float_len(from, left);
	struct token t = {.kind = TOK_INT, .lit_type = TYPE_INT};
	struct int_literal lit;
	enum int_error err;

	if (flen) {
		lx->p = from + flen;
		t.span = lex_span(lx, from, lx->p);
		t.is_bad = true;
		lex_error(lx, D_SYNTAX, t.span, "floating-point constants are not permitted");
		if (!lx->quiet)
			diag_hint(lx->in->diags, "use a smaller unit: 1500 milliseconds");
		return t;
	}
	err = int_literal_parse(from, left, &lit);
	lx->p = from + lit.len;
	t.span = lex_span(lx, from, lx->p);
	t.ival = lit.val;
	t.lit_type = lit.type;
	t.is_bad = err != INT_OK;
	switch (err) {
	case INT_OK: break;
	case INT_OFLOW:
		lex_error(lx, D_INT_OFLOW, t.span, "constant %.*s results in integer overflow",
			  (int)lit.len, from);
		break;
	case INT_NO_TYPE:
		lex_error(lx, D_INT_OFLOW, t.span,
			  "integer constant 0x%llx cannot be represented in any built-in integral "
			  "type",
			  (unsigned long long)lit.val);
		if (!lx->quiet)
			diag_hint(lx->in->diags, "the suffix 'u' makes it unsigned");
		break;
	case INT_BAD_DIGIT:
		lex_error(lx, D_INT_DIGIT, t.span, "constant %.*s contains invalid digit %c",
			  (int)lit.len, from, lit.bad_digit);
		if (!lx->quiet)
			diag_hint(lx->in->diags, "a leading 0 makes a constant octal");
		break;
	}
	return t;
}

/* ---- strings and characters ------------------------------------------------------------------ */

/* Appends what the escape at s, behind its backslash, stands for; returns the bytes of s used. */
static size_t escape_parse(const char *s, size_t len, char *out, size_t *out_len)
{
	static const char from[] = "abfnrtv\"\\'?", to[] = "\a\b\f\n\r\t\v\"\\'?";
	const char *simple = len && s[0] ? strchr(from, s[0]) : NULL;
	uint32_t val = 0;
	size_t i = 0;

	if (simple) {
		out[(*out_len)++] = to[simple - from];
		return 1;
	}
	for (; i < 3 && i < len && s[i] >= '0' && s[i] <= '7'; i++)
		val = val * 8 + digit_value(s[i]);
	if (!i && len > 1 && s[0] == 'x' && is_hex_digit(s[1]))
		for (i = 1; i < len && is_hex_digit(s[i]); i++)
			val = val << 4 | digit_value(s[i]);
	out[(*out_len)++] = i ? (char)val : '\\';
	return i;
}

char *unescape(struct arena *a, const char *s, size_t len, size_t *ret_len)
{
	char *out = arena_alloc(a, len + 1);
	size_t n = 0;

	for (size_t i = 0; i < len;) {
		if (s[i] != '\\')
			out[n++] = s[i++];
		else
			i += 1 + escape_parse(s + i + 1, len - i - 1, out, &n);
	}
	out[n] = '\0';
	*ret_len = n;
	return out;
}

/* The closing quote, or the newline or end of text before which there is none. */
static const char *quote_end(const struct lexer *lx, const char *p, char quote)
{
	while (p < lx->end && *p != quote && *p != '\n') {
		if (*p == '\\' && p + 1 < lx->end && p[1] != '\n')
			p++;
		p++;
	}
	return p;
}

/* Reports a missing closing quote and leaves the lexer at the end of the line. */
static struct token quote_missing(struct lexer *lx, const char *from, const char *to, char quote)
{
	struct token t = {.kind = TOK_ERROR, .span = lex_span(lx, from, to)};
	bool is_str = quote == '"';

	lx->p = to;
	if (to == lx->end) {
		lex_error(lx, D_SYNTAX, t.span, "end-of-file encountered before matching %c",
			  quote);
		if (!lx->quiet)
			diag_hint(lx->in->diags, "close it with another %c", quote);
	} else {
		lex_error(lx, is_str ? D_STR_NL : D_CHR_NL, t.span,
			  "newline encountered in %s constant", is_str ? "string" : "character");
	}
	return t;
}

struct token lex_string(struct lexer *lx)
{
	const char *from = lx->p, *to = quote_end(lx, from + 1, '"');
	struct token t = {.kind = TOK_STR};
	size_t len;

	if (to == lx->end || *to == '\n')
		return quote_missing(lx, from, to, '"');
	lx->p = to + 1;
	t.span = lex_span(lx, from, lx->p);
	t.text = unescape(lx->in->arena, from + 1, (size_t)(to - from - 1), &len);
	t.len = (uint32_t)strlen(t.text); /* a NUL within the string ends it */
	return t;
}

struct token lex_char(struct lexer *lx)
{
	const char *from = lx->p, *to = quote_end(lx, from + 1, '\''), *bytes;
	struct token t = {.kind = TOK_INT, .is_char = true};
	size_t len;

	if (to == lx->end || *to == '\n')
		return quote_missing(lx, from, to, '\'');
	lx->p = to + 1;
	t.span = lex_span(lx, from, lx->p);
	bytes = unescape(lx->in->arena, from + 1, (size_t)(to - from - 1), &len);
	for (size_t i = 0; i < len && i < CHAR_BYTES_MAX; i++)
		t.ival = t.ival << 8 | (unsigned char)bytes[i];
	t.lit_type = int_decimal_type(t.ival);
	t.is_bad = true;
	if (!len)
		lex_error(lx, D_CHR_NULL, t.span, "empty character constant");
	else if (len > CHAR_BYTES_MAX)
		lex_error(lx, D_CHR_OFLOW, t.span, "character constant is too long");
	else if (t.lit_type == TYPE_NONE)
		lex_error(lx, D_INT_OFLOW, t.span,
			  "integer constant 0x%llx cannot be represented in any built-in integral "
			  "type",
			  (unsigned long long)t.ival);
	else
		t.is_bad = false;
	return t;
}
