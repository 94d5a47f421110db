/* SPDX-License-Identifier: MIT */
/* Cleans and escapes text from traced programs and foreign files. */
#include "base/text.h"

#include "base/str.h"

bool text_begins(const char *text, const char *const *words, uint32_t n)
{
	/* few of many words begin with the same byte */
	for (uint32_t i = 0; i < n; i++)
		if (*text == *words[i] && strncmp(text, words[i], strlen(words[i])) == 0)
			return true;
	return false;
}

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

bool char_is_unsafe(uint32_t ch)
{
	static const struct {
		uint32_t first, last;
	} ranges[] = {
		{0x00, 0x1f},	    /* C0 */
		{0x7f, 0x9f},	    /* DEL, C1 */
		{0x61c, 0x61c},	    /* a mark of direction */
		{0x200b, 0x200b},   /* a space without width */
		{0x200e, 0x200f},   /* marks of direction */
		{0x2028, 0x202e},   /* ends of lines and paragraphs; embeddings and overrides */
		{0x2060, 0x206f},   /* joiners that are not seen, isolates */
		{0xfeff, 0xfeff},   /* a byte order mark: no width */
		{0xfff9, 0xfffb},   /* annotations */
		{0xe0000, 0xe007f}, /* tags, which are not seen */
	};

	if (ch >= ' ' && ch < 0x7f)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(ranges); i++)
		if (ch >= ranges[i].first && ch <= ranges[i].last)
			return true;
	return false;
}

void text_clean_bytes(char *text, size_t len, const char *kept, char with)
{
	for (char *p = text, *end = p + len; p < end;) {
		uint32_t ch = 0;
		size_t n = utf8_get(p, (size_t)(end - p), &ch);

		if (!n || (char_is_unsafe(ch) && !(*p && strchr(kept, *p))))
			memset(p, with, MAX(n, 1u));
		p += MAX(n, 1u);
	}
}

char *text_clean(char *text)
{
	text_clean_bytes(text, strlen(text), "", '?');
	return text;
}

/* ---- shells --------------------------------------------------------------------------------- */

void shell_quote(struct strbuf *out, const char *s, size_t len)
{
	strbuf_addc(out, '\'');
	for (size_t i = 0; i < len; i++) {
		if (s[i] == '\'')
			strbuf_adds(out, "'\\'");
		strbuf_addc(out, s[i]);
	}
	strbuf_addc(out, '\'');
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
	return c >= ' ' && c <= '~' && !letter_of(how, c) && !(how->also && strchr(how->also, c));
}

static void char_escape(struct strbuf *out, uint32_t ch, const struct escapes *how)
{
	if (ch >= 0x10000) {
		strbuf_addf(out, how->unit, 0xd800 + ((ch - 0x10000) >> 10));
		ch = 0xdc00 + (ch & 0x3ff);
	}
	strbuf_addf(out, how->unit, ch);
}

void escape_add(struct strbuf *out, const char *s, size_t len, const struct escapes *how)
{
	bool (*is_unsafe)(uint32_t) = how->is_unsafe ? how->is_unsafe : char_is_unsafe;

	for (size_t i = 0, n; i < len; i += n) {
		uint32_t ch = 0;

		for (n = 0; i + n < len && is_plain(how, s[i + n]); n++)
			;
		strbuf_add(out, s + i, n);
		if (n)
			continue;
		n = how->broken ? utf8_get(s + i, len - i, &ch) : 1;
		if (n > 1 && how->unit && is_unsafe(ch))
			char_escape(out, ch, how);
		else if (n > 1)
			strbuf_add(out, s + i, n);
		else if (n == 1)
			byte_escape(out, s[i], how);
		else
			strbuf_adds(out, how->broken);
		n = MAX(n, (size_t)1);
	}
}

size_t text_safe_len(const char *s, size_t len)
{
	size_t i = 0, n;
	uint32_t ch;

	while (i < len) {
		if (s[i] >= ' ' && s[i] <= '~') {
			i++;
			continue;
		}
		n = utf8_get(s + i, len - i, &ch);
		if (!n || char_is_unsafe(ch))
			break;
		i += n;
	}
	return i;
}

size_t text_escape_next(struct strbuf *out, const char *s, size_t len)
{
	/* a backslash and quotes stay: this text is to be looked at, not to be read back */
	static const struct escapes how = {.letters = "\aa\bb\ff\nn\rr\tt\vv", .other = "\\%03o"};
	size_t n = MAX(utf8_get(s, len, NULL), (size_t)1);

	for (size_t i = 0; i < n; i++)
		byte_escape(out, s[i], &how);
	return n;
}

void text_escape(struct strbuf *out, const char *s, size_t len)
{
	while (len) {
		size_t n = text_safe_len(s, len);

		if (n)
			strbuf_add(out, s, n);
		else
			n = text_escape_next(out, s, len);
		s += n;
		len -= n;
	}
}

void escape_quote(struct strbuf *out, const char *s, size_t len, const struct escapes *how)
{
	strbuf_addc(out, '"');
	escape_add(out, s, len, how);
	strbuf_addc(out, '"');
}

void json_quote(struct strbuf *out, const char *s, size_t len)
{
	static const struct escapes how = {.letters = "\bb\ff\nn\rr\tt\"\"\\\\",
					   .other = "\\u%04x",
					   .broken = "\\ufffd",
					   .unit = "\\u%04x"};

	escape_quote(out, s, len, &how);
}
