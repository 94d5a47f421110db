/* SPDX-License-Identifier: MIT */
/*
 * The addresses that the dynamic linker writes into the data of a file, as its relocations say.
 *
 * Owns     nothing.
 * Errors   none: a relocation that cannot be read writes nothing.
 * Units    addresses as in the file.
 * Facts    SysV AMD64 ABI, 4.4; the types are those of arch.elf.
 */
#pragma once

#include "base/base.h"

struct gate_elf;
struct object_bytes;
struct object_word;

/* See object_relocates(). */
bool relocs_write(struct gate_elf *g, struct object_word *words, uint32_t n);
/* See object_relocate(). */
bool relocs_apply(struct gate_elf *g, const struct object_bytes *b);
