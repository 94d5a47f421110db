/* SPDX-License-Identifier: MIT */
/*
 * Core files that are packed with zstd in frames that can be unpacked one by one, with a table of
 * them at the end, such as those that fathom-crash keeps: only the frames that are read are
 * unpacked, into a sparse file that has the size of the whole.
 *
 * Owns     a struct seekable the sparse file, and a share of the packed one.
 * Errors   struct err *: no room. A file without such a table, or with one that contradicts the
 *          file, is not an error: it is unpacked from its begin to its end (target/unpack.h).
 *          A frame that is damaged cannot be read; the others can.
 * Facts    "Zstandard Seekable Format", version 0.1.0, of the project zstd; RFC 8878 3.1.2.
 */
#pragma once

#include "base/err.h"

struct gate_file;
struct seekable;

/* *ret NULL: the file is none of these. */
MUST_CHECK struct err *seekable_open(struct gate_file *packed, struct seekable **ret);
void seekable_close(struct seekable *s); /* NULL is allowed */
/* The descriptor of the sparse file, which stays ours. */
int seekable_fd(const struct seekable *s);
/* Unpacks the frames of a range; false: one of them is damaged, or there is no room for it. */
bool seekable_need(struct seekable *s, uint64_t off, uint64_t size);
/* The first offset from off on, below end, that is no hole; end: there is none. */
uint64_t seekable_data(struct seekable *s, uint64_t off, uint64_t end);
