/*
 * Target processes of -c and -p.
 *
 * A command is started held at its first instruction (by ptrace, until proc_continue()) and dies with us,
 * however we end: it asks the kernel for that before its exec. proc_advance() lets it run to a later
 * place, where it is held as before. A grabbed process is only watched: nothing
 * about it changes, so nothing has to be put back.
 *
 * Owns     a created process until it has ended; proc_destroy() kills it.
 * Errors   struct err *.
 * Threads  the thread that created a process must be the one that continues and destroys it (ptrace).
 */
#pragma once

#include <sys/types.h>

#include "base/err.h"
#include "proc/evaltime.h"

struct proc;

/* cmd: words separated by white space, the first found through PATH. envs: "+VAR=value", "-VAR". */
MUST_CHECK struct err *proc_create(const char *cmd, char *const *envs, uint32_t nenvs,
				   struct proc **ret_proc);
MUST_CHECK struct err *proc_grab(pid_t pid, struct proc **ret_proc);
void proc_destroy(struct proc *p); /* NULL is allowed */
/* Brings a process that is held to a later place, once; others are left as they are. */
MUST_CHECK struct err *proc_advance(struct proc *p, enum proc_when when);
MUST_CHECK struct err *proc_continue(struct proc *p); /* a second time does nothing */

pid_t proc_pid(const struct proc *p);
bool proc_is_created(const struct proc *p); /* by us: of -c */
int proc_fd(const struct proc *p); /* becomes readable when the process ends */
/* Whether it has ended; the first time *ret_msg receives what happened, without newline. */
bool proc_has_ended(struct proc *p, const char **ret_msg);
