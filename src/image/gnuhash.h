/* SPDX-License-Identifier: MIT */
/*
 * Finds symbols of an ELF file as the dynamic linker does: by its table of hashes, .gnu.hash. Of a
 * file with 75,000 symbols a few hundred bytes are read for a name.
 *
 * Owns     nothing; the file must outlive the table.
 * Errors   none: a table that contradicts itself has fewer symbols.
 * Facts    the layout of .gnu.hash: glibc elf/dl-lookup.c, binutils "GNU hash".
 */
#pragma once

#include "base/base.h"
#include "files/gate.h"

struct gnuhash {
	struct gate_file *file;			  /* NULL: the file has no such table */
	uint64_t buckets, chains, symbols, names; /* where they are in the file, and */
	uint64_t nchains, nsymbols, names_len;
	uint32_t nbuckets, first; /* the first symbol that has a hash */
};

/* Always fills ret. */
void gnuhash_open(struct gate_elf *elf, struct gate_file *file, struct gnuhash *ret);
bool gnuhash_find(const struct gnuhash *g, const char *name, GElf_Sym *ret);
