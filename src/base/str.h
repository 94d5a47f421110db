/*
 * Strings: a growing text buffer (strbuf) and an interning string table (strtab).
 *
 * A strtab gives equal strings equal offsets; offset 0 is the empty string. Its bytes are one block
 * of NUL-terminated strings, ready to be written into an object file or a BPF map.
 */
#pragma once

#include "base/base.h"

struct strbuf {
	char *data; /* NUL-terminated once anything was added; NULL before */
	size_t len, cap;
};

void strbuf_deinit(struct strbuf *b);
void strbuf_clear(struct strbuf *b);
void strbuf_add(struct strbuf *b, const char *s, size_t len);
void strbuf_adds(struct strbuf *b, const char *s);
void strbuf_addc(struct strbuf *b, char c);
PRINTF_LIKE(2, 3) void strbuf_addf(struct strbuf *b, const char *fmt, ...);
void strbuf_vaddf(struct strbuf *b, const char *fmt, va_list ap);
/* The text, never NULL; valid until the next change. */
const char *strbuf_text(const struct strbuf *b);

struct strtab;

struct strtab *strtab_create(void);
void strtab_destroy(struct strtab *t); /* NULL is allowed */
uint32_t strtab_add(struct strtab *t, const char *s, size_t len);
uint32_t strtab_adds(struct strtab *t, const char *s);
/*
 * Appends len bytes as they are, NULs included, and returns their offset; strtab_find() does not
 * find them.
 */
uint32_t strtab_add_block(struct strtab *t, const void *data, size_t len);
/* Returns true and the offset of a string that the table has; adds nothing. */
bool strtab_find(const struct strtab *t, const char *s, size_t len, uint32_t *ret_off);
const char *strtab_get(const struct strtab *t, uint32_t off);
const char *strtab_data(const struct strtab *t);
size_t strtab_size(const struct strtab *t);

/*
 * Makes a foreign text safe to print on a terminal, in place: control characters, those of Unicode
 * included, and bytes that are not valid UTF-8 become '?'. Returns text.
 */
char *text_clean(char *text);

/*
 * 64-bit hash of bytes, for tables in this process. The hash is keyed with a secret of the process,
 * so that hostile programs cannot choose names that collide.
 */
uint64_t hash_bytes(const void *p, size_t len);
