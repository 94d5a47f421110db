/*
 * The functions of one ELF file, for looking up addresses.
 *
 * Owns     its table; names are copies.
 * Errors   a file that is no ELF, truncated or lying gives the functions that could be read, maybe
 * none. Units    virtual addresses as in the file (before it is mapped anywhere).
 */
#pragma once

#include "base/arena.h"
#include "base/vec.h"

struct elf_func {
	uint64_t addr, size; /* size 0: unknown, up to the next */
	const char *name;
	int rank; /* the smaller, the better among those of one address */
};

struct elf_segment {
	uint64_t off, addr, size; /* what of the file is mapped where */
};

struct elf_syms {
	VEC(struct elf_func) funcs; /* ascending, one an address */
	VEC(struct elf_segment) segments;
	struct arena *arena;
};

/* Reads .symtab and .dynsym. fd stays the caller's. */
struct elf_syms *elf_syms_read(int fd);
/* The same for a file in memory: the vDSO. */
struct elf_syms *elf_syms_read_memory(const void *image, size_t size);
void elf_syms_destroy(struct elf_syms *s); /* NULL is allowed */

/* Virtual address of a file offset; false when no segment has it. */
bool elf_syms_addr(const struct elf_syms *s, uint64_t off, uint64_t *ret_addr);
/* The function at addr, or NULL. */
const struct elf_func *elf_syms_find(const struct elf_syms *s, uint64_t addr);
