/*
 * The watch: what processes do, for all that want to be told of it.
 *
 * A subscriber names the events that it wants by the functions it fills in, and in which processes:
 *
 * - All of the machine (watch_all()). The kernel's own records tell of them, in the order of their
 *   times, a moment after it has happened. Nobody waits (records.h).
 * - Processes that are followed (watch_follow()), and their children. Programs of ours in the
 *   kernel tell of them at once (follow.h). Such a process can be made to wait: it is stopped when
 *   it has executed another program, when its dynamic linker has mapped or unmapped libraries, or
 *   when it was born. It runs on when all subscribers have been told.
 *
 * Nothing is opened or loaded before one of the two is asked for.
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
 * In HELD the subscribers are being told, and the process is stopped if it waits. In OVER nobody is
 * told of anything, and a process that one of our programs still stops is resumed at once.
 *
 * Identity  a process id alone says nothing: another process may have it in a moment. What is
 *           followed is a struct proc_id: event and process are compared by process id and start
 *           time, and whoever is resumed, by pidfd or by start time. What was read of a process
 *           through its process id counts only if the process has not ended by then
 *           (watch_proc_lives()). A record is about the process that had the process id at the time
 *           of the record, and the end of one process is told before the beginning of the next one.
 * Owns      events, buffers, programs, descriptors, the list of processes. Subscribers outlive it.
 * Errors    struct err *: what the kernel refuses. What fails later is told (watch_failed()), and
 *           the session goes on.
 * Threads   the consumer's.
 *
 * To add a subscriber: a const struct watch_subscriber with the functions that it needs, and one
 * call of watch_subscribe() (session/processes.c has two).
 */
#pragma once

#include "base/err.h"
#include "bpf/rt/abi.h"
#include "proc/ident.h"

struct keeper;
struct sym_map;
struct watch;
struct watch_proc; /* a process that is followed */

enum watch_scope {
	WATCH_ALL,	/* what all processes do */
	WATCH_FOLLOWED, /* what processes do that are followed, and their children */
};

/* The process that an event is about: the one that had the process id at that time. */
struct watch_subject {
	uint64_t pid;		 /* in the PID namespace of dtrace */
	uint64_t time;		 /* ns of CLOCK_MONOTONIC */
	struct watch_proc *proc; /* WATCH_FOLLOWED; else NULL */
	/*
	 * Of an exec, WATCH_FOLLOWED: a thread did it that was not the first. The process is
	 * another task for the kernel now, and links that were filtered by process are dead.
	 */
	bool is_other_task;
};

/* Who wants to be told, and of what: a function that is NULL is an event that it does not want. */
struct watch_subscriber {
	const char *name;
	enum watch_scope scope;
	/*
	 * The process has mapped a part of a file that may be executed; WATCH_FOLLOWED: a file of
	 * which it had mapped no such part before. m is valid during the call.
	 */
	void (*mapped)(void *ctx, const struct watch_subject *s, const struct sym_map *m);
	/* WATCH_FOLLOWED: no part of the file is mapped any more. */
	void (*unmapped)(void *ctx, const struct watch_subject *s, uint64_t dev, uint64_t ino);
	/* It executes another program. What it had mapped is gone; what it maps is told next. */
	void (*execed)(void *ctx, const struct watch_subject *s);
	/*
	 * It begins, as a child of another process; WATCH_FOLLOWED: as a child of one that is
	 * followed, of which parent is the first (watch_root()).
	 */
	void (*forked)(void *ctx, const struct watch_subject *s, uint64_t parent);
	void (*ended)(void *ctx, const struct watch_subject *s);
	/* WATCH_ALL: some events were lost. */
	void (*lost)(void *ctx);
	/* WATCH_FOLLOWED: all that has changed is told. When this returns, the process runs on. */
	void (*settled)(void *ctx, const struct watch_subject *s);
	/*
	 * WATCH_FOLLOWED: in how many places of the process has the subscriber breakpoints? And:
	 * children that go on in its program have inherited them, and nobody wants them there
	 * (children.h).
	 */
	uint64_t (*nplaces)(void *ctx, const struct watch_subject *s);
	void (*inherited)(void *ctx, const struct watch_subject *s);
};

struct gate;

struct watch_hooks {
	void *ctx;
	void (*notice)(void *ctx, const char *msg); /* what the user should know */
	/* The keeper of the session, which is made when it is asked for first. */
	struct err *(*keeper)(void *ctx, struct keeper **ret);
	bool (*is_over)(void *ctx); /* tracing has stopped, or is about to */
	struct gate *gate;	    /* through which files of processes are opened */
};

struct watch *watch_create(const struct watch_hooks *hooks);
void watch_destroy(struct watch *w); /* NULL is allowed; no process stays stopped */
/* Subscribers are told in the order in which they subscribe. */
void watch_subscribe(struct watch *w, const struct watch_subscriber *sub, void *ctx);

/* ---- all processes -------------------------------------------------------------------------- */

/* What all processes do is recorded from now on. cpus: [ncpus], -1 = offline. */
MUST_CHECK struct err *watch_all(struct watch *w, const int *cpus, uint32_t ncpus);
/* Tells what has been recorded until now. w: NULL is allowed. */
void watch_drain(struct watch *w);
/* Descriptors that become readable when something is recorded. */
uint32_t watch_fds(const struct watch *w, const int **ret_fds);

/* ---- processes that are followed ------------------------------------------------------------ */

struct watch_following {
	uint32_t max;	      /* processes that are to be followed, without their children */
	struct rt_pidns ns;   /* whose process ids are used */
	bool has_children;    /* their children are followed like them: needs FEAT_UPROBE_TGID */
	bool wants_libraries; /* what dynamic linkers map is told, too, not only after an exec */
};
/* Programs are loaded; *ret_fd becomes readable when there is something for watch_work(). */
MUST_CHECK struct err *watch_following(struct watch *w, const struct watch_following *opts,
				       int *ret_fd);

/* How a process is followed. */
#define WATCH_STOPS    1u /* it waits while subscribers are told ... */
#define WATCH_OUTLIVES 2u /* ... and does not end with dtrace, so it must not be left stopped */
#define WATCH_LOOKS    4u /* it runs already: what it has mapped is told now */
/* The identity is copied; one that has ended already is left out. */
MUST_CHECK struct err *watch_follow(struct watch *w, const struct proc_id *id, uint32_t flags);
/* Tells what followed processes have done. w: NULL is allowed. */
void watch_work(struct watch *w);
/* Tracing stops: nobody is told of anything, and no process waits, from now on. */
void watch_stop(struct watch *w);

const struct proc_id *watch_id(const struct watch_proc *p);
/* The process that was followed first: p itself, or the one that it descends from. */
const struct proc_id *watch_root(const struct watch_proc *p);
/*
 * Has the process not ended? Then everything that was done by its process id until now was done to
 * this process.
 */
bool watch_proc_lives(const struct watch_proc *p);
/*
 * What could not be done for a process is told: not when it has ended, and not twice in a row. Ends
 * e's journey.
 */
void watch_failed(struct watch *w, const struct watch_proc *p, const char *what, struct err *e);
