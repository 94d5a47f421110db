/* SPDX-License-Identifier: MIT */
/*
 * Reads numbers of DWARF from bytes that are not trusted.
 *
 * Owns     nothing: the bytes are the caller's.
 * Errors   none: a read beyond the end returns zeros and sets is_bad.
 * Facts    DWARF 5 7.6 (LEB128).
 */
#pragma once

#include <string.h>

#include "base/base.h"

struct bytes {
	const uint8_t *p, *end;
	bool is_bad;
};

static inline uint64_t get_fixed(struct bytes *b, uint32_t size)
{
	uint64_t v = 0;

	if ((size_t)(b->end - b->p) < size) {
		b->is_bad = true;
		b->p = b->end;
		return 0;
	}
	memcpy(&v, b->p, size); /* little-endian, like us */
	b->p += size;
	return v;
}

static inline uint8_t get_u8(struct bytes *b)
{
	return (uint8_t)get_fixed(b, 1);
}

static inline uint64_t get_uleb(struct bytes *b)
{
	uint64_t v = 0;
	uint8_t byte;

	for (uint32_t shift = 0;; shift += 7) {
		byte = get_u8(b);
		if (shift < 64)
			v |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return v;
	}
}

static inline int64_t get_sleb(struct bytes *b)
{
	uint64_t v = 0;
	uint32_t shift = 0;
	uint8_t byte;

	do {
		byte = get_u8(b);
		if (shift < 64)
			v |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (shift < 64 && (byte & 0x40))
		v |= UINT64_MAX << shift;
	return (int64_t)v;
}

static inline void bytes_skip(struct bytes *b, uint64_t n)
{
	if (n > (uint64_t)(b->end - b->p)) {
		b->is_bad = true;
		n = (uint64_t)(b->end - b->p);
	}
	b->p += n;
}

/* Returns the next n bytes as a block of its own, and moves b behind them. */
static inline struct bytes get_block(struct bytes *b, uint64_t n)
{
	struct bytes block = {.p = b->p};

	bytes_skip(b, n);
	block.end = b->p;
	return block;
}
