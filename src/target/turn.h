/* SPDX-License-Identifier: MIT */
/*
 * Tracers that change the code of one process take turns.
 *
 * Before a breakpoint or a jump is written, it is looked whether the code is as the file has it.
 * Two tracers that look at the same moment may both find that it is; a breakpoint of the one in the
 * middle of a jump of the other would be the death of the process. So who looks and writes has the
 * turn meanwhile. Those who place breakpoints only may do so together: the kernel counts these.
 *
 * A turn is a lock on one byte of the file TURN_FILE, which the kernel lets go when its owner ends.
 * The byte is that with the number of the process: the inode of its pidfd, which no other process
 * gets and which is the same in all PID namespaces (pidfs, Linux v6.9), else its id. Only root gets
 * into the directory, so nobody else can keep root waiting; nothing is left behind but an empty
 * file.
 *
 * Where there is no such directory and none can be made (/run is read-only, or we are not root),
 * the memory file of the process is locked: who may not trace the process cannot open it. Another
 * mount of /run, as that of a container, has locks of its own.
 *
 * So that root and a user take turns, too, root locks the memory file after the byte. While a user
 * has that lock, root waits a second for it, not longer. Who wants to write jumps does not get the
 * turn then; those who place breakpoints do without that lock. So a user who holds it can keep
 * root's jumps out of the processes that he may trace, delay root's breakpoints there, and nothing
 * else; who writes jumps for longer than that risks his own processes.
 *
 * Owns     a turn has descriptors, which are closed by turn_end().
 * Errors   struct err *: another tracer does not end its turn, or there is nothing to be locked.
 */
#pragma once

#include <stdatomic.h>
#include <sys/types.h>

#include "base/err.h"

#define TURN_DIR  "/run/fathom" /* of mode 0700 */
#define TURN_FILE "turns"

/* The locked files; -1: there is none. */
struct turn {
	int file, memory;
};

/*
 * Waits for the turn. shares: with others that do. *ret: nothing is locked if the process has
 * ended, if *is_interrupted is not 0 (NULL is allowed), after an error, or, if it is to be shared,
 * where nobody can have a turn: who changes code needs one. *ret_waited_ns: for how long others had
 * it.
 */
MUST_CHECK struct err *turn_begin(pid_t pid, bool shares, const atomic_int *is_interrupted,
				  struct turn *ret, uint64_t *ret_waited_ns);
/*
 * Takes the turn without waiting; false: it is not to be had now. waited_ns: for how long this was
 * tried before; after a second the turn is had without the lock of a user, also alone, so who
 * writes jumps says 0. *ret: nothing is locked if the process has ended, as with turn_begin().
 */
bool turn_try(pid_t pid, bool shares, uint64_t waited_ns, struct turn *ret);
#define TURN_WAIT_NS 20000000000ull /* so long others are waited for: a large program's probes */
void turn_end(const struct turn *turn);
