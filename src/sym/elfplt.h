/*
 * Names of the stubs in the procedure linkage table, which no symbol table lists.
 *
 * Facts    a stub jumps through a word of the global offset table, whose relocation names the
 *          function: SysV AMD64 ABI, 5.2. The name is written as binutils and gdb do, "malloc@plt".
 */
#pragma once

struct elf_syms;
struct gate_elf;

/* s: sorted, with the file's other symbols. Only files for x86-64 have stubs that are known. */
void elf_plt_read(struct elf_syms *s, struct gate_elf *g);
