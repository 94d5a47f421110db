/* SPDX-License-Identifier: MIT */
/*
 * Names of the stubs in the procedure linkage table, which no symbol table lists.
 *
 * Facts    a stub jumps through a word of the global offset table, whose relocation names the
 *          function: SysV AMD64 ABI, 5.2. The name is written as binutils and gdb do, "malloc@plt".
 */
#pragma once

struct elf_syms;
struct gate_elf;

/*
 * Adds the stubs of the file to s, which must be sorted and already have the file's other symbols.
 * Files for other machines than x86-64 get none.
 */
void elf_plt_read(struct elf_syms *s, struct gate_elf *g);
