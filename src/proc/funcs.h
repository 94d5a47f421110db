/*
 * The functions of an ELF file as probes see them: every name, where its code lies in the file.
 *
 * Other than sym/elfsym.h, which gives an address its one name, this keeps all names of an address:
 * a user may ask for any of them.
 *
 * Owns     names and tables; the descriptor stays the caller's.
 * Errors   struct err * when it is no ELF file of this machine. A damaged one gives the functions that
 *          could be read.
 * Units    addr: virtual address as in the file; off: place in the file.
 * Facts    providers.md 19.3.
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/hashmap.h"
#include "base/vec.h"
#include "proc/gocode.h"

struct debug_place;

struct func {
	uint64_t addr, off;
	uint64_t size; /* of the code; is_sized false: up to the next function */
	const char *name;
	uint32_t next;	    /* another function of the same name: index + 1, 0 = none */
	bool is_canonical;  /* the name that stands for all of its address */
	bool is_sized;	    /* the symbol tells the size */
	bool is_ifunc;	    /* addr is of what selects the function */
	bool is_startup;    /* _init, _fini: not meant by patterns */
	bool is_part;	    /* split off another function: .cold */
	uint32_t rank;
};

struct func_segment {
	uint64_t off, addr, size;
};

struct funcs {
	VEC(struct func) list; /* ascending address; the canonical name first */
	struct hashmap *by_name;
	struct arena *arena;
	VEC(struct func_segment) code; /* what of the file can be executed */
	bool is_32bit;
	bool has_symtab;
	bool has_ifuncs;
	bool is_too_large; /* a symbol table was not read */
	struct go_code go;
	uint64_t entry; /* address where the program begins, 0 = none */
};

/* place: where a stripped file's debug file may be (sym/debugfile.h); NULL = do not look for one. */
MUST_CHECK struct err *funcs_read(int fd, const struct debug_place *place, struct funcs **ret);
void funcs_destroy(struct funcs *f); /* NULL is allowed */
/* First function of that name; follow next for the others. NULL when there is none. */
const struct func *funcs_find(const struct funcs *f, const char *name);
/* fn, or the function under the best of its names: global, few underscores, strong, short. */
const struct func *funcs_preferred(const struct funcs *f, const struct func *fn);
/* Bytes from addr to the next function, or to the end of the code. */
uint64_t funcs_room(const struct funcs *f, uint64_t addr);
/* Place in the file of an address; false when it is not code. */
bool funcs_off(const struct funcs *f, uint64_t addr, uint64_t *ret_off);
/* The canonical function whose code contains addr, or the place off of the file; NULL when none does. */
const struct func *funcs_at_off(const struct funcs *f, uint64_t off);
const struct func *funcs_at(const struct funcs *f, uint64_t addr);
