/* SPDX-License-Identifier: MIT */
/*
 * The dynamic linker of a process, and the function in which it informs debuggers that it has
 * mapped or unmapped objects.
 *
 * Owns     struct rtld owns its file.
 * Facts    _dl_debug_state() is called when objects are about to come or go and, with
 *          _r_debug.r_state 0, when they have: mapped, not yet relocated by dlopen(), no
 *          initialiser has run. glibc elf/dl-open.c, <link.h>.
 */
#pragma once

#include "base/base.h"

struct gate_file;
struct target; /* target/target.h */

/*
 * Returns the value of a symbol of the object that the target maps at addr, 0 = the object has no
 * such symbol; *ret_entry is the entry point from the file's header.
 */
uint64_t rtld_symbol(struct target *t, taddr addr, const char *name, uint64_t *ret_entry);

struct rtld {
	struct gate_file *file;
	uint64_t dev, ino;
	uint64_t hook_off; /* offset of _dl_debug_state() in the file */
	int64_t state;	   /* bytes from that function to _r_debug.r_state in memory; 0: unknown */
};
/*
 * Returns false, and leaves *ret unchanged, if the target has no dynamic linker or that has no
 * _dl_debug_state().
 */
bool rtld_find(struct target *t, struct rtld *ret);
void rtld_deinit(struct rtld *r);
