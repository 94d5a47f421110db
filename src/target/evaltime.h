/* SPDX-License-Identifier: MIT */
/*
 * The option evaltime: runs a held process on to the moment at which probes are to be placed.
 *
 * The process runs under ptrace to breakpoints in its memory (breakpoint.h), from which they are
 * gone when this returns. Each is met once: nothing is executed in single steps, which some virtual
 * machines do not do for all instructions.
 *
 * A program that executes another one before that moment is no error: that one runs to the same
 * moment of its own.
 *
 * Errors   struct err *; the process is then held where it is, or was killed. That the process ends
 *          before that moment is no error here: threads->has_ended says so.
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
struct tracees;

struct evaltime {
	uint32_t nexecs;      /* how often the process has executed a program on its way */
	bool is_main_unknown; /* nothing says where main() is: it is held at its entry point */
};

/* is_int3: breakpoints are made of the second kind of trap (arch.h), without trying the first. */
MUST_CHECK struct err *evaltime_run(struct tracees *threads, struct gate *g, enum proc_when when,
				    bool is_int3, struct evaltime *ret);
