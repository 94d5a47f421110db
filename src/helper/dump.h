/* SPDX-License-Identifier: MIT */
/*
 * The stacks of all threads of a process or core file, at one instant, with the frames that ustack
 * helpers find. The threads stand still while they are walked, and no longer: names of addresses
 * are found afterwards.
 *
 * Owns     the dump what it has copied; dump_deinit() frees it. The target is closed.
 * Errors   struct err *: no such process or thread, not permitted, another tracer has it, no core
 *          file. What is not known of one thread is said in its place.
 */
#pragma once

#include <sys/types.h>

#include "base/err.h"
#include "base/str.h"
#include "helper/replay.h"
#include "target/target.h"

struct syms;
struct ustacks;

struct dump_thread {
	pid_t tid, inner; /* as struct target_who has them */
	char state;
	char name[17];
	char *missing; /* why it has no stack; NULL: it has one */
	replay_frames frames;
	bool is_cut, is_full; /* as struct replay has them */
};

/* What stands parked without a thread: a fiber, a task, a virtual thread (mdb/parked.h). */
struct dump_parked {
	uint64_t addr;	      /* of the runtime's object */
	const char *language; /* "ruby" */
	char *kind;	      /* "fiber" */
	/* each NULL: it is not known; id: by which the runtime's tools know it */
	char *id, *name, *state;
	VEC(char *) frames; /* as texts of helpers, the innermost first */
	char *cut;	    /* why the stack ends before its end; NULL: it does not */
};

struct dump {
	pid_t pid;	/* as the process has or had it */
	uint64_t named; /* by which its addresses are named: syms_target() */
	char *args;	/* the words of its command line */
	/* sentences about all of it, a line each: the signal, files that are not those of then */
	struct strbuf notes;
	uint64_t held_ns; /* how long the threads stood still; 0: a core file */
	VEC(struct dump_thread) threads;
	/* With option pstacktasks; the list is its owner's, and outlives the dump. */
	bool has_parked;
	const struct dump_parked *parked;
	uint32_t nparked;
	uint64_t nmore;	       /* how many others there are, at most */
	const char *no_parked; /* why there are none; NULL: they are there */
};

struct dump_opts {
	/* the process, or the thread alone; 0: all of the core file, or of it the thread "only" */
	pid_t tid;
	const char *core; /* NULL: a process that lives */
	pid_t only;	  /* 0: all threads */
	struct syms *syms;
	/* NULL, or called when all threads of a process were walked and still stand still. */
	void (*held)(void *ctx, struct target *t);
	void *ctx;
};

MUST_CHECK struct err *ustacks_dump(struct ustacks *u, const struct dump_opts *opts,
				    struct dump *ret);
void dump_deinit(struct dump *d);

/* Says for which signal the process was dumped, in a line. */
void dump_signal_tell(struct target *t, struct strbuf *out);
/* Names each file once of which the target has another version, in a line each. */
void dump_stale_tell(struct target *t, struct strbuf *out);
