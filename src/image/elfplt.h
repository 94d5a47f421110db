/* SPDX-License-Identifier: MIT */
/*
 * Names of the stubs in the procedure linkage table, which no symbol table lists.
 *
 * Facts    a stub jumps through a word of the global offset table, whose relocation names the
 *          function: SysV AMD64 ABI, 5.2. The name is written as binutils and gdb do, "malloc@plt".
 */
#pragma once

#include "base/vec.h"

struct elf_syms;
struct gate_elf;

/* A word of the global offset table, which the dynamic linker fills with a function's address. */
struct plt_word {
	uint64_t addr;
	const char
		*name; /* as in the file's symbol table; NULL: the function has no symbol there */
	/* the function, or what chooses it (STT_GNU_IFUNC), if the file itself has it; else 0 */
	uint64_t func;
};
typedef VEC(struct plt_word) plt_words;

/* Adds the words of the file in ascending order; names are valid until g is closed. */
void plt_words_read(struct gate_elf *g, plt_words *ret);
/* Calls func for each stub that jumps through one of the words. */
void plt_stubs_each(struct gate_elf *g, const plt_words *words,
		    void (*func)(void *ctx, uint64_t addr, uint64_t size, const struct plt_word *w),
		    void *ctx);

/*
 * Adds the stubs of the file to s, which must be sorted and already have the file's other symbols.
 * Files for other machines than x86-64 get none.
 */
void elf_plt_read(struct elf_syms *s, struct gate_elf *g);
