/* SPDX-License-Identifier: MIT */
/*
 * A walk over the symbols in a file's tables, .dynsym and .symtab, in the order of the file:
 *
 *     struct symtab t = symtab_begin(g, SYMTAB_ALL);
 *
 *     while (symtab_next(&t))
 *         ... t.sym, symtab_name(&t) ...
 *
 * All symbols are shown, undefined ones included: the caller chooses. The symbols in .gnu_debugdata
 * are not: that section is a compressed file of its own (image/minidebug.h).
 *
 * Owns     nothing: the file is the caller's, and must stay open.
 * Errors   none: a table that is damaged, or larger than the limit of the gate, ends where it does.
 * Facts    gABI 5, "Symbol Table".
 */
#pragma once

#include <gelf.h>

#include "base/base.h"

struct gate_elf;

enum symtab_which { SYMTAB_DYNAMIC = 1, SYMTAB_STATIC = 2, SYMTAB_ALL = 3 };

struct symtab {
	GElf_Sym sym;
	size_t index;	 /* of the symbol in its table */
	Elf_Scn *scn;	 /* the table */
	bool is_dynamic; /* it is .dynsym */
	bool has_static; /* there was a .symtab, if perhaps one that cannot be read */

	/* symtab.c's */
	struct gate_elf *g;
	enum symtab_which which;
	Elf_Data *data, *texts; /* texts: NULL, or asked for by symtab_text() */
	size_t len;		/* symbols of the table */
	uint32_t strings;	/* the section that has the names */
	uint32_t ntables;	/* so far */
};

struct symtab symtab_begin(struct gate_elf *g, enum symtab_which which);
/* Goes to the next symbol, that at index 0 of each table included; false: there is none. */
bool symtab_next(struct symtab *t);

/* Returns its name; NULL if it has none, or one that is too long. */
const char *symtab_name(const struct symtab *t);
/*
 * The same for those who look at the first bytes of many names: of the *ret_room bytes none may be
 * NUL. The names of the symbols behind this one are fetched into the CPU's cache meanwhile.
 */
const char *symtab_text(struct symtab *t, size_t *ret_room);
/* Whether its name is this one. */
bool symtab_is(const struct symtab *t, const char *name);
