/*
 * Running a held process on to the place where probes are wanted: option evaltime.
 *
 * The process runs under ptrace to a hardware breakpoint: nothing in its memory changes.
 *
 * Errors   struct err *; the process is then held wherever it got. One that ended meanwhile is no
 *          error: *ret_ended and its wait status.
 * Facts    the dynamic linker calls _dl_debug_state() when objects are about to be mapped and, with
 *          _r_debug.r_state 0, when they are mapped and relocated, before their initialisers run; these
 *          have run when the program's entry point is reached: glibc elf/rtld.c, <link.h>.
 */
#pragma once

#include <sys/types.h>

#include "base/err.h"

/* As option evaltime counts. */
enum proc_when {
	PROC_EXEC,     /* first instruction */
	PROC_PREINIT,  /* before the initialisers of shared objects */
	PROC_POSTINIT, /* after them */
	PROC_MAIN,
};

MUST_CHECK struct err *evaltime_run(pid_t pid, enum proc_when when, bool *ret_ended, int *ret_status);
