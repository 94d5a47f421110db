/* SPDX-License-Identifier: MIT */
/*
 * Changes an object file: adds symbols and sections, keeps everything else.
 *
 * Sections and symbols are appended, so the numbers by which the rest of the file refers to others
 * stay valid. Nothing is written before elfedit_finish().
 *
 * Owns     the memory of what is added, until elfedit_close().
 * Errors   a function that returns a number returns 0 if libelf has failed; elfedit_finish() then
 *          returns the error. A file is refused if its tables do not fit into it.
 */
#pragma once

#include <gelf.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"

/* A string table and what is appended to it. */
struct elfedit_strings {
	size_t scn;
	uint64_t size; /* in the file */
	struct strbuf more;
};

struct elfedit {
	Elf *elf;
	bool is_32bit;
	bool has_failed;
	bool has_changed;
	size_t symtab, shndx;  /* section numbers; shndx 0: no extended section numbers */
	uint32_t nsyms;	       /* in the file */
	VEC(GElf_Sym) symbols; /* appended */
	VEC(Elf32_Word) symbol_sections;
	struct elfedit_strings names, section_names;
	bool is_one_table; /* section_names is unused: sections have their names in names, too */
	struct arena *arena;
};

/* A relocation of a section that is added. */
struct elfedit_reloc {
	uint64_t off;
	uint32_t sym, type;
	int64_t addend;
};
typedef VEC(struct elfedit_reloc) elfedit_relocs;

/* Opens the file that fd reads and, if is_writable, writes; path is for messages. */
MUST_CHECK struct err *elfedit_open(int fd, bool is_writable, const char *path,
				    struct elfedit *ret);
void elfedit_close(struct elfedit *e);

uint32_t elfedit_symbol_count(const struct elfedit *e);
/* Returns the symbol, the number of its section, and its name; false: there is none. */
bool elfedit_symbol(struct elfedit *e, uint32_t index, GElf_Sym *ret, size_t *ret_scn,
		    const char **ret_name);
/*
 * Appends a symbol of a section (0: undefined) and returns its number; its kind, value and size are
 * those of sym.
 */
uint32_t elfedit_symbol_add(struct elfedit *e, const char *name, size_t scn, GElf_Sym sym);
/* Makes a symbol of the file that is undefined one of another name, hidden. */
void elfedit_symbol_rename(struct elfedit *e, uint32_t index, const char *name);

/* Appends a section with a copy of the bytes; link, info, flags and so on are those of sh. */
size_t elfedit_section_add(struct elfedit *e, const char *name, GElf_Shdr sh, const void *data,
			   size_t size);
/*
 * Appends the relocations of a section that was added with these bytes, which get the addends if
 * the machine has them there. Relocations of section .x are in .rela.x or .rel.x.
 */
size_t elfedit_relocs_add(struct elfedit *e, const char *name, size_t scn, uint64_t flags,
			  const elfedit_relocs *relocs);
/* The addend of a relocation in a section of a 32-bit object: 4 bytes that are part of the data. */
void elfedit_addend_put(struct elfedit *e, uint8_t *at, int64_t addend);
/* Adds a section to the group that section group describes. */
void elfedit_group_add(struct elfedit *e, size_t group, size_t scn);
/*
 * Appends a section in a group of its own, of which linkers keep one, and a weak symbol for its
 * first byte, which the group is named after. Returns the number of the symbol.
 */
uint32_t elfedit_comdat_add(struct elfedit *e, const char *name, GElf_Shdr sh, const void *data,
			    size_t size, const char *symbol);

MUST_CHECK struct err *elfedit_finish(struct elfedit *e, const char *path);
/* Fills the table of n symbols of a 32-bit object; their values and sizes are below 4 GiB. */
void elfedit_symbols_narrow(const Elf64_Sym *from, uint32_t n, Elf32_Sym *to);
