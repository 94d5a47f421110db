/*
 * Probes that come while a session runs: functions of libraries that processes open, of programs
 * they execute.
 *
 * The watch follows a process when a clause of the pid provider is about it. When it has other
 * code, the clauses' descriptions are matched in what is new; probes found there get a unit of
 * their own, which shares the session's maps and layout. With the option follow children are
 * followed, too: what is in place in the process that they descend from gets links for them. A
 * process of -c waits until that is done. One that was grabbed runs on: what it calls in the
 * first milliseconds of a library is not seen.
 *
 * Code goes, too. Files that nothing maps any more stay probed, as long as they are not many: they
 * are often mapped again. What goes then is their unit, with its program, links and probes. Names
 * of functions and modules stay: when the room for them is used up, what comes is not probed any
 * more, and that is said.
 *
 * Errors   what goes wrong here is told, and the session goes on with the probes it has.
 */
#pragma once

#include "session/run.h"

/* Before any is matched: may there be children whose calls fire probes (option follow)? */
MUST_CHECK struct err *later_check(struct run *run);
/* Clauses are matched: which of them may get more probes? */
void later_plan(struct run *run);
/* For their names, in the kernel's string table. */
uint32_t later_strtab_room(const struct run *run);
/* Probes are in place: the processes are followed. */
void later_start(struct run *run);
/*
 * Frees what has gone. consumed_at: all that was recorded before that time was consumed, in ns of
 * CLOCK_MONOTONIC.
 */
void later_tend(struct run *run, uint64_t consumed_at);
void later_destroy(struct run *run);
