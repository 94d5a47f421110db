/* SPDX-License-Identifier: MIT */
/*
 * Compressed core files, unpacked into a temporary file without a name. Pages of zeros become holes
 * of it, because most core files have large reservations that nobody has written to.
 *
 * A stream that is damaged, or that ends early, is unpacked as far as it goes.
 *
 * Owns     nothing; the descriptor that is returned is the caller's.
 * Errors   struct err *: no room, no memory, or what is packed is no core file. Nothing of the
 *          stream is trusted: the room of the file system bounds what is written, UNPACKED_MAX the
 *          size, and MEMORY_MAX what a decoder may allocate.
 * Facts    the first bytes of each format: RFC 8878 3.1.1, RFC 1952 2.3.1, "The .xz File Format"
 *          2.1.1.1, "LZ4 Frame Format Description", "General Structure of LZ4 Frame format".
 */
#pragma once

#include "base/err.h"

struct gate_file;

/*
 * Unpacks a file that is compressed with zstd, gzip, xz or lz4. *ret_fd: -1 if the file is not
 * compressed. *ret_damage: a sentence that says what is wrong with the stream, without its
 * subject; NULL: nothing is.
 */
MUST_CHECK struct err *core_unpack(struct gate_file *packed, const char *path, int *ret_fd,
				   char **ret_damage);
