/* SPDX-License-Identifier: MIT */
/*
 * Addresses of kernel symbols, from /proc/kallsyms.
 *
 * The file has some 100,000 lines that the kernel makes while they are read (40 ms for all of
 * them), so it is read only when a symbol is asked for and only up to its line.
 *
 * Errors   struct err *: the file cannot be read, or shows no addresses. A symbol that does not
 *          exist is no error: *ret_found is false.
 */
#pragma once

#include "base/err.h"

struct kallsym {
	taddr addr;
	char type;	 /* as nm shows it: 't', 'T', 'd', 'B', ... */
	char module[64]; /* "" = the kernel itself */
};

/*
 * Finds the first symbol of that name. module: NULL = any, "" or "vmlinux" = the kernel itself.
 * path is KALLSYMS_PATH, except in tests. *ret_has_data: if no symbol was found, whether the file
 * lists variables at all; that of a kernel without CONFIG_KALLSYMS_ALL has functions only, and a
 * few symbols that mark sections.
 */
#define KALLSYMS_PATH "/proc/kallsyms"
MUST_CHECK struct err *kallsyms_find(const char *path, const char *module, const char *name,
				     bool *ret_found, struct kallsym *ret, bool *ret_has_data);

/*
 * Calls func with the name of each symbol at the address, until it returns true. A file that cannot
 * be read has none.
 */
void kallsyms_names(const char *path, taddr addr, bool (*func)(void *ctx, const char *name),
		    void *ctx);

static inline bool kallsym_is_function(const struct kallsym *s)
{
	return strchr("tTwW", s->type) != NULL;
}
