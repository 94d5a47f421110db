/* SPDX-License-Identifier: MIT */
/*
 * The build-id of a file: what the linker has computed from its contents, so that a file and the
 * one with its debug information, or two copies of a file, are known to be the same build.
 *
 * Owns     a struct build_mark its text, until build_mark_deinit(); else nothing.
 * Errors   none: a file without one, or with one that is longer than BUILD_ID_MAX, has length 0.
 * Facts    elf(5), notes of the owner "GNU" and the type NT_GNU_BUILD_ID. Other owners use the
 *          same number: a probe of sys/sdt.h is type 3 of "stapsdt". gdb manual, "Separate Debug
 *          Files", for the section .gnu_debuglink.
 */
#pragma once

#include <libelf.h>

#include "base/base.h"

#define BUILD_ID_MAX 64 /* bytes; linkers make 8 to 32 */

struct gate_elf;
struct gate_file;
struct strbuf;

struct build_id {
	uint8_t bytes[BUILD_ID_MAX];
	uint32_t len;
};

/* Build-id, name and checksum of a stripped file's separate debug file, by which it is found. */
struct build_mark {
	struct build_id id; /* which both have */
	char *debug_link;   /* name of the debug file, without a folder; NULL: not given */
	uint32_t debug_crc; /* CRC-32 of all its bytes, if there is a name */
};

/* Finds it in the contents of a section of notes (NULL is allowed); false: it is not there. */
bool build_id_find(struct build_id *ret, Elf_Data *notes);
/* Finds it in a file that is open, or not an ELF file. */
bool build_id_read(struct build_id *ret, struct gate_elf *g);
bool build_id_equal(const struct build_id *a, const struct build_id *b);
/* Appends the hexadecimal digits of the bytes from the given one on. */
void build_id_add(struct strbuf *sb, const struct build_id *id, uint32_t from);

/* Fills *ret from a file that is open, or not an ELF file. */
void build_mark_read(struct build_mark *ret, struct gate_elf *g);
/* The same for a file that is not. limit: of one section (files/gate.h). */
void build_mark_read_file(struct build_mark *ret, struct gate_file *file, uint64_t limit);
void build_mark_deinit(struct build_mark *m);
