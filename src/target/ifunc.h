/* SPDX-License-Identifier: MIT */
/*
 * Finds which implementation of an indirect function (STT_GNU_IFUNC) a process uses.
 *
 * The address of such a symbol is that of a resolver, code that selects an implementation. The
 * dynamic linker stores the address of the selected one in a word of the global offset table, for
 * which there is a relocation in the file itself (R_X86_64_IRELATIVE) or in a file that imports the
 * name.
 *
 * Errors   none: if the resolver has not run, or the word cannot be read, the result is 0.
 * Facts    System V AMD64 ABI, 4.4.1; the addend of R_X86_64_IRELATIVE is the address of the
 *          resolver.
 */
#pragma once

#include "image/funcs.h"
#include "target/maps.h"

struct target;

/* One file of the process. */
struct ifunc_object {
	struct gate_file *file;
	const struct funcs *funcs;
	struct file_inode inode;
};

/*
 * Returns the address in the target of the implementation that the resolver fn of object selected,
 * 0 = not known. The relocations of object are searched first, then those of user, a file that may
 * import the name.
 */
taddr ifunc_chosen(struct target *t, const struct ifunc_object *object, const struct func *fn,
		   const struct ifunc_object *user);
/*
 * Returns what to add to addresses of the file to get addresses in the process; false if its code
 * is not mapped.
 */
bool ifunc_bias(const struct proc_maps *maps, const struct ifunc_object *o, uint64_t *ret_bias);
