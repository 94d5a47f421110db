/* SPDX-License-Identifier: MIT */
/*
 * What the fuzz targets of ELF files ask of their readers, and what must hold of the answers
 * whatever a file says. What does not is a BUG().
 */
#pragma once

#include "base/base.h"

struct debug_search;
struct elf_syms;
struct gate_file;
struct unwind_rows;

void check_symbols(struct elf_syms *s); /* s: taken */
void check_rows(struct unwind_rows *r); /* r: deinitialized */
void check_lazy_rows(struct gate_file *file, uint64_t limit);
void check_debug(struct gate_file *file, const struct debug_search *where);
void check_functions(struct gate_file *file, const struct debug_search *where);
