/* SPDX-License-Identifier: MIT */
/*
 * The threads that are traced with ptrace(2) while a process of -c runs to a breakpoint.
 *
 * All threads of the process are traced, because a breakpoint that an untraced thread meets ends
 * the process. So are its children, from their first instruction on: a child that has memory of its
 * own (fork) gets what the breakpoint has replaced back, and runs on untraced; one that has the
 * memory of the process (vfork, posix_spawn) is traced until it executes a program, until it ends,
 * or until the breakpoint is gone.
 *
 *     new --SIGSTOP--> running <--> stopped --release--> untraced
 *                         |
 *                         +--> gone (ended; another thread has executed a program)
 *
 * When the breakpoint is reached, it is cleared, and then all threads are stopped: none runs while
 * probes are placed. If the tracer dies, the kernel kills all that are traced (PTRACE_O_EXITKILL).
 *
 * Signals are passed on to the process. Those that would stop it are dropped while there is a
 * breakpoint; without one it stops, and goes on when a SIGCONT comes.
 *
 * Owns     the hold on the threads; tracees_release() lets them run.
 * Errors   struct err *: the threads cannot be stopped, ptrace refuses, the caller is interrupted.
 *          The breakpoint is then cleared and the process is stopped, or else it has been killed.
 * Threads  the one that has created the process.
 */
#pragma once

#include <stdatomic.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/vec.h"

struct breakpoint;
struct tracee;

struct tracees {
	pid_t pid;
	VEC(struct tracee) list;
	const atomic_int *interrupts; /* not 0: return an error; may be NULL */
	/* while it runs: */
	struct breakpoint *breaks;
	uint32_t nbreaks;
	/* how the last run has ended: */
	pid_t hit;	   /* the thread that reached a breakpoint; 0 = none did */
	uint32_t hit_at;   /* which breakpoint */
	bool has_executed; /* another program, at whose first instruction it is stopped */
	bool has_ended;
	int status; /* its wait status */
};

/* Takes over a process that has been stopped by ptrace at its exec. */
MUST_CHECK struct err *tracees_init(struct tracees *t, pid_t pid);
/* Lets the process run until a thread reaches one of the breakpoints, or it executes or ends. */
MUST_CHECK struct err *tracees_run(struct tracees *t, struct breakpoint *breaks, uint32_t nbreaks);
/* Lets all threads run untraced. */
void tracees_release(struct tracees *t);
/*
 * Waits for the ends of threads that were killed while they were traced, but for the first one, and
 * kills children that still have their memory. Without is_waiting it only looks which have ended.
 */
void tracees_reap(struct tracees *t, bool is_waiting);
void tracees_deinit(struct tracees *t);
