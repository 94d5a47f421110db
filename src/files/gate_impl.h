/* SPDX-License-Identifier: MIT */
/*
 * The image of a file that another process reads for us (files/reader.h): gate_file.c gives it to
 * gate.c, which fetches the parts that a walk over ELF sections needs.
 *
 * Owns     all users of a file share one image; it is freed with the last user.
 * Units    offsets and sizes in bytes of the file.
 * Errors   false with errno: the file cannot be read, or the time to wait for it is used up.
 */
#pragma once

#include "files/gate.h"

/*
 * Returns the image of a file that the reader reads, and its size; NULL if this process reads the
 * file, or there is no memory. Bytes that were not fetched are zero. gate_file_unmap() must follow
 * in all cases. All users of the file share one image, which is freed with the last user.
 */
char *gate_file_map(struct gate_file *f, size_t *ret_size);
void gate_file_unmap(struct gate_file *f);
/*
 * Makes sure that the bytes at [off, off + size) are in the image; those beyond the end of the file
 * stay zero. False with errno. Does nothing for a file that this process reads.
 */
bool gate_file_fetch(struct gate_file *f, uint64_t off, uint64_t size);
