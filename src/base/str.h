/* SPDX-License-Identifier: MIT */
/*
 * Strings: the growing buffer of text (strbuf) and an interning string table (strtab).
 *
 * A strbuf is made to be fast: printf() adds a dozen of small pieces for each record, and there may
 * be 400,000 records a second.
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
void strbuf_grow(struct strbuf *b, size_t more);

/*
 * Returns where the caller may write size bytes and a NUL; the caller then calls strbuf_wrote().
 */
static inline char *strbuf_room(struct strbuf *b, size_t size)
{
	if (b->cap - b->len <= size)
		strbuf_grow(b, size);
	return b->data + b->len;
}

static inline void strbuf_wrote(struct strbuf *b, size_t size)
{
	b->len += size;
	b->data[b->len] = '\0';
}

static inline void strbuf_add(struct strbuf *b, const char *s, size_t len)
{
	char *to = strbuf_room(b, len);

	if (len)
		memcpy(to, s, len);
	to[len] = '\0';
	b->len += len;
}

static inline void strbuf_addc(struct strbuf *b, char c)
{
	char *to = strbuf_room(b, 1);

	to[0] = c;
	to[1] = '\0';
	b->len++;
}

static inline void strbuf_adds(struct strbuf *b, const char *s)
{
	strbuf_add(b, s, strlen(s));
}

/* Adds the character c n times. */
static inline void strbuf_pad(struct strbuf *b, char c, size_t n)
{
	char *to = strbuf_room(b, n);

	memset(to, c, n);
	to[n] = '\0';
	b->len += n;
}

PRINTF_LIKE(2, 3) void strbuf_addf(struct strbuf *b, const char *fmt, ...);
void strbuf_vaddf(struct strbuf *b, const char *fmt, va_list ap);
/* Returns the text, never NULL; it is valid until the next change of the buffer. */
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
/* Returns true and the offset of the string if the table has it; adds nothing. */
bool strtab_find(const struct strtab *t, const char *s, size_t len, uint32_t *ret_off);
const char *strtab_get(const struct strtab *t, uint32_t off);
const char *strtab_data(const struct strtab *t);
size_t strtab_size(const struct strtab *t);

/*
 * Returns a 64-bit hash of bytes, for tables in this process. The hash is keyed with a secret of
 * the process, so that hostile programs cannot choose names that collide.
 */
uint64_t hash_bytes(const void *p, size_t len);
