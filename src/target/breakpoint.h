/* SPDX-License-Identifier: MIT */
/*
 * A breakpoint in the memory of a process that ptrace(2) holds.
 *
 * The first byte of an instruction is replaced by one that makes the processor stop the thread that
 * comes there. That works on every machine. Debug registers, which would leave memory unchanged, do
 * not: in some virtual machines they can be written and never stop anything.
 *
 * The byte is hlt rather than int3, for uprobes are made of int3. When a thread executes int3, the
 * kernel asks first whether any process has a uprobe at that offset of the file; then it takes the
 * trap for the uprobe's, brings back the instruction, and the tracer hears nothing. hlt in a
 * program raises SIGSEGV whatever uprobes there are: a uprobe that was at the place before stays
 * out of the process as long as the breakpoint is there, and is put back with it.
 *
 * Should a virtual machine pass over hlt, int3 is taken: both are tried in the process itself
 * before it has executed anything (evaltime.c).
 *
 * A uprobe that somebody places at the very instruction while the breakpoint is there replaces it,
 * and the process would pass unseen: the caller looks now and then (breakpoint_is_there()). Seen by
 * the program: if an initialiser has blocked or ignored the signal of the breakpoint, the kernel
 * unblocks it and makes its action the default one, as it does for every breakpoint of every
 * debugger (force_sig()).
 *
 * Errors   struct err *: the memory cannot be changed (the thread has ended), or another tracer has
 *          a probe at the instruction.
 * Facts    Linux kernel/events/uprobes.c: handle_swbp(), verify_opcode() (the kernel takes a uprobe
 *          out only where int3 is). Linux arch/x86/kernel/traps.c: exc_general_protection() sends
 *          SIGSEGV with SI_KERNEL; it logs nothing where the process is traced
 *          (unhandled_signal()).
 */
#pragma once

#include <sys/types.h>

#include "base/err.h"

struct arch_trap;
struct target; /* target/target.h */

struct breakpoint {
	struct target *target;
	const struct arch_trap *trap;
	taddr addr;
	uint8_t old;	/* the byte that it replaced */
	uint8_t origin; /* that of the file, if a uprobe had replaced it */
	bool is_set;
	bool hides_uprobe;
};

/* All tids are those of threads that have stopped and whose memory is meant. */
MUST_CHECK struct err *breakpoint_set(struct breakpoint *b, pid_t tid, taddr addr);
/*
 * Puts back what was there in the memory of a child of fork(), which has a copy of the breakpoint
 * if it was made before that was cleared in the process.
 */
MUST_CHECK struct err *breakpoint_clear_in(const struct breakpoint *b, pid_t tid);
/* Puts back what was there in the memory of the process itself. */
MUST_CHECK struct err *breakpoint_clear(struct breakpoint *b, pid_t tid);
/*
 * True if the signal, with which the thread has just stopped, is that of the breakpoint, also if it
 * was cleared meanwhile. The thread is then before the instruction, and the signal is to be
 * dropped.
 */
bool breakpoint_is_hit(const struct breakpoint *b, pid_t tid, int sig);
/* False if something else has replaced the breakpoint. The process may run. */
bool breakpoint_is_there(const struct breakpoint *b);
