/*
 * Which process: a number alone says that only as long as the process lives, then another one may get it.
 *
 * Two processes with one number differ in when they began, in ticks of the clock; a descriptor stays with the process it
 * was opened for. Whoever stops, lets run on or follows a process has one of these, not only a number.
 *
 * Owns     struct proc_id its descriptor.
 * Threads  proc_started(), proc_resume_exact() and proc_id_resume() are async-signal-safe.
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

/* The process that has the number now. */
MUST_CHECK struct err *proc_id_open(pid_t pid, struct proc_id *ret);
void proc_id_close(struct proc_id *id); /* one that was never opened, but is {.pidfd = -1}, is allowed */
bool proc_id_has_ended(const struct proc_id *id);
void proc_id_resume(const struct proc_id *id); /* SIGCONT, if it is still there */
/* When the process began that has the number now; false: there is none, or /proc is not there. */
bool proc_started(pid_t pid, uint64_t *ret_start);
/* SIGCONT for the process of this number that began then, and no other one. */
void proc_resume_exact(pid_t pid, uint64_t start);
/* What /proc adds to the kernel's time since boot, ns: not 0 in a time namespace. */
int64_t proc_boot_offset(void);
