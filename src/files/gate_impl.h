/* SPDX-License-Identifier: MIT */
/* The functions with which gate_file.c gives gate.c the image of a file that the reader reads. */
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
