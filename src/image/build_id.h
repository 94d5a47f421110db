/* SPDX-License-Identifier: MIT */
/*
 * The build-id of a file: what the linker has computed from its contents, so that a file and the
 * one with its debug information, or two copies of a file, are known to be the same build.
 *
 * Owns     nothing.
 * Errors   none: a file without one, or with one that is longer than BUILD_ID_MAX, has length 0.
 * Facts    elf(5), notes of the owner "GNU" and the type NT_GNU_BUILD_ID. Other owners use the
 *          same number: a probe of sys/sdt.h is type 3 of "stapsdt".
 */
#pragma once

#include <libelf.h>

#include "base/base.h"

#define BUILD_ID_MAX 64 /* bytes; linkers make 8 to 32 */

struct gate_elf;
struct strbuf;

struct build_id {
	uint8_t bytes[BUILD_ID_MAX];
	uint32_t len;
};

/* Finds it in the contents of a section of notes (NULL is allowed); false: it is not there. */
bool build_id_find(struct build_id *ret, Elf_Data *notes);
/* Finds it in a file that is open, or not an ELF file. */
bool build_id_read(struct build_id *ret, struct gate_elf *g);
bool build_id_equal(const struct build_id *a, const struct build_id *b);
/* Appends the hexadecimal digits of the bytes from the given one on. */
void build_id_add(struct strbuf *sb, const struct build_id *id, uint32_t from);
