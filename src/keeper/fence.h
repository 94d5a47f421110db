/* SPDX-License-Identifier: MIT */
/*
 * The fence around the processes in which a session of one user has breakpoints.
 *
 * The kernel keeps a uprobe in a process that executes another program, and puts its breakpoint
 * into whatever the new program maps of the same file: the C library, above all. The guard of a
 * session's programs (rt/privilege.c) fires no probe in a set-user-id program; but each hit of a
 * breakpoint takes microseconds, which whoever started the program can measure: where it passes,
 * and how often. So a process that executes a program that is not the user's, as ptrace(2) has it,
 * is ended before its first instruction. Nothing has been done by then with rights that the user
 * lacks, and the user may end such a process himself, whose real user id is still his. To stop it
 * and take the breakpoints off would not do: the user can send it SIGCONT.
 *
 * Processes are known by their id and start time, of which user space sees ticks of 10 ms. Another
 * process with the id of one that has ended in the tick in which both began counts as fenced; it is
 * ended only if its real user id is the user's, who may end it himself. The user cannot bring about
 * that a session's breakpoints come into it: the kernel gives ids in a cycle (idr_alloc_cyclic(),
 * Linux kernel/pid.c), so that within 10 ms all the ids up to pid_max would have to be used, 32768
 * at least and 1024 a CPU if root has not lowered it, and to choose an id takes capabilities in the
 * namespace that gives it.
 *
 * Without breakpoints in it (system calls, timers, all other probes) a process goes on.
 *
 * Owns     its maps and its program. The link is the caller's, and has to outlive all uprobes.
 * Errors   struct err *: what the kernel refuses, and processes that are not the user's.
 * Threads  one.
 * Facts    uprobe_multi_link_filter(), uprobe_perf_filter(): the task's memory at that time; Linux
 *          kernel/trace/bpf_trace.c, kernel/trace/trace_uprobe.c. sched_process_exec comes after
 *          commit_creds(), and before the return to the new program: fs/exec.c.
 */
#pragma once

#include <sys/types.h>

#include "base/err.h"
#include "privilege/privilege.h"

struct fence;

/* p: of a session that lacks proc_owner; read now only. *ret_link: the program's link. */
MUST_CHECK struct err *fence_create(const struct privileges *p, struct fence **ret, int *ret_link);
void fence_destroy(struct fence *f); /* NULL is allowed */
/*
 * Before a breakpoint comes into the process: from now on it is ended at an exec as above. The
 * process is refused if it is not the user's, or if `start` is not 0 and it has another start time
 * (struct proc_id); one that is refused is not ended. *ret_start: which process that is
 * (proc_started()).
 */
MUST_CHECK struct err *fence_add(struct fence *f, const struct privileges *p, pid_t pid,
				 uint64_t start, uint64_t *ret_start);
/* How many processes were ended. */
uint64_t fence_ended(const struct fence *f);
/* Whether this process was. */
bool fence_has_ended(const struct fence *f, pid_t pid);
