/* Cleans and escapes text from traced programs and foreign files. */
#include "base/text.h"

#include "base/str.h"

/* ---- UTF-8 ---------------------------------------------------------------------------------- */

size_t utf8_get(const char *s, size_t len, uint32_t *ret_ch)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	const uint8_t *p = (const uint8_t *)s;
	size_t n;
	uint32_t ch;

	if (!len)
		return 0;
	n = p[0] < 0x80 ? 1 : p[0] >> 5 == 6 ? 2 : p[0] >> 4 == 14 ? 3 : p[0] >> 3 == 30 ? 4 : 0;
	if (!n || n > len)
		return 0;
	ch = n == 1 ? p[0] : p[0] & (0x7fu >> n);
	for (size_t i = 1; i < n; i++) {
		if (p[i] >> 6 != 2)
			return 0;
		ch = ch << 6 | (p[i] & 0x3f);
	}
	if (ch < least[n] || ch > 0x10ffff ||
	    ch >> 11 == 0x1b) /* an encoding that is too long, a number too large, a surrogate */
		return 0;
	if (ret_ch)
		*ret_ch = ch;
	return n;
}

/* ---- terminals ------------------------------------------------------------------------------ */

static bool is_control(uint32_t ch)
{
	return ch < ' ' || (ch >= 0x7f && ch < 0xa0);
}

void text_clean_bytes(char *text, size_t len, const char *kept, char with)
{
	for (char *p = text, *end = p + len; p < end;) {
		uint32_t ch = 0;
		size_t n = utf8_get(p, (size_t)(end - p), &ch);

		if (!n || (is_control(ch) && !(*p && strchr(kept, *p))))
			memset(p, with, MAX(n, 1u));
		p += MAX(n, 1u);
	}
}

char *text_clean(char *text)
{
	text_clean_bytes(text, strlen(text), "", '?');
	return text;
}

/* ---- escapes -------------------------------------------------------------------------------- */

const struct escapes escapes_c = {.letters = "\aa\bb\ff\nn\rr\tt\vv\"\"\\\\",
				  .nul = "\\0",
				  .other = "\\%03o"};

/* Returns the letter that stands for c behind a backslash, or 0. */
static char letter_of(const struct escapes *how, char c)
{
	for (const char *l = how->letters; *l; l += 2)
		if (*l == c)
			return l[1];
	return 0;
}

static void byte_escape(struct strbuf *out, char c, const struct escapes *how)
{
	char letter = letter_of(how, c);

	if (letter) {
		strbuf_addc(out, '\\');
		strbuf_addc(out, letter);
	} else if (!c && how->nul) {
		strbuf_adds(out, how->nul);
	} else {
		strbuf_addf(out, how->other, (unsigned char)c);
	}
}

static bool is_plain(const struct escapes *how, char c)
{
	return c >= ' ' && c <= '~' && !letter_of(how, c);
}

void escape_add(struct strbuf *out, const char *s, size_t len, const struct escapes *how)
{
	for (size_t i = 0, n; i < len; i += n) {
		for (n = 0; i + n < len && is_plain(how, s[i + n]); n++)
			;
		strbuf_add(out, s + i, n);
		if (n)
			continue;
		n = how->broken ? utf8_get(s + i, len - i, NULL) : 1;
		if (n > 1)
			strbuf_add(out, s + i, n);
		else if (n == 1)
			byte_escape(out, s[i], how);
		else
			strbuf_adds(out, how->broken);
		n = MAX(n, (size_t)1);
	}
}

void escape_quote(struct strbuf *out, const char *s, size_t len, const struct escapes *how)
{
	strbuf_addc(out, '"');
	escape_add(out, s, len, how);
	strbuf_addc(out, '"');
}
