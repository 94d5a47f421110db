/* SPDX-License-Identifier: MIT */
/*
 * The segments of an ELF file: which of its bytes are mapped, and at which addresses.
 *
 * Owns     its list; the file is the caller's, and need not stay open.
 * Errors   none: of a damaged file, the segments that could be read are there, at most
 *          SEGMENTS_MAX, so that a lookup in a hostile file takes a bounded time.
 * Units    bytes; virtual addresses as in the file (before it is mapped anywhere), of files of any
 *          width.
 * Facts    gABI 5, "Program Header". In the files of linkers, segments do not overlap; where they
 *          do, the first one counts.
 */
#pragma once

#include <gelf.h>

#include "base/vec.h"

#define SEGMENTS_MAX 256 /* files of linkers have two to five */

/* A program header of the type PT_LOAD: bytes of the file that are mapped into memory. */
struct image_segment {
	uint64_t off, addr, size; /* size bytes at off of the file are mapped at address addr */
	uint64_t mem_size;	  /* size in memory, with the zeros that follow these bytes */
	bool is_exec, is_write;
};

struct image_segments {
	VEC(struct image_segment) list; /* in the order of the file */
};

/* Read all segments, or those with code; none if there is no file (NULL). */
void segments_read(struct image_segments *ret, Elf *elf);
void segments_read_code(struct image_segments *ret, Elf *elf);
void segments_deinit(struct image_segments *s);

/* Return the segment that has in the file all of size bytes at an address, or offset; or NULL. */
const struct image_segment *segments_at(const struct image_segments *s, uint64_t addr,
					uint64_t size);
const struct image_segment *segments_at_off(const struct image_segments *s, uint64_t off,
					    uint64_t size);
/* Convert the address of a byte to its offset in the file, and back; false if no segment has it. */
bool segments_off(const struct image_segments *s, uint64_t addr, uint64_t *ret_off);
bool segments_addr(const struct image_segments *s, uint64_t off, uint64_t *ret_addr);
/*
 * The same as segments_addr() for an offset at which a mapping begins: it is that of a page, in
 * which the segment may begin later.
 */
bool segments_page_addr(const struct image_segments *s, uint64_t off, uint64_t *ret_addr);
/*
 * Returns the bias: what to add to a virtual address of the file to get the address in a process
 * that maps the file from offset off on at start. false if no segment contains that offset.
 */
bool segments_bias(const struct image_segments *s, taddr start, uint64_t off, bool is_exec,
		   uint64_t *ret_bias);
/* Returns the range of addresses that all segments together occupy: [*ret_start, *ret_end). */
void segments_span(const struct image_segments *s, uint64_t *ret_start, uint64_t *ret_end);

/* Finds the first program header of a type; false: the file has none. */
bool program_header_find(Elf *elf, uint32_t type, GElf_Phdr *ret);
