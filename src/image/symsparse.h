/* SPDX-License-Identifier: MIT */
/*
 * The symbols of a file, of which only those are read that are looked up.
 *
 * Of each symbol the address is kept. A lookup reads the symbols around an address, with their
 * names, and finds among them what it would find among all (image/elfsym.h).
 *
 * Owns     a reference to the file, the addresses, and all symbols that were found.
 * Errors   none: what cannot be read is not there.
 * Facts    gABI 5, "Symbol Table".
 */
#pragma once

#include "image/elfsym.h"

struct gate_elf;

/*
 * Returns NULL if the file is small, or has symbols also elsewhere than in tables that can be read
 * piece by piece: then all are to be read. g is the open file.
 */
struct symsparse *symsparse_open(struct gate_elf *g, struct gate_file *file);
void symsparse_close(struct symsparse *s); /* NULL is allowed */
/*
 * As elf_syms_find_range(), for lookups of which there are few; the symbol is valid until
 * symsparse_close(). False: the address is that of a stub, or there were so many lookups that all
 * symbols are to be read.
 */
bool symsparse_find(struct symsparse *s, uint64_t addr, struct elf_range *ret_range,
		    const struct elf_sym **ret);
