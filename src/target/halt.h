/* SPDX-License-Identifier: MIT */
/*
 * Stops all threads of a process, to look at it.
 *
 * All are asked to stop before the first one is waited for, so that they stop together. The kernel
 * lets them go on when we end, in whatever way. A process that was stopped before stays so, and a
 * signal that a thread was about to take is taken afterwards.
 *
 * A thread that waits in the kernel where nothing can interrupt it does not stop: after half a
 * second it is left as it is (is_stopped), and stops when it comes back.
 *
 * Owns     the hold on the threads, until halt_release().
 * Errors   struct err *: no such process, not permitted, another tracer has it, a thread of the
 *          kernel, a process that has ended.
 * Threads  the one that has stopped them must release them (ptrace).
 * Facts    PTRACE_EVENT_STOP, and which signal a detached thread gets: ptrace(2). The kernel
 *          forgets the signal of a thread whose stop was waited for: Linux kernel/exit.c,
 *          wait_task_stopped(), so that stops are looked at with WNOWAIT.
 */
#pragma once

#include <sys/types.h>

#include "base/err.h"
#include "base/vec.h"

struct halt_thread {
	pid_t tid;
	int signal; /* which it is about to take; 0: none */
	char state; /* which it had before, as /proc shows it; 0: not known */
	bool is_stopped;
};

struct halt {
	VEC(struct halt_thread) threads;
};

MUST_CHECK struct err *halt_process(pid_t pid, struct halt *ret);
void halt_release(struct halt *h);
/* NULL: there is no such thread. */
const struct halt_thread *halt_find(const struct halt *h, pid_t tid);
