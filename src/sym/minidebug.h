/*
 * The small symbol table that some distributions keep in stripped files: an ELF file, compressed
 * with xz, in the section .gnu_debugdata.
 */
#pragma once

#include <libelf.h>
#include <stddef.h>

/* The file it is, for free(); NULL when elf has none, or none that can be read. */
void *minidebug_unpack(Elf *elf, size_t *ret_size);
