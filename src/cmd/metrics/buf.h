/* SPDX-License-Identifier: MIT */
/* A buffer of bytes that grows. The program ends if there is no memory. */
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct buf {
	char *data; /* NUL behind the last byte once anything was added */
	size_t len, cap;
};

static inline void *mem_check(void *p)
{
	if (!p) {
		fputs("fathom-metrics: out of memory\n", stderr);
		abort();
	}
	return p;
}

/* Makes room for len bytes in all. */
static inline void buf_reserve(struct buf *b, size_t len)
{
	if (b->cap >= len)
		return;
	b->cap = len;
	b->data = mem_check(realloc(b->data, b->cap));
}

static inline void buf_add(struct buf *b, const void *data, size_t len)
{
	if (b->cap - b->len <= len)
		buf_reserve(b, (b->len + len + 1) * 2);
	memcpy(b->data + b->len, data, len);
	b->len += len;
	b->data[b->len] = '\0';
}

static inline void buf_adds(struct buf *b, const char *text)
{
	buf_add(b, text, strlen(text));
}

static inline void buf_addc(struct buf *b, char c)
{
	buf_add(b, &c, 1);
}

static inline __attribute__((format(printf, 2, 3))) void buf_addf(struct buf *b, const char *fmt,
								  ...)
{
	char room[512];
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vsnprintf(room, sizeof(room), fmt, ap);
	va_end(ap);
	if (len < (int)sizeof(room)) {
		buf_add(b, room, (size_t)len);
		return;
	}
	char *big = mem_check(malloc((size_t)len + 1));

	va_start(ap, fmt);
	(void)vsnprintf(big, (size_t)len + 1, fmt, ap);
	va_end(ap);
	buf_add(b, big, (size_t)len);
	free(big);
}

static inline void buf_add_int(struct buf *b, int64_t v)
{
	buf_addf(b, "%lld", (long long)v);
}

/* Adds a number so that it can be read back exactly. */
static inline void buf_add_number(struct buf *b, double v)
{
	if (v >= -1e15 && v <= 1e15 && v == (double)(int64_t)v)
		buf_addf(b, "%lld", (long long)v);
	else
		buf_addf(b, "%.17g", v);
}

static inline void buf_clear(struct buf *b)
{
	b->len = 0;
}

static inline void buf_free(struct buf *b)
{
	free(b->data);
	*b = (struct buf){0};
}
