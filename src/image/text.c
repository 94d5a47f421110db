/* SPDX-License-Identifier: MIT */
/* Reads the bytes of a file's code piece by piece. */
#include "image/text.h"

#include "files/gate.h"

#define WINDOW (256u << 10)

static bool text_fill(struct text *t, uint64_t off, size_t want)
{
	if (want > t->cap) {
		free(t->data);
		t->data = xmalloc(want);
		t->cap = want;
	}
	t->off = off;
	t->len = 0;
	while (t->file && t->len < want) {
		ssize_t n = gate_file_read(t->file, t->data + t->len, want - t->len, off + t->len);

		if (n <= 0)
			break;
		t->len += (size_t)n;
	}
	return t->len > 0;
}

const uint8_t *text_at(struct text *t, uint64_t off, size_t size)
{
	if (!size || size > TEXT_MAX || off > INT64_MAX - TEXT_MAX)
		return NULL;
	if (off < t->off || off - t->off > t->len || t->len - (off - t->off) < size)
		if (!text_fill(t, off, MAX(size, (size_t)WINDOW)))
			return NULL;
	return t->len - (off - t->off) >= size ? t->data + (off - t->off) : NULL;
}

void text_deinit(struct text *t)
{
	free(t->data);
	t->data = NULL;
	t->len = t->cap = 0;
}
