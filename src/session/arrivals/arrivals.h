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

#include "session/live/live.h"

struct arrival_batch; /* impl.h */
struct missed;	      /* short_lived.h */
struct watch_proc;    /* watch/watch.h */

/* A process whose probes wait for the turn at its code (waiting.c). */
struct arrival_waiting {
	const struct watch_proc *proc;
	uint64_t since; /* ns of CLOCK_MONOTONIC */
	bool is_child;	/* it is to get the probes of the process from which it descends */
	bool has_execed;
};

struct arrivals {
	/* The parts of the session that it uses. */
	struct live *live; /* loads and attaches the units of added probes */
	struct match *match;
	struct probes *probes;
	struct provider_env *env;
	struct report *report;
	const struct compiler *compiler;

	bool is_possible; /* some clause may get more probes; if not, nothing below counts */
	VEC(const struct proc_id *) ids; /* processes that clauses name; the provider owns them */
	/* Processes of -c, which wait for the unwind tables of what they map (created_follow()). */
	VEC(struct proc_id) created;
	bool wants_libraries, wants_patterns, wants_children;
	bool wants_all;	       /* some clause means all processes */
	int modules_fd;	       /* reports of modules that come and go; 0: no clause means them */
	bool has_arrived;      /* processes have mapped code of unknown files */
	uint64_t waits_since;  /* ns; the process of -c has mapped some; 0: it has not */
	bool has_lost;	       /* the kernel has lost records of what processes map */
	bool says_lost;	       /* the user was told so */
	struct missed *missed; /* if wants_all */
	uint32_t ngroups;      /* groups of attachments; the last one's number */
	uint32_t survey_at;    /* so many batches may be there before unused ones are searched */
	bool has_changed;      /* the process of this event has mapped or unmapped code */
	bool is_other;	       /* the process is another task, its links are dead */
	bool is_full;	       /* the string table has no room for further names */
	bool has_gone;	       /* some file may be in no process any more */
	struct late_numbers numbers; /* numbers for the next unit */
	VEC(struct arrival_batch) batches;
	VEC(struct arrival_waiting) waiting;
	struct watch
		*prewatch; /* from the match of a pattern until the watch begins (prewatch.h) */
};

/* parts: the first members. Lets a pattern that is matched begin the watch of prewatch.h. */
void arrivals_init(struct arrivals *a, const struct arrivals *parts);
/* Forgets the added probes; their units are the match's. */
void arrivals_undo(struct arrivals *a);

/* ---- before the start ----------------------------------------------------------------------- */

/* Before clauses are matched: option follow is refused if this kernel cannot do it. */
MUST_CHECK struct err *arrivals_check(struct arrivals *a);
/* After clauses are matched: finds out which of them may get more probes. */
void arrivals_plan(struct arrivals *a);
/* Returns how many bytes the names of added probes may need in the kernel's string table. */
uint32_t arrivals_strtab_room(const struct arrivals *a);
/* Returns true if probes may have the id of the process that fires them in their names. */
bool arrivals_has_pids(const struct arrivals *a);
/* Returns true if children of processes get the links of their parents: option follow. */
bool arrivals_has_children(const struct arrivals *a);

/* ---- while it runs -------------------------------------------------------------------------- */

/* Before the watch of all processes begins: subscribes to it, if some clause means them all. */
void arrivals_watch_all(struct arrivals *a);
/* Lets w report what all processes map; nothing may be reported before arrivals_watch_all(). */
void arrivals_subscribe_all(struct arrivals *a, struct watch *w);
/* While it runs, after the watch was drained: adds the probes of files that are new. */
void arrivals_work(struct arrivals *a);
/* Whether arrivals_work() has something to do soon that nothing announces. */
bool arrivals_are_waiting(const struct arrivals *a);
#define ARRIVALS_PAUSE_NS 10000000 /* between two tries then */
/* When tracing stops: says which processes ended before they were traced. */
void arrivals_stop(struct arrivals *a);
/* After probes are attached: starts to follow the processes. */
void arrivals_start(struct arrivals *a);
/*
 * Frees units that were removed. consumed_at: all records before this time were consumed, in ns of
 * CLOCK_MONOTONIC.
 */
void arrivals_tend(struct arrivals *a, uint64_t consumed_at);
