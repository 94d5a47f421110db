/* SPDX-License-Identifier: MIT */
/*
 * The interpreters that the commands of -c are going to execute.
 *
 * A command is held at its first instruction while what walks need of it is prepared. If it is
 * `env node`, a script (#!), or `sh -c "python3 x.py"`, the program whose frames are asked for is
 * executed later, when probes fire already. So each interpreter that the words of a command name is
 * started beside it and held before the first initialiser of its libraries, or, if its file is one
 * that others can change, at its first instruction; nothing of its own has been executed there, but
 * its files are mapped as they will be. As soon as their tables and helpers are prepared, it is
 * killed.
 *
 * Owns     the processes; interpreters_release() ends them.
 * Errors   none: what cannot be started is met when the command executes it.
 * Threads  one, as in target/control.h.
 */
#pragma once

#include <sys/types.h>

#include "base/vec.h"

struct live;
struct proc;

struct interpreters {
	VEC(struct proc *) procs;
};

/* Looks through the words of a held command, which has not executed anything yet. */
void interpreters_hold(struct interpreters *i, struct live *live, pid_t command);
void interpreters_release(struct interpreters *i);
