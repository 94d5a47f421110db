/* SPDX-License-Identifier: MIT */
/*
 * The kernel's symbol table.
 *
 * Owns     one copy of /proc/kallsyms, whose lines become strings in place.
 * Errors   struct err *: /proc/kallsyms cannot be read, or hides the addresses; then nothing has a
 *          name.
 * Facts    lines are "ADDRESS TYPE NAME[\t[MODULE]]"; vmlinux comes first in ascending order, then
 *          modules, ftrace and BPF in any order; addresses read as 0 for those who may not know
 *          them: Linux kernel/kallsyms.c.
 */
#pragma once

#include "base/err.h"
#include "base/vec.h"
#include "sym/sym.h"

struct ksym {
	taddr addr;
	uint32_t name; /* offset in text; the type letter is two before, the module "[m" behind its
			  NUL */
};

struct ksyms {
	char *text;
	VEC(struct ksym) syms; /* ascending, one an address */
	VEC(uint64_t) tracing; /* made by ksyms_tracing() */
};

/*
 * Parses the text of kallsyms, which ret takes over. Two NULs that len does not count must follow
 * the text.
 */
void ksyms_parse(char *text, size_t len, struct ksyms *ret);
/* Reads /proc/kallsyms; fails if the file is missing, or shows 0 for all addresses. */
MUST_CHECK struct err *ksyms_read(struct ksyms *ret);
void ksyms_deinit(struct ksyms *k);

bool ksyms_find(const struct ksyms *k, taddr addr, struct sym_name *ret);
/*
 * Returns the start of the function at addr, or of the first function of its object; addr itself if
 * none is there.
 */
taddr ksyms_start(const struct ksyms *k, taddr addr, bool of_object);
/* True if addr is in kernel code that runs between the traced function and our BPF program. */
bool ksyms_is_tracing(const struct ksyms *k, taddr addr);
/* Fills k->tracing with the ranges of such code, two addresses each. */
void ksyms_tracing(struct ksyms *k);
