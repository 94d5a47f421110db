/* SPDX-License-Identifier: MIT */
/* Padded text and integers. */
#include "render/out.h"

#include <locale.h>

#include "base/text.h"
#include "dif/prog.h"

#define MAX_WIDTH (1 << 20) /* what a '*' asks for beyond this is a mistake, not layout */

static size_t pad_of(const struct spec *s, size_t len)
{
	size_t width = s->width > 0 ? (size_t)MIN(s->width, MAX_WIDTH) : 0;

	return width > len ? width - len : 0;
}

void out_text(struct strbuf *o, const struct spec *s, const char *text, size_t len)
{
	size_t pad, columns = 0;

	if (s->prec >= 0)
		len = text_fit(text, len, (size_t)s->prec, &columns);
	else if (s->width > 0)
		columns = text_columns(text, len);
	pad = pad_of(s, columns);
	if (pad && !(s->flags & CONV_LEFT))
		strbuf_pad(o, ' ', pad);
	strbuf_add(o, text, len);
	if (pad && (s->flags & CONV_LEFT))
		strbuf_pad(o, ' ', pad);
}

/* Escapes a text; an escape that does not fit into max columns ends it. */
static void escape_fit(struct strbuf *o, const char *text, size_t len, size_t max)
{
	size_t left = max;

	while (len) {
		size_t n = text_safe_len(text, len), at = o->len, columns;

		if (n) {
			strbuf_add(o, text, text_fit(text, n, left, &columns));
			if (o->len - at < n)
				return;
		} else {
			n = text_escape_next(o, text, len);
			columns = o->len - at;
			if (columns > left) {
				o->len = at;
				return;
			}
		}
		left -= columns;
		text += n;
		len -= n;
	}
}

void out_foreign(struct strbuf *o, const struct spec *s, const char *text, size_t len)
{
	const struct spec whole = {s->flags, s->width, -1};
	struct strbuf safe = {0};

	if (text_safe_len(text, len) == len) {
		out_text(o, s, text, len);
		return;
	}
	escape_fit(&safe, text, len, s->prec >= 0 ? (size_t)s->prec : SIZE_MAX);
	out_text(o, &whole, strbuf_text(&safe), safe.len);
	strbuf_deinit(&safe);
}

/* ---- integers ------------------------------------------------------------------------------ */

static const char pairs[] =
	"00010203040506070809101112131415161718192021222324252627282930313233343536"
	"37383940414243444546474849505152535455565758596061626364656667686970717273"
	"7475767778798081828384858687888990919293949596979899";

/* Digits of v, written backwards from end; returns where they start. */
static char *digits_dec(char *end, uint64_t v)
{
	while (v >= 100) {
		unsigned int two = (unsigned int)(v % 100) * 2;

		v /= 100;
		*--end = pairs[two + 1];
		*--end = pairs[two];
	}
	if (v >= 10) {
		*--end = pairs[v * 2 + 1];
		*--end = pairs[v * 2];
	} else {
		*--end = (char)('0' + v);
	}
	return end;
}

static char *digits_pow2(char *end, uint64_t v, unsigned int base, bool is_upper)
{
	const char *digits = is_upper ? "0123456789ABCDEF" : "0123456789abcdef";
	unsigned int shift = base == 16 ? 4 : 3;

	do {
		*--end = digits[v & (base - 1)];
		v >>= shift;
	} while (v);
	return end;
}

/* Digits in groups of three, by the locale's separator where it has one. */
static char *group(char *end, const char *digits, size_t n)
{
	const struct lconv *lc = localeconv();
	char sep = lc->thousands_sep[0] && !lc->thousands_sep[1] ? lc->thousands_sep[0] : ',';

	for (size_t i = 0; i < n; i++) {
		if (i && i % 3 == 0)
			*--end = sep;
		*--end = digits[n - 1 - i];
	}
	return end;
}

/* A number's sign or base prefix and its digits in a field, by the rules of C's printf. */
static void out_number(struct strbuf *o, const struct spec *s, const char *prefix,
		       const char *digits, size_t ndigits)
{
	size_t nprefix = strlen(prefix);
	size_t zeros = s->prec > 0 && (size_t)s->prec > ndigits ? (size_t)s->prec - ndigits : 0;
	size_t pad;

	zeros = MIN(zeros, (size_t)MAX_WIDTH);
	pad = pad_of(s, nprefix + zeros + ndigits);
	if (pad && (s->flags & CONV_ZERO) && !(s->flags & CONV_LEFT) && s->prec < 0) {
		zeros = pad;
		pad = 0;
	}
	if (pad && !(s->flags & CONV_LEFT))
		strbuf_pad(o, ' ', pad);
	strbuf_add(o, prefix, nprefix);
	if (zeros)
		strbuf_pad(o, '0', zeros);
	strbuf_add(o, digits, ndigits);
	if (pad && (s->flags & CONV_LEFT))
		strbuf_pad(o, ' ', pad);
}

static void out_decimal(struct strbuf *o, const struct spec *s, const char *prefix, uint64_t v)
{
	char buf[32], grouped[48];
	char *end = buf + sizeof(buf), *start = digits_dec(end, v);

	if (s->flags & CONV_GROUP) {
		char *gend = grouped + sizeof(grouped);
		char *gstart = group(gend, start, (size_t)(end - start));

		out_number(o, s, prefix, gstart, (size_t)(gend - gstart));
		return;
	}
	out_number(o, s, prefix, start, (size_t)(end - start));
}

void out_signed(struct strbuf *o, const struct spec *s, int64_t v)
{
	const char *prefix = v < 0		     ? "-"
			     : s->flags & CONV_SIGN  ? "+"
			     : s->flags & CONV_SPACE ? " "
						     : "";

	out_decimal(o, s, prefix, v < 0 ? -(uint64_t)v : (uint64_t)v);
}

void out_unsigned(struct strbuf *o, const struct spec *s, uint64_t v, unsigned int base,
		  bool is_upper)
{
	char buf[32];
	char *end = buf + sizeof(buf), *start;
	const char *prefix = "";

	if (base == 10) {
		out_decimal(o, s, "", v);
		return;
	}
	start = digits_pow2(end, v, base, is_upper);
	if ((s->flags & CONV_ALT) && v) {
		if (base == 16)
			prefix = is_upper ? "0X" : "0x";
		else if (s->prec <= end - start) /* else a zero stands in front already */
			*--start = '0';
	}
	out_number(o, s, prefix, start, (size_t)(end - start));
}

void out_int(struct strbuf *o, int width, uint64_t v, bool is_signed)
{
	struct spec s = {0, width, -1};

	if (is_signed)
		out_signed(o, &s, (int64_t)v);
	else
		out_decimal(o, &s, "", v);
}
