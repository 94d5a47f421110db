/* SPDX-License-Identifier: MIT */
/*
 * Waits for a process to die, and captures it just before, without the kernel's core_pattern: by
 * ptrace(2), which a user may do to processes of his own, also in a container.
 *
 * A thread that is about to take a signal stops first. If nobody handles the signal and it makes
 * the kernel dump processes, all threads are stopped, the process is captured (take.h), and gets
 * its signal. All other signals pass.
 *
 *     runs -- signal --> stopped: fatal? -- no --> runs, with the signal
 *                           | yes
 *                           v
 *                  all threads stop --> captured --> runs, with the signal, and dies
 *
 * Owns     a struct crash_watch the hold on the processes. They go on when we end, in any way.
 * Errors   struct err *: a process that cannot be traced. One that cannot be captured dies all the
 *          same, and told() says so.
 * Threads  one (ptrace).
 * Facts    signal-delivery-stop and PTRACE_EVENT_STOP: ptrace(2); which signals dump: signal(7).
 */
#pragma once

#include <signal.h>

#include "crash/store.h"

struct crash_watch_opts {
	const struct crash_store *store;
	bool is_following; /* children, too */
	void *ctx;
	/* Is told that a process was captured; signal: why, id: of the entry. */
	void (*captured)(void *ctx, pid_t pid, int signal, const char *id, uint64_t held_ns);
	/* Is told that a process has ended without a capture; status: of wait(2). */
	void (*ended)(void *ctx, pid_t pid, int status);
	/* Is told what has failed; it takes the error over. */
	void (*failed)(void *ctx, struct err *e);
	/* Whether the user wants an end. */
	volatile sig_atomic_t *is_interrupted;
};

/* Watches a process that runs; returns when it, and all that is followed, have ended. */
MUST_CHECK struct err *crash_watch_pid(const struct crash_watch_opts *o, pid_t pid);
/* The same for a command, which is started; ret_status: of wait(2), of the command itself. */
MUST_CHECK struct err *crash_watch_command(const struct crash_watch_opts *o, char *const *argv,
					   int *ret_status);
/* Captures a process that runs or is stopped, which then goes on. */
MUST_CHECK struct err *crash_take_pid(const struct crash_store *s, pid_t pid, char *ret_id,
				      uint64_t *ret_held_ns);
