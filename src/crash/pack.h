/* SPDX-License-Identifier: MIT */
/*
 * Packs a core file: zstd in frames of 1 MB each, which can be unpacked one by one, and a table of
 * them at the end ("seekable format"). Every program that reads zstd reads it.
 *
 * Errors   struct err *: no room, or a file that cannot be read.
 * Facts    "Zstandard Seekable Format", version 0.1.0, of the project zstd; RFC 8878 3.1.2.
 */
#pragma once

#include "base/err.h"

#define PACK_FRAME (1u << 20)

/* Reads `from` from its begin to its end. Holes of it are not read. */
MUST_CHECK struct err *core_pack(int from, int to);
