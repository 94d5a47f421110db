/* SPDX-License-Identifier: MIT */
/*
 * The bytes of a file's code, read piece by piece.
 *
 * A window of the file is kept in memory, so that functions in ascending order need few reads. The
 * file is never mapped: if somebody truncates a mapped file, reading it raises SIGBUS.
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

#define TEXT_MAX (64u << 20) /* bytes; no function is longer */

/*
 * Returns the size bytes at offset off, valid until the next call; NULL if the file does not have
 * them all.
 */
const uint8_t *text_at(struct text *t, uint64_t off, size_t size);
void text_deinit(struct text *t);
