/*
 * Text of others: its characters, what of it must not reach a terminal, and how it is written so
 * that it can be read back.
 *
 * Facts    UTF-8: RFC 3629, section 4. Control characters: ISO 6429 (C0, DEL, C1).
 */
#pragma once

#include "base/base.h"

struct strbuf;

/*
 * Returns the bytes of the UTF-8 character at s, which has len bytes, and the character in ret_ch,
 * which may be NULL; 0: no character begins there.
 */
size_t utf8_get(const char *s, size_t len, uint32_t *ret_ch);

/*
 * Makes a foreign text safe to print on a terminal, in place: control characters, those of Unicode
 * included, and bytes that are not valid UTF-8 become '?'. Returns text.
 */
char *text_clean(char *text);
/*
 * The same of len bytes, among which NULs may be: the characters of kept stay, the others become
 * what with says.
 */
void text_clean_bytes(char *text, size_t len, const char *kept, char with);

/* How a text is written in some language. */
struct escapes {
	/* pairs: a character, and the letter that stands for it behind a backslash */
	const char *letters;
	const char *nul;    /* what stands for NUL; NULL: as other */
	const char *other;  /* printf() format of a byte that is not printable ASCII */
	const char *broken; /* UTF-8 stays as it is, and this is for bytes that are none; or NULL */
};
extern const struct escapes escapes_c; /* in C, between double quotes */

void escape_add(struct strbuf *out, const char *s, size_t len, const struct escapes *how);
/* The same between double quotes, which letters must have. */
void escape_quote(struct strbuf *out, const char *s, size_t len, const struct escapes *how);
