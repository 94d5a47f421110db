/*
 * The processes of -c and -p.
 *
 * Owns     the processes: those of -c end with the handle if they have not begun by then.
 */
#pragma once

#include <sys/types.h>

#include "base/err.h"
#include "base/vec.h"

struct options;
struct proc;
struct probes;
struct report;

struct targets {
	const struct options *opts; /* evaltime, setenv */
	struct report *report;
	struct probes *probes; /* providers ask them for a process's code */
	VEC(struct proc *) procs;
	bool is_told; /* which of several processes $target is */
};

void targets_init(struct targets *t, const struct options *opts, struct report *report,
		  struct probes *probes);
void targets_deinit(struct targets *t);

MUST_CHECK struct err *targets_create(struct targets *t, const char *cmd);
MUST_CHECK struct err *targets_grab(struct targets *t, pid_t pid);
MUST_CHECK struct err *targets_continue(const struct targets *t);
/* The first one, which $target stands for; 0 = there is none. */
pid_t targets_first(const struct targets *t);
/* $target was used: with several processes it is easily taken for all, which is said once. */
void targets_tell_first(struct targets *t);
/* Each process of -c runs on to where the option evaltime says. */
MUST_CHECK struct err *targets_hold(const struct targets *t);
/* Reports those that have ended; true when there were some and none is left. */
bool targets_gone(const struct targets *t);
