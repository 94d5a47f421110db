/* SPDX-License-Identifier: MIT */
/*
 * Holds all threads of a process, to change it.
 *
 * Unlike halt.h, this is async-signal-safe, so that also the keeper can do it; it keeps no signal
 * back, but lets a thread take it; and system calls that the tracer has a thread make need not be
 * seen by the process's seccomp filters (seize_suspend()).
 *
 * A thread that waits in the kernel where nothing can interrupt it does not stop. It cannot be let
 * go either, until it stops: so a process is held by a thread, or a process, that ends afterwards
 * (patch/worker.c, keeper/patched.c), with which the kernel lets all go.
 *
 * Owns     memory of its own, which seize_release() frees.
 * Threads  who holds a process releases it (ptrace).
 * Facts    PTRACE_EVENT_STOP, and which requests a stopped thread takes: ptrace(2). The kernel
 *          forgets the signal of a thread whose stop was waited for: Linux kernel/exit.c,
 *          wait_task_stopped(), so that stops are looked at with WNOWAIT.
 */
#pragma once

#include <sys/types.h>

#include "base/base.h"

enum seize_result {
	SEIZE_DONE,
	SEIZE_GONE,    /* there is no such process, or it has ended */
	SEIZE_REFUSED, /* by the kernel, with errno, for a thread */
	SEIZE_BUSY,    /* a thread does not stop */
	SEIZE_MANY,    /* threads, or they are made faster than they are stopped */
};

struct seized_thread {
	pid_t tid;
	bool is_stopped;
};

struct seized {
	pid_t pid;
	struct seized_thread *threads;
	uint32_t n;
	uint64_t *known;   /* bits: ids of threads */
	uint64_t since_ns; /* when the first thread was asked to stop; 0: none was */
	/* of the thread with which it has failed */
	pid_t tid;
	int sys;
};

/*
 * On failure nothing is held, but for threads that do not stop; seize_release() is called in any
 * case.
 */
enum seize_result seize_process(pid_t pid, struct seized *ret);
/* The same of one thread, while the others run. */
enum seize_result seize_thread(pid_t pid, pid_t tid, struct seized *ret);
void seize_release(struct seized *s);
/* Lets all threads go but one, which is the only one of s from then on. */
void seize_release_others(struct seized *s, pid_t tid);
/*
 * Suspends seccomp for the calls that a held thread makes until it is released, and for no other
 * thread. False: the kernel refuses it, with errno: EPERM to those without CAP_SYS_ADMIN.
 */
bool seize_suspend(pid_t tid);
/*
 * Waits for the next stop of a thread that runs; *ret_status as waitpid(2) has it. False: it has
 * ended, or has not stopped for five seconds.
 */
bool seize_wait(pid_t tid, int *ret_status);
