/* SPDX-License-Identifier: MIT */
/*
 * The identity of a process. A process id alone is none: when the process has ended, another one
 * may get the id.
 *
 * Two processes with the same id differ in their start time, in ticks of the clock, and a pidfd
 * refers to one process for ever. Code that stops, resumes or follows a process uses a struct
 * proc_id, never the process id alone.
 *
 * Owns     struct proc_id owns its descriptor.
 * Errors   struct err *: no such process, or no descriptor is left.
 * Threads  proc_started(), proc_began(), proc_resume_exact() and proc_id_resume() are
 *          async-signal-safe.
 */
#pragma once

#include <sys/types.h>

#include "base/err.h"

#define PROC_TICK_NS 10000000 /* USER_HZ is 100 everywhere: Linux include/asm-generic/param.h */

struct proc_id {
	pid_t pid;
	int pidfd;	/* -1: none is open */
	uint64_t start; /* since boot, in ticks */
};

/* Identifies the process that has the process id now. */
MUST_CHECK struct err *proc_id_open(pid_t pid, struct proc_id *ret);
/* Copies an identity; the copy has a descriptor of its own. */
MUST_CHECK struct err *proc_id_copy(const struct proc_id *id, struct proc_id *ret);
void proc_id_close(struct proc_id *id); /* {.pidfd = -1}, which was never opened, is allowed */
bool proc_id_has_ended(const struct proc_id *id);
void proc_id_resume(const struct proc_id *id); /* sends SIGCONT unless the process has ended */
/*
 * Returns the start time of the process that has the id now; false if there is none, or no /proc.
 */
bool proc_started(pid_t pid, uint64_t *ret_start);
/*
 * Returns also the address of its arguments: 0 where we may not trace the process. Another program
 * that it executes has another one, unless addresses are not random.
 */
bool proc_began(pid_t pid, uint64_t *ret_start, uint64_t *ret_arg_start);
/* Whether this thread uses a CPU, or waits for one, at this moment. Async-signal-safe. */
bool proc_is_running(pid_t pid);
bool proc_is_sleeping(pid_t pid); /* waits for something, and can be interrupted */
/* Whether a signal has stopped its first thread. Async-signal-safe. */
bool proc_is_stopped(pid_t pid);
/* Whether two processes, or threads, have one memory, as after vfork(). */
enum memory_relation {
	MEMORY_OTHER, /* or one of them, or its first thread, has ended */
	MEMORY_SAME,
	MEMORY_UNKNOWN, /* the kernel does not say (CONFIG_KCMP), or not to us */
};
enum memory_relation proc_memory_compare(pid_t a, pid_t b);
/*
 * Calls visit(ctx, pid) for each process in /proc until that returns false. Async-signal-safe, if
 * visit() is.
 */
void proc_visit_all(bool (*visit)(void *ctx, pid_t pid), void *ctx);
/*
 * Finds another process with the same memory: a parent that waits for a child of vfork(), that
 * child, one that was made with CLONE_VM. 0: there is none that we may look at, or pid has ended.
 * Takes a microsecond for each process of the system. Async-signal-safe.
 */
pid_t proc_memory_partner(pid_t pid);
/*
 * The number that the last new process or thread has got; 0: the kernel does not say. Is taken
 * before proc_memory_partner() and what stops the process, so that proc_memory_newcomer() can look
 * afterwards at those only that were made meanwhile. Both are async-signal-safe.
 */
pid_t proc_last_made(void);
/* As proc_memory_partner(), of the processes that were made since proc_last_made() was `since`. */
pid_t proc_memory_newcomer(pid_t pid, pid_t since);
/* Sends SIGCONT to the process with this id if its start time is start; never to another one. */
void proc_resume_exact(pid_t pid, uint64_t start);
/*
 * Returns the ns that /proc adds to the kernel's time since boot: other than 0 in a time namespace
 * only.
 */
int64_t proc_boot_offset(void);
/* Returns the ns that our CLOCK_MONOTONIC is ahead of the kernel's, with which records are made. */
int64_t proc_monotonic_offset(void);
