/* SPDX-License-Identifier: MIT */
/* Texts as Ruby and Perl write them. */
#include "mdb/quote.h"

#include <ctype.h>

#include "base/str.h"
#include "base/text.h"

/* The letter that stands for a character behind a backslash; 0: none. */
static char letter_of(const char *pairs, uint32_t ch)
{
	for (; *pairs; pairs += 2)
		if ((uint32_t)(unsigned char)pairs[0] == ch)
			return pairs[1];
	return '\0';
}

/* Begins of what is put into a text: "#{", "#$" and "#@". */
static bool is_inserted(const char *s, size_t len)
{
	return len > 1 && s[0] == '#' && strchr("{$@", s[1]) && s[1];
}

/* The length of a word of letters, digits, _ and what is not ASCII; 0: it begins otherwise. */
static size_t word_length(const char *s, size_t len)
{
	size_t n = 0;

	while (n < len && (isalnum((unsigned char)s[n]) || s[n] == '_' || s[n] & 0x80))
		n++;
	return n && isdigit((unsigned char)*s) ? 0 : n;
}

/* Whether Ruby writes a symbol without quotes. */
static bool symbol_is_bare(const char *s, size_t len)
{
	static const char *const operators[] = {"+",  "-",  "*",  "/",	 "%",	"**", "==", "!=",
						"<",  ">",  "<=", ">=",	 "<=>", "=~", "!~", "!",
						"~",  "+@", "-@", "[]",	 "[]=", "<<", ">>", "&",
						"|",  "^",  "`",  "===", "$!",	"$@", "$&", "$~",
						"$0", "$_", "$/", "$;",	 "$,",	"$.", "$<", "$>",
						"$*", "$$", "$?", "$:",	 "$\"", "$+", "$'", "$`"};
	size_t mark = 0, n;

	for (uint32_t i = 0; i < ARRAY_LEN(operators); i++)
		if (strlen(operators[i]) == len && memcmp(operators[i], s, len) == 0)
			return true;
	if (len && *s == '$')
		mark = 1;
	while (mark < 2 && mark < len && s[mark] == '@' && *s == '@')
		mark++;
	n = word_length(s + mark, len - mark);
	for (size_t i = 0, size; i < len; i += size) {
		uint32_t ch;

		size = utf8_get(s + i, len - i, &ch);
		if (!size || char_is_unsafe(ch))
			return false;
	}
	return n && (mark + n == len || (!mark && n + 1 == len && strchr("?!=", s[n])));
}

/* As inspect() writes it; a symbol has its colon before the text. */
void ruby_quote(struct strbuf *out, const char *s, size_t len, const char *before, bool is_bytes)
{
	uint32_t ch;

	if (strcmp(before, ":") == 0 && symbol_is_bare(s, len)) {
		strbuf_add(out, s, len);
		return;
	}
	strbuf_addc(out, '"');
	for (size_t i = 0, n; i < len; i += MAX(n, (size_t)1)) {
		char letter;

		n = utf8_get(s + i, len - i, &ch);
		letter = n ? letter_of("\nn\rr\tt\ff\vv\bb\aa\033e\"\"\\\\", ch) : '\0';
		if (!n)
			strbuf_addf(out, "\\x%02X", (unsigned char)s[i]);
		else if (letter)
			strbuf_addf(out, "\\%c", letter);
		else if (is_inserted(s + i, len - i))
			strbuf_adds(out, "\\#");
		else if (is_bytes && (ch < 0x20 || ch > 0x7e))
			strbuf_addf(out, "\\x%02X", ch);
		else if (ch > 0xffff && char_is_unsafe(ch))
			strbuf_addf(out, "\\u{%X}", ch);
		else if (char_is_unsafe(ch))
			strbuf_addf(out, "\\u%04X", ch);
		else
			strbuf_add(out, s + i, n);
	}
	strbuf_addc(out, '"');
}

/* Texts of bytes: those that are no characters of UTF-8 are written by their numbers. */
static void bytes_quote(struct strbuf *out, const char *s, size_t len, const char *letters)
{
	const struct escapes how = {.letters = letters,
				    .other = "\\x%02x",
				    .broken = "",
				    .unit = "\\u{%04x}"};

	strbuf_addc(out, '"');
	for (size_t i = 0, n; i < len; i += MAX(n, (size_t)1)) {
		n = utf8_get(s + i, len - i, NULL);
		if (n)
			escape_add(out, s + i, n, &how);
		else
			strbuf_addf(out, "\\x%02x", (unsigned char)s[i]);
	}
	strbuf_addc(out, '"');
}

void lua_quote(struct strbuf *out, const char *s, size_t len, const char *before, bool is_bytes)
{
	bytes_quote(out, s, len, "\nn\rr\tt\"\"\\\\");
}

void php_quote(struct strbuf *out, const char *s, size_t len, const char *before, bool is_bytes)
{
	bytes_quote(out, s, len, "\nn\rr\tt\"\"\\\\$$");
}

/* As Perl reads it between double quotes: characters beyond ASCII of a text of bytes are bytes. */
void perl_quote(struct strbuf *out, const char *s, size_t len, const char *before, bool is_bytes)
{
	uint32_t ch;

	(void)before;
	strbuf_addc(out, '"');
	for (size_t i = 0, n; i < len; i += MAX(n, (size_t)1)) {
		char letter;

		n = utf8_get(s + i, len - i, &ch);
		letter = n ? letter_of("\nn\rr\tt\ff\bb\aa\033e\"\"\\\\$$@@", ch) : '\0';
		if (letter)
			strbuf_addf(out, "\\%c", letter);
		else if (!n || ch < 0x20 || ch == 0x7f || (is_bytes && ch > 0x7e))
			strbuf_addf(out, "\\x%02x", n ? ch : (unsigned char)s[i]);
		else if (char_is_unsafe(ch))
			strbuf_addf(out, "\\x{%x}", ch);
		else
			strbuf_add(out, s + i, n);
	}
	strbuf_addc(out, '"');
}
