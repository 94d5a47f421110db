/* SPDX-License-Identifier: MIT */
/*
 * The small symbol table that some distributions keep in stripped files: an ELF file, compressed
 * with xz, in the section .gnu_debugdata.
 *
 * Errors   none: a file without that section, or with a damaged one, has no such symbols.
 * Facts    gdb manual, "Debugging information in a special section". A few bytes may describe
 *          gigabytes, so the size of the result is bounded (gate_elf.limit).
 */
#pragma once

#include <stddef.h>

struct gate_elf;

/*
 * Returns the decompressed ELF file, which the caller frees; NULL if there is none, or it is
 * damaged or too large.
 */
void *minidebug_unpack(struct gate_elf *g, size_t *ret_size);
