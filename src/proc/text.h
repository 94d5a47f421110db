/*
 * The bytes of a file's code, read piece by piece.
 *
 * A window is kept, so that functions in ascending order cost few reads. Never mapped: a file that
 * is cut short meanwhile must not end us by a signal.
 *
 * Owns     the window; the file stays the caller's.
 */
#pragma once

#include "base/base.h"

struct gate_file;

struct text {
	struct gate_file *file;
	uint64_t off; /* of the window in the file */
	size_t len, cap;
	uint8_t *data;
};

#define TEXT_MAX (64u << 20) /* no function is longer */

/* size bytes at off, valid until the next call; NULL when the file does not have them all. */
const uint8_t *text_at(struct text *t, uint64_t off, size_t size);
void text_deinit(struct text *t);
