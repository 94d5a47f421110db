/* SPDX-License-Identifier: MIT */
/*
 * Probes that are added while a session runs: functions of libraries that processes load, and of
 * programs that they execute, and the probes that programs define themselves.
 *
 * A pattern of programs' own probes (usdt) means all processes. The kernel's records say which code
 * they map; a file that is not known yet is read, and its probes get a unit, with one link for the
 * file. A process that maps a file that is known needs nothing. No process waits.
 *
 * The watch follows a process when a clause of the pid provider or of usdt names it, and the
 * process of -c for such a pattern, too. When the process maps
 * new code, the clauses' descriptions are matched against that code; probes found there get a unit
 * of their own, which shares the session's maps and layout. With the option follow, children are
 * followed as well: probes that are attached to the process they descend from get links for the
 * children. A process of -c waits until that is done. A process of -p runs on: its calls in the
 * first milliseconds after it has loaded a library are not seen.
 *
 * Code is unmapped, too. A limited number of files that no process maps any more stay probed,
 * because files are often mapped again. Beyond that number the unit of such a file is removed with
 * its program, links and probes. Names of functions and modules stay: when the room for them is
 * used up, new code is not probed any more, and the user gets a notice.
 *
 * Errors   a failure becomes a notice, and the session goes on with the probes it has.
 */
#pragma once

#include "session/run.h"

/* Before clauses are matched: option follow is refused if this kernel cannot do it. */
MUST_CHECK struct err *later_check(struct run *run);
/* After clauses are matched: finds out which of them may get more probes. */
void later_plan(struct run *run);
/* Returns how many bytes the names of added probes may need in the kernel's string table. */
uint32_t later_strtab_room(const struct run *run);
/* Returns true if probes may have the id of the process that fires them in their names. */
bool later_has_pids(const struct run *run);
/* Returns true if children of processes get the links of their parents: option follow. */
bool later_has_children(const struct run *run);
/* Before the watch of all processes begins: subscribes to it, if some clause means them all. */
void later_watch_all(struct run *run);
/* Lets w report what all processes map; nothing may be reported before later_watch_all(). */
void later_subscribe_all(struct run *run, struct watch *w);
/* While it runs, after the watch was drained: adds the probes of files that are new. */
void later_work(struct run *run);
/* When tracing stops: says which processes ended before they were traced. */
void later_stop(struct run *run);
/* After probes are attached: starts to follow the processes. */
void later_start(struct run *run);
/*
 * Frees units that were removed. consumed_at: all records before this time were consumed, in ns of
 * CLOCK_MONOTONIC.
 */
void later_tend(struct run *run, uint64_t consumed_at);
void later_destroy(struct run *run);
