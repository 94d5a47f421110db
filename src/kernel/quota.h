/* SPDX-License-Identifier: MIT */
/*
 * Quotas: what the sessions of one user may take of the kernel together.
 *
 *     sessions    processes that trace
 *     memory      bytes of BPF maps and buffers, as map_create() estimates them
 *     probes      probes that are attached
 *     cpu         of the time of each CPU, in 1/100 %, what probes take from tasks of others: the
 *                 guard that refuses them, and the clauses of timers that interrupt them
 *
 * There is no server that counts. Each session counts the others of its user in /proc, and believes
 * only what the user cannot forge: that a process has CAP_BPF and CAP_PERFMON in its permitted set
 * and not in its inheritable one, which execve() of the command's file gives and nothing else; and
 * the name of a thread of such a process, which only the process itself can write. A session has a
 * thread for that, whose name is what it has taken, "q64m2000p": 64 MiB and 2000 probes. A session
 * writes what it wants to take first and counts then; so of two that ask at once at least one sees
 * the other. Too many sessions that begin at once do not refuse each other: the name of the thread
 * is "q?" while a session asks whether it may be one, and of those that ask only the older ones are
 * counted. Those that are admitted are counted whenever their processes have begun.
 *
 * The thread watches the CPU time as well: the quota, divided by the number of the user's sessions,
 * is what the session's budget grows by (cpu_budget.h). A session whose budget is used up ends. The
 * programs of the session know how far the budget goes, too: where it is overdrawn by
 * CPU_BUDGET_KILL_NS, because the thread does not run, the kernel kills the process (bpf/alarm.h).
 * A timer of the kernel does that when the thread has not run for QUOTA_STOPPED_S seconds: whoever
 * stops dtrace must not keep its probes. A process apart then says why (quota_witness.h).
 *
 * Without quota_begin() nothing is counted: that is root's session.
 *
 * Units    bytes; probes; 1/100 %.
 * Errors   a quota that is used up: which, whose, and which line of which file says so. It has the
 *          errno ENOMEM for memory, so that buffers are made smaller.
 * Threads  all functions may be called by any; quota_begin() is called once, by the only thread.
 * Facts    Linux fs/proc/base.c, comm_write(): the name of a thread is written by threads of its
 *          own process. timer_create(2): SIGKILL ends a stopped process, too.
 */
#pragma once

#include <stdatomic.h>
#include <sys/types.h>

#include "base/err.h"

enum quota_kind { QUOTA_SESSIONS, QUOTA_MEMORY, QUOTA_PROBES, QUOTA_CPU, QUOTA_NKINDS };

/* The largest quotas: the numbers must fit into the name of a thread. */
#define QUOTA_MEMORY_MAX   ((uint64_t)999999 << 20)
#define QUOTA_PROBES_MAX   999999u
#define QUOTA_SESSIONS_MAX 9999u
#define QUOTA_CPU_MAX	   10000u /* 100 %, which bounds nothing */
/* A session whose process is stopped for so long is ended. */
#define QUOTA_STOPPED_S 15
/* The name of a process that holds probes: one that has lost its session counts as one. */
#define KEEPER_NAME "uprobe-keeper"

struct quota {
	uint64_t max;
	uint32_t line; /* of the file of levels; 0: the default */
};

/* "sessions", "memory", "probes", "cpu". */
const char *quota_word(enum quota_kind kind);
/* The quotas where the file of levels says nothing. */
struct quota quota_default(enum quota_kind kind);
/* "sessions=4", "memory=256m", "cpu=2.5%". Returns buf. */
#define QUOTA_TEXT_MAX 32
const char *quota_text(enum quota_kind kind, uint64_t max, char buf[QUOTA_TEXT_MAX]);

/* The sums that a thread's name tells; false: the name is none of a session. */
bool quota_name_parse(const char *name, uint64_t *ret_memory, uint64_t *ret_probes);

/*
 * Begins to count. who: for messages, as path is, the file of levels; both are copied. An error
 * says that the user's sessions are too many already, or that they cannot be counted.
 */
MUST_CHECK struct err *quota_begin(const struct quota quotas[QUOTA_NKINDS], const char *who,
				   const char *path);
/* Takes n more of QUOTA_MEMORY or QUOTA_PROBES. */
MUST_CHECK struct err *quota_take(enum quota_kind kind, uint64_t n);
/* Gives back what was taken. */
void quota_give(enum quota_kind kind, uint64_t n);
/* The sum that this session has taken; 0 where nothing is counted. */
uint64_t quota_taken(enum quota_kind kind);

/*
 * Watches counters of ns, one for each of n CPUs, `stride` bytes from each other, until it is
 * called with NULL. most: as many words at the same distance, which it sets: a counter above its
 * word is an alarm.
 */
void quota_watch(const uint64_t *taken, uint64_t *most, size_t stride, uint32_t n);
/*
 * The maps by which programs count in these counters: that which has them in its element, as struct
 * rt_control, and the one of the alarm. The descriptors are the caller's, and open until
 * quota_watch() is called with NULL.
 */
void quota_set_maps(int control_fd, int alarm_fd);
/*
 * Begins the process that says why the kernel has ended the session (quota_witness.h), for as long
 * as the counters are watched. It is called after quota_watch(), or instead of it where the CPU
 * time is not bounded. control: the element of the map of control_fd, of `size` bytes, with the
 * counters. It does nothing where there are no quotas.
 */
void quota_begin_witness(const void *control, size_t size, int control_fd);
/* The same descriptors; false: nothing is watched. */
bool quota_maps(int *ret_control_fd, int *ret_alarm_fd);
/* Whether the CPU time is bounded. */
bool quota_counts_cpu(void);
/*
 * Returns when the budget of CPU time is large enough to attach probes. It tells the user why that
 * takes a while, if it does; a signal ends the waiting.
 */
void quota_wait(const atomic_int *is_interrupted, void (*notice)(void *ctx, const char *msg),
		void *ctx);
/* A descriptor that can be read when quota_check() has something to say; -1: it never has. */
int quota_over_fd(void);
/*
 * An error when the budget of CPU time is used up, once: then the session must end within some ms.
 */
MUST_CHECK struct err *quota_check(void);
