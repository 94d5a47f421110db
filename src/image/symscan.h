/* SPDX-License-Identifier: MIT */
/*
 * Searches the names of large symbol tables in passing: through a buffer, without keeping them.
 *
 * The tables of a large program have 10 MB. To read these into memory that is new costs more than
 * to search them, above all in a virtual machine, where each new page costs microseconds.
 *
 * Owns     nothing; names that are found are valid during the call.
 * Errors   false: the file is not of 64 bits, or its tables are small, compressed, or larger than
 *          the gate's limit, or the names are too many: whoever searches has to walk over them
 *          (image/symtab.h). What cannot
 *          be read is not there.
 * Facts    gABI 5, "Symbol Table", "String Table".
 */
#pragma once

#include <gelf.h>

#include "base/base.h"

struct gate_elf;
struct gate_file;

#define SYMSCAN_NAMES_MAX  200u
#define SYMSCAN_SUFFIX_MAX 512u /* bytes of a name behind the one that is searched for */

/*
 * Is called for each defined symbol whose name is wanted[which], or that and a dot and more. The
 * name has at most len bytes; file is the number of its source file, 0 if it is global, or none is
 * known. True ends the search.
 */
typedef bool symscan_visit(void *ctx, uint32_t which, const GElf_Sym *sym, uint32_t file,
			   const char *name, size_t len);
/* Searches for n names at once, which takes as long as one. */
bool symscan_symbols(struct gate_elf *g, struct gate_file *file, const char *const *wanted,
		     uint32_t n, symscan_visit *visit, void *ctx);

/* Sets *ret[i] if the table of names scn has names[i]; leaves the others. */
bool symscan_names(struct gate_elf *g, struct gate_file *file, Elf_Scn *scn,
		   const char *const *names, uint32_t n, bool *ret);
