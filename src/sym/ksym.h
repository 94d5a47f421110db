/*
 * The kernel's symbol table.
 *
 * Owns     one copy of /proc/kallsyms, whose lines become strings in place.
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

/* text: kallsyms' own, which ret takes over, ended by two NULs. len: without them. */
void ksyms_parse(char *text, size_t len, struct ksyms *ret);
/* Fails when the file is missing or shows no addresses. */
MUST_CHECK struct err *ksyms_read(struct ksyms *ret);
void ksyms_deinit(struct ksyms *k);

bool ksyms_find(const struct ksyms *k, taddr addr, struct sym_name *ret);
/* Start of the function, or of the first one of its object; addr when there is none. */
taddr ksyms_start(const struct ksyms *k, taddr addr, bool of_object);
/* The address is in code that comes between a traced function and a BPF program. */
bool ksyms_is_tracing(const struct ksyms *k, taddr addr);
/* Ranges of such code. */
void ksyms_tracing(struct ksyms *k);
