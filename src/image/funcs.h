/* SPDX-License-Identifier: MIT */
/*
 * The functions of an ELF file as probes see them: every name, and where its code lies in the file.
 *
 * image/elfsym.h keeps one name for an address. Here all names of an address are kept, because a
 * probe description may use any of them.
 *
 * Owns     names and tables; the file stays the caller's.
 * Errors   struct err * when it is no ELF file of this machine. A damaged one gives the functions
 *          that could be read.
 * Units    addr: virtual address as in the file; off: offset in the file.
 * Facts    providers.md 19.3.
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/hashmap.h"
#include "base/vec.h"
#include "image/gocode.h"
#include "image/segments.h"

struct debug_search;
struct gate_file;

struct func {
	uint64_t addr, off;
	uint64_t size; /* bytes of code; if is_sized is false, those up to the next function */
	const char *name;
	uint32_t next;	   /* another function of the same name: index + 1, 0 = none */
	bool is_canonical; /* the best of the names of its address, which stands for all of them */
	bool is_sized;	   /* the symbol has a size */
	bool is_ifunc;	   /* addr is the resolver, which selects the function (STT_GNU_IFUNC) */
	bool is_startup;   /* _init, _fini: patterns do not match these */
	bool is_part;	   /* a part that was split off another function: .cold */
	uint32_t rank;
};

struct funcs {
	VEC(struct func) list;	 /* ascending address; the canonical name first */
	struct hashmap *by_name; /* empty until funcs_find() */
	struct arena *arena;
	struct image_segments code; /* those that are executable */
	bool is_32bit;
	bool has_symtab;
	bool has_ifuncs;
	bool is_too_large; /* a symbol table was not read, or not all of it */
	uint64_t room;	   /* bytes that further names may take */
	struct go_code go;
	uint64_t entry; /* address where the program begins, 0 = none */
};

/*
 * where: how to find the debug file of a stripped file (image/debugfile.h); NULL: no debug file is
 * searched for.
 */
MUST_CHECK struct err *funcs_read(struct gate_file *file, const struct debug_search *where,
				  struct funcs **ret);
void funcs_destroy(struct funcs *f); /* NULL is allowed */
/* Returns the bytes of memory that it takes, which grow with the first funcs_find(). */
uint64_t funcs_size(const struct funcs *f);
/*
 * Returns the first function of that name, whose member next leads to the others; NULL if there is
 * none.
 */
const struct func *funcs_find(const struct funcs *f, const char *name);
/*
 * Returns the entry with the best name of fn's address: global, then few underscores, strong,
 * short.
 */
const struct func *funcs_preferred(const struct funcs *f, const struct func *fn);
/* Returns the number of bytes from addr to the next function, or to the end of the code. */
uint64_t funcs_room(const struct funcs *f, uint64_t addr);
/* Converts an address to an offset in the file; false if the address is not in code. */
bool funcs_off(const struct funcs *f, uint64_t addr, uint64_t *ret_off);
/*
 * Return the canonical function whose code contains the file offset off, or the address addr; NULL:
 * none does.
 */
const struct func *funcs_at_off(const struct funcs *f, uint64_t off);
const struct func *funcs_at(const struct funcs *f, uint64_t addr);
