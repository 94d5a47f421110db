/* SPDX-License-Identifier: MIT */
/*
 * Levels of privilege: what a session may ask of the system, as on illumos (ppriv(5)).
 *
 *     user          events of one's own processes: system calls, timers, the scheduler, faults,
 *                   signals, their processes
 *     proc          their code: pid, USDT, locks, the probes and stacks of languages
 *     kernel        every provider and all memory of the kernel
 *     proc_owner    with any of the others: processes of other users as well
 *
 * A session has one struct privileges from its beginning to its end. Whoever places a probe,
 * compiles a clause or opens a process asks it here; nobody compares user ids anywhere else.
 *
 * Units    user and group ids as the initial user namespace has them.
 * Errors   a word that is no level is refused by level_parse().
 * Threads  constant after the session is open.
 */
#pragma once

#include <sys/types.h>

#include "base/base.h"
#include "base/err.h"

enum privilege_level {
	LEVEL_USER = 1 << 0,
	LEVEL_PROC = 1 << 1,
	LEVEL_KERNEL = 1 << 2,
	LEVEL_PROC_OWNER = 1 << 3,
	LEVELS_ALL = LEVEL_USER | LEVEL_PROC | LEVEL_KERNEL | LEVEL_PROC_OWNER,
};

struct privileges {
	uint32_t levels; /* LEVEL_...; LEVELS_ALL: nothing is checked */
	/* whose processes; only read where LEVEL_PROC_OWNER is missing */
	uint32_t uid;
	uint32_t gid; /* the group that all group ids of a process must be, as ptrace(2) asks */
};

/* The session of root: it may do all that the kernel lets it do. */
#define PRIVILEGES_ALL ((struct privileges){.levels = LEVELS_ALL})

/* Room for the words of all levels, with commas between them. */
#define LEVELS_TEXT_MAX 64

/*
 * The level of a word of `len` bytes: "dtrace_user", "dtrace_proc", "dtrace_kernel", or
 * "proc_owner". Returns 0 for any other word.
 */
uint32_t level_parse(const char *word, size_t len);
/* The words of the levels, "dtrace_user, dtrace_proc"; "none" if there are none. Returns buf. */
const char *levels_text(uint32_t levels, char buf[LEVELS_TEXT_MAX]);
/* The word of one level. */
const char *level_word(enum privilege_level level);

/*
 * Whether one of the levels is missing. NULL stands for PRIVILEGES_ALL: parts that are used without
 * a session have no privileges to ask.
 */
static inline bool privileges_lack(const struct privileges *p, uint32_t levels)
{
	return p && (p->levels & levels) != levels;
}

/*
 * Takes away what the text does not name: "USER:LEVEL,LEVEL..." or "LEVEL,LEVEL...": USER is
 * a name or number; without it the user stays the one of p, or becomes the process's real one. The
 * group is the primary one of USER, or has the same number where USER is a number without an entry
 * in the database of users; without USER it is the process's real one.
 * dtrace_kernel includes dtrace_user and dtrace_proc. Nothing is ever added; an error leaves p as
 * it was.
 */
MUST_CHECK struct err *privileges_narrow(struct privileges *p, const char *text);

/*
 * Refuses a process that the session may not look at: one whose ids are not all the user's and
 * the group's, that has capabilities, that may not be dumped, or that is in another user
 * namespace than dtrace. A process that ends meanwhile is refused as well. The answer is of this
 * moment: what probes record is decided by the guard of each program, when it fires
 * (rt/privilege.c).
 */
MUST_CHECK struct err *privileges_check_process(const struct privileges *p, pid_t pid);
/* The same as a question. */
bool privileges_own_process(const struct privileges *p, pid_t pid);

/* Whether all the levels are there. */
static inline bool privileges_have(const struct privileges *p, uint32_t levels)
{
	return (p->levels & levels) == levels;
}

/* Whether the session may ask about processes of this user. */
static inline bool privileges_own(const struct privileges *p, uint32_t uid)
{
	return (p->levels & LEVEL_PROC_OWNER) || p->uid == uid;
}
