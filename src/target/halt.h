/* SPDX-License-Identifier: MIT */
/*
 * Stops all threads of a process, to look at it.
 *
 * The kernel lets the threads go on when we end, in whatever way. A process that was stopped before
 * stays so.
 *
 * Owns     the hold on the threads, until halt_release().
 * Errors   struct err *: no such process, not permitted, another tracer has it.
 * Threads  the one that has stopped them must release them (ptrace).
 */
#pragma once

#include <sys/types.h>

#include "base/err.h"
#include "base/vec.h"

struct halt {
	VEC(pid_t) threads;
};

MUST_CHECK struct err *halt_process(pid_t pid, struct halt *ret);
void halt_release(struct halt *h);
