/* SPDX-License-Identifier: MIT */
/*
 * Tracers that change the code of one process take turns.
 *
 * Before a breakpoint or a jump is written, it is looked whether the code is as the file has it.
 * Two tracers that look at the same moment may both find that it is; a breakpoint of the one in the
 * middle of a jump of the other would be the death of the process. So who looks and writes has the
 * turn meanwhile. Those who place breakpoints only may do so together: the kernel counts these.
 *
 * A turn is a lock on the directory of the process in /proc, which nobody else uses, and which the
 * kernel lets go when its owner ends. Another mount of /proc, as that of a container, has locks of
 * its own.
 *
 * Owns     a turn is a descriptor, which is closed by turn_end().
 * Errors   struct err *: another tracer does not end its turn.
 */
#pragma once

#include <stdatomic.h>
#include <sys/types.h>

#include "base/err.h"

/*
 * Waits for the turn. shares: with others that do. *ret: -1 if the process has ended, or if
 * *is_interrupted is not 0 (NULL is allowed); *ret_waited_ns: for how long others had it.
 */
MUST_CHECK struct err *turn_begin(pid_t pid, bool shares, const atomic_int *is_interrupted,
				  int *ret, uint64_t *ret_waited_ns);
void turn_end(int turn); /* -1 is allowed */
