/* What gate_file.c offers to gate.c: the image of a file that the reader reads. */
#pragma once

#include "sym/gate.h"

/*
 * Returns the image of a file that is read by the reader, and its size; NULL: the file is read
 * here, or there is no room. What was not fetched is zero. gate_file_unmap() must follow in all
 * cases; the image is one for all users of the file, and goes with the last of them.
 */
char *gate_file_map(struct gate_file *f, size_t *ret_size);
void gate_file_unmap(struct gate_file *f);
/*
 * Makes sure that the bytes at [off, off + size) are in the image; those beyond the end of the file
 * stay zero. False with errno. Does nothing for a file that is read here.
 */
bool gate_file_fetch(struct gate_file *f, uint64_t off, uint64_t size);
