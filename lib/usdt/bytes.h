/* SPDX-License-Identifier: MIT */
/*
 * A growing buffer of bytes, for the writers of the ELF file in memory (image.c).
 *
 * Owns     the bytes, in data, which the user of the buffer frees with free().
 * Errors   failed is set when memory ends, and stays set; what is added then is dropped. The
 *          program is not ours, so nothing here ends it: callers look at failed once, at the end.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* At first all zero. */
struct bytes {
	uint8_t *data;
	size_t len, cap;
	bool failed; /* there was no memory: the buffer is not to be used */
};

/* Appends n bytes. p: NULL appends zeros. */
static inline void bytes_add(struct bytes *b, const void *p, size_t n)
{
	if (b->cap - b->len < n && !b->failed) {
		size_t cap = 2 * (b->len + n) + 4096;
		uint8_t *data = realloc(b->data, cap);

		if (data) {
			b->data = data;
			b->cap = cap;
		} else {
			b->failed = true;
		}
	}
	if (b->failed)
		return;
	if (p)
		memcpy(b->data + b->len, p, n);
	else
		memset(b->data + b->len, 0, n);
	b->len += n;
}

/* Appends zeros up to the next multiple of `to`. */
static inline void bytes_align(struct bytes *b, size_t to)
{
	bytes_add(b, NULL, (to - b->len % to) % to);
}
