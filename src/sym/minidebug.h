/*
 * The small symbol table that some distributions keep in stripped files: an ELF file, compressed
 * with xz, in the section .gnu_debugdata.
 */
#pragma once

#include <stddef.h>

struct gate_elf;

/* The file it is, for free(); NULL when the file has none, or none that can be read. */
void *minidebug_unpack(struct gate_elf *g, size_t *ret_size);
