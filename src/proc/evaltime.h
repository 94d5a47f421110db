/*
 * The option evaltime: runs a held process on to the moment at which probes are to be placed.
 *
 * The process runs under ptrace to a hardware breakpoint, so nothing in its memory changes.
 *
 * Errors   struct err *; the process is then held where it is. That the process ends meanwhile
 *          is no error: *ret_ended is true, and *ret_status is its wait status.
 * Facts    the dynamic linker calls _dl_debug_state() when objects are about to be mapped and, with
 *          _r_debug.r_state 0, when they are mapped and relocated, before their initialisers run;
 *          these have run when the program's entry point is reached: glibc elf/rtld.c, <link.h>.
 */
#pragma once

#include <sys/types.h>

#include "base/err.h"

/* The values of the option evaltime, in the order in which a process reaches them. */
enum proc_when {
	PROC_EXEC,     /* first instruction */
	PROC_PREINIT,  /* before the initialisers of shared objects */
	PROC_POSTINIT, /* after them */
	PROC_MAIN,
};

struct gate;

MUST_CHECK struct err *evaltime_run(struct gate *g, pid_t pid, enum proc_when when, bool *ret_ended,
				    int *ret_status);
