/*
 * Which implementation of an indirect function (STT_GNU_IFUNC) a process uses.
 *
 * The symbol's address is that of code which chooses one; the choice lies where relocations put it: in the
 * file's own table (R_X86_64_IRELATIVE) or in that of a file which imports the name.
 *
 * Errors   none: a choice that has not been made, or that cannot be read, is 0.
 * Facts    System V AMD64 ABI, 4.4.1; R_X86_64_IRELATIVE's addend is the address of the choosing code.
 */
#pragma once

#include <sys/types.h>

#include "proc/funcs.h"
#include "proc/maps.h"

/* One file of the process. */
struct ifunc_object {
	int fd;
	const struct funcs *funcs;
	uint64_t dev, ino;
};

/*
 * The address in the process of what fn of object chose, 0 = not known. user: a file that may import it;
 * object itself is asked first.
 */
taddr ifunc_chosen(pid_t pid, const struct proc_maps *maps, const struct ifunc_object *object,
		   const struct func *fn, const struct ifunc_object *user);
/* Where addresses of the file begin in the process; false when its code is not mapped. */
bool ifunc_bias(const struct proc_maps *maps, const struct ifunc_object *o, uint64_t *ret_bias);
