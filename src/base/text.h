/* SPDX-License-Identifier: MIT */
/*
 * Text from traced programs and foreign files: how its characters are found, which of them must not
 * reach a terminal, and how the text is escaped so that it can be read back.
 *
 * Facts    UTF-8: RFC 3629, section 4. Control characters: ISO 6429 (C0, DEL, C1).
 */
#pragma once

#include "base/base.h"

struct strbuf;

/* The ending of an English noun behind the number n: printf("%u probe%s", n, PLURAL(n)). */
#define PLURAL(n) ((n) == 1 ? "" : "s")
/* A word that goes with the number n: its verb, or a plural that has another ending. */
#define WORD_FOR(n, one, many) ((n) == 1 ? (one) : (many))

/* Whether the text begins with one of n words, none of which is empty. */
bool text_begins(const char *text, const char *const *words, uint32_t n);

/*
 * Returns the number of bytes of the UTF-8 character at the begin of s, which has len bytes, and
 * the character in *ret_ch; ret_ch may be NULL. Returns 0 if s does not begin with a character.
 */
size_t utf8_get(const char *s, size_t len, uint32_t *ret_ch);

/*
 * Whether a character of a foreign text must not reach a terminal, because it controls the
 * terminal, ends a line, or changes how the text beside it is read without being seen itself: marks
 * and overrides of the direction of writing, characters without width. The joiners U+200C and
 * U+200D are safe: languages and emoji need them.
 */
bool char_is_unsafe(uint32_t ch);

/*
 * Makes a foreign text safe to print on a terminal, in place: unsafe characters, and bytes that are
 * not valid UTF-8, become '?'. Returns text.
 */
char *text_clean(char *text);
/*
 * Does the same for len bytes, which may contain NULs: control characters that kept lists stay, and
 * everything else that is not safe becomes the character with.
 */
void text_clean_bytes(char *text, size_t len, const char *kept, char with);

/*
 * Adds a foreign text with escapes of D for unsafe characters, and bytes that are not valid UTF-8:
 * "\n", "\033". All other characters, backslashes among them, stay.
 */
void text_escape(struct strbuf *out, const char *s, size_t len);
/* The number of bytes at the begin of a text that text_escape() would not change. */
size_t text_safe_len(const char *s, size_t len);
/*
 * Adds the escapes of the character or byte at the begin of s, which is unsafe; returns its length.
 */
size_t text_escape_next(struct strbuf *out, const char *s, size_t len);

/*
 * Adds a text as one word of a POSIX shell, in single quotes, whatever it contains. It has quotes
 * also where it needs none, so that a text can be neither an assignment nor a keyword.
 */
void shell_quote(struct strbuf *out, const char *s, size_t len);

/* The escape sequences of one language. */
struct escapes {
	/* pairs: a character, and the letter that stands for it behind a backslash */
	const char *letters;
	const char *also;  /* printable ASCII that is written as other says; NULL: none */
	const char *nul;   /* the sequence for NUL; NULL: NUL is written as other says */
	const char *other; /* printf() format of a byte that is not printable ASCII */
	/* what stands for a byte that is no valid UTF-8, which itself stays unchanged; or NULL */
	const char *broken;
	/*
	 * with broken: printf() format of a UTF-16 unit of a character beyond ASCII that is unsafe;
	 * NULL: it stays, too
	 */
	const char *unit;
	bool (*is_unsafe)(uint32_t ch); /* with unit: which are; NULL: char_is_unsafe() says it */
};
extern const struct escapes escapes_c; /* in C, between double quotes */

void escape_add(struct strbuf *out, const char *s, size_t len, const struct escapes *how);
/* Does the same between double quotes; how->letters must escape the double quote. */
void escape_quote(struct strbuf *out, const char *s, size_t len, const struct escapes *how);
/* Adds a string of JSON, in double quotes: any bytes become valid text that is safe to show. */
void json_quote(struct strbuf *out, const char *s, size_t len);
