/* SPDX-License-Identifier: MIT */
/*
 * The watch: observes what processes map, execute and fork, and reports it to its subscribers.
 *
 * A subscriber names the events that it wants by the functions it fills in, and in which processes:
 *
 * - All processes of the machine (watch_all()). The kernel's own records report their events, in
 *   the order of their times, a moment later. No process waits (records.h).
 * - Processes that are followed (watch_follow()), and their children. Our BPF programs report
 *   their events at once (follow.h). Such a process can be made to wait: it is stopped when it has
 *   executed another program, when its dynamic linker has mapped or unmapped libraries, or when it
 *   was born. It runs on when all subscribers have been called.
 *
 * Nothing is opened or loaded before one of the two functions is called.
 *
 * Each followed process has a state. What happens to it in each state is written down once, in
 * the table of states.c:
 *
 *     watch_follow(), a birth                      an end
 *        |                                    +--------------> ENDED
 *        v      it executes, maps, is born    |                  ^
 *     RUNS ---------------------------------> HELD --------------+
 *      | ^                                     | |               |
 *      | +---- all subscribers are told -------+ |               |
 *      |                                         |               |
 *      +------- tracing stops -------> OVER <----+               |
 *                                       |          an end        |
 *                                       +------------------------+
 *
 * In HELD the subscribers are being called, and a process with WATCH_STOPS is stopped. In OVER no
 * subscriber is called, and a process that one of our programs still stops is resumed at once.
 *
 * Identity  a process id alone says nothing: another process may have it in a moment. What is
 *           followed is a struct proc_id: event and process are compared by process id and start
 *           time. A process is resumed through its pidfd, or after a comparison of its start time.
 *           What was read of a process through its process id counts only if the process has not
 *           ended by then (watch_proc_lives()). A record is about the process that had the process
 *           id at the time of the record, and the end of one process is reported before the
 *           beginning of the next one.
 * Owns      events, buffers, programs, descriptors, the list of processes. Subscribers outlive it.
 * Errors    struct err *: what the kernel refuses. A later failure becomes a notice to the user
 *           (watch_failed()), and the session goes on.
 * Threads   the consumer's.
 *
 * To add a subscriber: a const struct watch_subscriber with the functions that it needs, and one
 * call of watch_subscribe() (session/tracing.c has one).
 */
#pragma once

#include "base/err.h"
#include "rt/pidns.h"
#include "target/ident.h"

struct keeper;
struct sym_map;
struct watch;
struct watch_proc; /* a process that is followed */

enum watch_scope {
	WATCH_ALL,	/* what all processes do */
	WATCH_FOLLOWED, /* what followed processes and their children do */
};

/* The process that an event is about: the one that had the process id at that time. */
struct watch_subject {
	uint64_t pid;		 /* in the PID namespace of dtrace */
	uint64_t time;		 /* when it happened: ns of CLOCK_MONOTONIC */
	struct watch_proc *proc; /* WATCH_FOLLOWED; else NULL */
	/*
	 * WATCH_FOLLOWED, in execed(): a thread that was not the first has called exec. The process
	 * is another task for the kernel now, and links that were filtered by process are dead.
	 */
	bool is_other_task;
	bool runs_on; /* WATCH_FOLLOWED: it does not wait for the subscribers */
};

/* A subscriber and the events that it wants: a function that is NULL stands for one it does not. */
struct watch_subscriber {
	const char *name;
	enum watch_scope scope;
	/*
	 * The process has mapped an executable part of a file. With WATCH_FOLLOWED this is called
	 * only for a file of which the process had no such part mapped. m is valid during the call.
	 */
	void (*mapped)(void *ctx, const struct watch_subject *s, const struct sym_map *m);
	/* WATCH_FOLLOWED: no part of the file is mapped any more. */
	void (*unmapped)(void *ctx, const struct watch_subject *s, uint64_t dev, uint64_t ino);
	/*
	 * The process has executed another program. What it had mapped is gone; what it maps now
	 * is reported next.
	 */
	void (*execed)(void *ctx, const struct watch_subject *s);
	/*
	 * The process begins, as a child of the process `parent`. With WATCH_FOLLOWED, parent is
	 * the followed process at the root of the family (watch_root()).
	 */
	void (*forked)(void *ctx, const struct watch_subject *s, uint64_t parent);
	void (*ended)(void *ctx, const struct watch_subject *s);
	/* WATCH_ALL: some events were lost. */
	void (*lost)(void *ctx);
	/*
	 * WATCH_FOLLOWED: all changes so far were reported. The process is resumed when all
	 * subscribers have returned.
	 */
	void (*reported)(void *ctx, const struct watch_subject *s);
	/*
	 * WATCH_FOLLOWED: returns how many breakpoints the subscriber has in the process.
	 */
	uint64_t (*nplaces)(void *ctx, const struct watch_subject *s);
	/*
	 * WATCH_FOLLOWED: children that go on in the process's program have inherited its
	 * breakpoints, which are of no use there (children.h); the subscriber takes them out.
	 */
	void (*inherited)(void *ctx, const struct watch_subject *s);
};

