/* SPDX-License-Identifier: MIT */
/*
 * The processes of -c and -p.
 *
 * Owns     the processes: a process of -c that has not begun to run ends with the handle.
 * Errors   struct err *: the command cannot be executed; no such process, not ours, or another
 *          tracer has it.
 */
#pragma once

#include <stdatomic.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/vec.h"

struct options;
struct proc;
struct provider_env;
struct report;

struct targets {
	const struct options *opts; /* evaltime, setenv */
	struct report *report;
	struct provider_env *env;     /* of the providers, which are told of the processes */
	const atomic_int *interrupts; /* as in struct proc_advance */
	VEC(struct proc *) procs;
	bool is_advanced; /* targets_advance() was called */
	bool is_told;	  /* the user knows which of several processes $target is */
};

void targets_init(struct targets *t, const struct options *opts, struct report *report,
		  struct provider_env *env, const atomic_int *interrupts);
void targets_deinit(struct targets *t);

MUST_CHECK struct err *targets_create(struct targets *t, const char *cmd);
MUST_CHECK struct err *targets_grab(struct targets *t, pid_t pid);
MUST_CHECK struct err *targets_continue(const struct targets *t);
/* Returns the first process, which $target stands for; 0 = there is none. */
pid_t targets_first(const struct targets *t);
/* $target was used: with several targets, says once that it stands for the first one only. */
void targets_tell_first(struct targets *t);
/* Lets each process of -c run to the point that the option evaltime names, and stops it there. */
MUST_CHECK struct err *targets_hold(const struct targets *t);
/*
 * Lets the process of -c, which is held, run on to the point that the option evaltime names; a
 * later call lets it run until it executes another program, and to this point of that one. To be
 * called before the mappings of the process are read for anything else. *ret_is_there: it did not
 * end before, and there is one.
 */
MUST_CHECK struct err *targets_advance(struct targets *t, bool *ret_is_there);
/* Reports targets that have ended. Returns true when there were targets and none is left. */
bool targets_gone(const struct targets *t);
