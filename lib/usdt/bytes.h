/* SPDX-License-Identifier: MIT */
/* Bytes that grow, for the writers of the file. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* failed: there was no memory for all of them */
struct bytes {
	uint8_t *data;
	size_t len, cap;
	bool failed;
};

/* p: NULL adds zeros */
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

static inline void bytes_align(struct bytes *b, size_t to)
{
	bytes_add(b, NULL, (to - b->len % to) % to);
}
