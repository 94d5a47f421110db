/* SPDX-License-Identifier: MIT */
/*
 * Target processes of -c and -p.
 *
 * A command is started and held at its first instruction by ptrace, until proc_continue(). It dies
 * with us, however we end: it asks the kernel for that before its exec (PR_SET_PDEATHSIG), and
 * while it is held, so does the tracer (PTRACE_O_EXITKILL). proc_advance() lets it run to a later
 * instruction, where all of its threads are held again (evaltime.h, tracees.h). A grabbed process
 * is only observed: nothing in it is changed, so nothing has to be restored.
 *
 * Owns     a created process until it has ended; proc_destroy() kills it.
 * Errors   struct err *.
 * Threads  the thread that created a process must be the one that continues and destroys it
 *          (ptrace).
 */
#pragma once

#include <stdatomic.h>
#include <sys/types.h>

#include "base/err.h"
#include "target/evaltime.h"

struct proc;

/*
 * Starts a command. cmd: words as words_split() finds them; the program is found through PATH.
 * envs: changes of the environment, "+VAR=value" or "-VAR".
 */
MUST_CHECK struct err *proc_create(const char *cmd, char *const *envs, uint32_t nenvs,
				   struct proc **ret_proc);
MUST_CHECK struct err *proc_grab(pid_t pid, struct proc **ret_proc);
void proc_destroy(struct proc *p); /* NULL is allowed */
struct proc_advance {
	struct gate *gate;
	enum proc_when when;
	bool is_int3;		      /* as in evaltime_run() */
	const atomic_int *interrupts; /* not 0: the user has lost patience */
};

/*
 * Runs a held process on to a later instruction; works once, and does nothing to a process that is
 * not held. That it ends before is an error, for no probe is in place yet.
 */
MUST_CHECK struct err *proc_advance(struct proc *p, const struct proc_advance *how,
				    struct evaltime *ret);
/*
 * Runs a held process on until it executes another program, and that one to its later instruction,
 * as often as it is called. That the process ends before is no error: *ret_is_there is false then.
 */
MUST_CHECK struct err *proc_advance_exec(struct proc *p, const struct proc_advance *how,
					 struct evaltime *ret, bool *ret_is_there);
/*
 * Lets go of the threads of a held process, which is stopped by a signal instead until
 * proc_continue(): others may trace it meanwhile. It still dies with us, unless its program has the
 * privileges of another user.
 */
MUST_CHECK struct err *proc_park(struct proc *p);
MUST_CHECK struct err *proc_continue(struct proc *p); /* a second time does nothing */

pid_t proc_pid(const struct proc *p);
bool proc_is_created(const struct proc *p); /* true for -c: we have started it */
bool proc_is_held(const struct proc *p);    /* created, and stopped until proc_continue() */
bool proc_is_reaped(const struct proc *p);  /* it has ended while it was held, and was run on */
int proc_fd(const struct proc *p);	    /* becomes readable when the process ends */
/*
 * True if the process has ended; the first time *ret_msg receives a text that says how, without
 * newline.
 */
bool proc_has_ended(struct proc *p, const char **ret_msg);