struct gate;

struct watch_hooks {
	void *ctx;
	void (*notice)(void *ctx, const char *msg); /* shows the user a message */
	/* Returns the keeper of the session, and makes it at the first call. */
	struct err *(*keeper)(void *ctx, struct keeper **ret);
	bool (*is_over)(void *ctx); /* tracing has stopped, or is about to */
	struct gate *gate;	    /* opens files of processes */
};

struct watch *watch_create(const struct watch_hooks *hooks);
void watch_destroy(struct watch *w); /* NULL is allowed; no process stays stopped */
/* Subscribers are called in the order in which they subscribe. */
void watch_subscribe(struct watch *w, const struct watch_subscriber *sub, void *ctx);

/* ---- all processes -------------------------------------------------------------------------- */

/* Records what all processes do from now on, on the CPUs that are online. */
MUST_CHECK struct err *watch_all(struct watch *w);
/*
 * After watch_all(), when a CPU has come online: what it does is recorded from now on, and
 * subscribers are told that records may have been lost. *ret_fd: as those of watch_fds().
 */
MUST_CHECK struct err *watch_cpu(struct watch *w, uint32_t cpu, int *ret_fd);
/* Reports what was recorded until now to the subscribers. w: NULL is allowed. */
void watch_drain(struct watch *w);
/*
 * True if records may have been lost without a word: the kernel says that it has lost some only
 * when there is room for the next one.
 */
bool watch_is_full(const struct watch *w);
/* Descriptors that become readable when something is recorded. */
uint32_t watch_fds(const struct watch *w, const int **ret_fds);

/* ---- processes that are followed ------------------------------------------------------------ */

struct watch_following {
	uint32_t max;	      /* how many processes will be followed, their children not counted */
	struct rt_pidns ns;   /* the PID namespace of all process ids */
	bool has_children;    /* children are followed as well: needs FEAT_UPROBE_TGID */
	bool wants_libraries; /* libraries are reported when they come, not only after an exec */
	bool is_silent;	      /* nothing is lost to the user where a library is not reported */
	/*
	 * The maps of an engine with unwind tables, by class (kernel/code.h), valid until
	 * watch_stop(); NULL: there are none. A process with WATCH_SPARED is not stopped where
	 * these know all that it has mapped.
	 */
	const int *known_fds;
};
/* Loads the programs; *ret_fd becomes readable when there is something for watch_work(). */
MUST_CHECK struct err *watch_following(struct watch *w, const struct watch_following *opts,
				       int *ret_fd);

/* Flags of watch_follow(). */
#define WATCH_STOPS    1u /* the process waits while subscribers are called */
#define WATCH_OUTLIVES 2u /* it does not end with dtrace, so it must not be left stopped */
#define WATCH_LOOKS    4u /* it runs already: what it has mapped is reported now */
/*
 * The caller holds it with ptrace(2), and knows what it has mapped: if it is held where its dynamic
 * linker is about to report just that, the report is left out.
 */
#define WATCH_KNOWN 8u
/*
 * With WATCH_STOPS | WATCH_OUTLIVES: it waits only for files that are not known yet (known_fds), as
 * long as dtrace attends to events, and at most RT_WATCH_STOPS_MAX times for libraries of one
 * program.
 */
#define WATCH_SPARED 16u
/* Copies the identity. A process that has ended already is not followed. */
MUST_CHECK struct err *watch_follow(struct watch *w, const struct proc_id *id, uint32_t flags);
/* Reports what followed processes have done to the subscribers. w: NULL is allowed. */
void watch_work(struct watch *w);
/* Tracing stops: from now on no subscriber is called and no process waits. */
void watch_stop(struct watch *w);

const struct proc_id *watch_id(const struct watch_proc *p);
/* The process that watch_follow() was called for: p itself, or the one that it descends from. */
const struct proc_id *watch_root(const struct watch_proc *p);
/*
 * Returns true if the process has not ended: then everything that was done by its process id until
 * now was done to this process.
 */
bool watch_proc_lives(const struct watch_proc *p);
/*
 * Shows the user what could not be done for a process, unless the process has ended or the message
 * before was the same. Frees e.
 */
void watch_failed(struct watch *w, const struct watch_proc *p, const char *what, struct err *e);
