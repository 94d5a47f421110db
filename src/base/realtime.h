/* SPDX-License-Identifier: MIT */
/*
 * A bounded share of real-time scheduling for the thread that serves probes.
 *
 * A tracer does little, but what it does must happen on a machine whose CPUs are all busy: a ring
 * buffer is emptied before it is full, a stopped process runs on, a tick or ^C ends the run. As one
 * of thirty processes that compute, it would wait for tenths of a second each time it wakes up.
 *
 * The thread that calls realtime_begin() gets the class SCHED_RR with the lowest priority, and gets
 * the CPU as soon as it has something to do. The share is bounded twice, so that the tracer's work
 * is never done at the cost of the machine:
 *
 * - After a slice of 10 ms of CPU time, the thread is in the ordinary class for as long: whoever
 *   else wants this CPU waits for 10 ms at most, and gets half of it.
 * - It may use a fifth of one CPU in the long run, and save up 300 ms for its start and its end.
 *   Then it competes as an ordinary thread until it has earned the next slice.
 *
 * So a thread that consumes records without end has, beyond that fifth, what any process has. A
 * second thread, the supervisor, takes the class away. The kernel wakes it by a timer on the CPU
 * time of the first thread, which therefore needs not ask how long it has run, and which costs
 * nothing while the first thread sleeps.
 *
 *       realtime_begin()            slice used up: the timer fires
 *     ------------------> real time ------------------------------> ordinary
 *                             ^                                        |
 *                             +----------------------------------------+
 *                              10 ms later, when there is a slice left,
 *                              or realtime_hurry()
 *
 * Whoever has chosen a class or a nice value for the thread keeps it: nothing is done then. Where
 * real time is refused (a container without CAP_SYS_NICE, a group of CONFIG_RT_GROUP_SCHED that has
 * none), nice -20 takes its place, and where that is refused, nothing changes. Children and other
 * threads begin in the ordinary class (SCHED_FLAG_RESET_ON_FORK).
 *
 * Why not SCHED_DEADLINE, which has such a bound: it throttles. A thread that has used up its
 * runtime does not run at all until the next period, although the CPU may be idle. It also needs
 * the whole root domain as affinity, and is refused when other reservations leave no room.
 *
 * Threads  a share belongs to the thread that began it; that thread ends it. Any thread, and signal
 *          handlers, may call realtime_hurry().
 */
#pragma once

#include <sys/types.h>

#include "base/base.h"

struct realtime;

/* Returns NULL if the calling thread keeps its class, for one of the reasons above. */
struct realtime *realtime_begin(void);
void realtime_end(struct realtime *r); /* NULL is allowed */
/* Fills the share up: something is due now that must not wait. NULL is allowed. */
void realtime_hurry(struct realtime *r);
/*
 * Puts another process into the class of the calling thread while that thread waits for it, and
 * counts what the process uses meanwhile as the thread's. Nothing happens if the thread has no
 * share, or is in the ordinary class at the moment.
 */
void realtime_lend(pid_t pid);
void realtime_take_back(pid_t pid);
