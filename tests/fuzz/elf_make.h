/* SPDX-License-Identifier: MIT */
/*
 * A grammar of ELF files for fuzzing: bytes become a file whose headers, sections and links are
 * those of a real one, and which lies only where the bytes say so. What a mutator changes is then
 * what stands behind the headers.
 *
 * The bytes are a tape of choices. A tape that has ended gives zeros, so every input is a file.
 * Each part of a file has a stretch of the tape for itself: what changes in one part leaves the
 * others as they were.
 *
 * Owns     what elf_make() appends to is the caller's.
 * Facts    gABI 4.1; LSB 5, 10.6; DWARF 5 (and 4, whose units old files have).
 */
#pragma once

#include "base/str.h"

struct tape {
	const uint8_t *p, *end;
};

uint8_t tape_u8(struct tape *t);
uint32_t tape_u16(struct tape *t);
/* A number as a liar would choose it: small, at a boundary, or any. */
uint64_t tape_number(struct tape *t);
/* One of the names that readers look for. */
const char *tape_name(struct tape *t);
/* A stretch of the tape, taken out of it: its first byte tells the length. */
struct tape tape_cut(struct tape *t);

void bytes_put(struct strbuf *b, uint64_t v, uint32_t size);
void bytes_put_uleb(struct strbuf *b, uint64_t v);
void bytes_put_sleb(struct strbuf *b, int64_t v);
void bytes_put_name(struct strbuf *b, const char *name); /* with its NUL */
/* Overwrites what stands at off, as far as there is something. */
void bytes_patch(struct strbuf *b, size_t off, uint64_t v, uint32_t size);

/* Every file has its code at these addresses, which stands CODE_BIAS lower in the file. */
#define CODE_ADDR 0x1000u
#define CODE_SIZE 0x400u
#define CODE_BIAS 0xf00u

/* What a file may have. */
enum kit {		   /* all of it in files of 64 and of 32 bits */
	   KIT_SYMTAB = 1, /* .symtab, .strtab */
	   KIT_DYNSYM = 2, /* .dynsym, .dynstr, versions, relocations, .plt and its relatives */
	   KIT_EH_FRAME = 4,
	   KIT_DEBUG_FRAME = 8,
	   KIT_MINIDEBUG = 16, /* .gnu_debugdata */
	   KIT_LINKS = 32,     /* build-id, .gnu_debuglink, .gnu_debugaltlink */
	   KIT_GO = 64,	       /* .go.buildinfo */
	   KIT_DWARF = 128,    /* .debug_info and its company */
};

/* The names of the files that KIT_LINKS links to. */
#define DEBUG_LINK "debug"
#define ALT_LINK   "alt"

/* Appends a file. */
void elf_make(struct tape *t, uint32_t kit, struct strbuf *image);

/* The contents of .eh_frame, which lies at addr, or of .debug_frame (elf_frames.c). */
void frames_make(struct tape *t, uint64_t addr, bool is_debug, struct strbuf *out);

struct dwarf_sections {
	struct strbuf info, abbrev, str, line, loc, ranges;
	struct strbuf loclists, rnglists, addr, str_offsets, line_str; /* of DWARF 5 */
};

/* elf_dwarf.c */
/* The tables of DWARF 5: bytes of their heads, and how much has an index. */
#define LISTS_HEAD 12 /* of .debug_loclists and .debug_rnglists */
#define TABLE_HEAD 8  /* of .debug_addr and .debug_str_offsets */
#define NINDEXED   8  /* addresses, and strings */

/* word: bytes of an address. elf_lines.c */
void dwarf_tables_make(struct tape *t, uint32_t word, struct dwarf_sections *out);
void dwarf_lines_make(struct tape *t, uint32_t word, struct dwarf_sections *out);
void dwarf_make(struct tape *t, uint32_t word, struct dwarf_sections *out);
