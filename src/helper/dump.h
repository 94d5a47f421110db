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

struct dump {
	pid_t pid;	/* as the process has or had it */
	uint64_t named; /* by which its addresses are named: syms_target() */
	char *args;	/* the words of its command line */
	/* sentences about all of it, a line each: the signal, files that are not those of then */
	struct strbuf notes;
	uint64_t held_ns; /* how long the threads stood still; 0: a core file */
	VEC(struct dump_thread) threads;
};

struct dump_opts {
	/* the process, or the thread alone; 0: all of the core file, or of it the thread "only" */
	pid_t tid;
	const char *core; /* NULL: a process that lives */
	pid_t only;	  /* 0: all threads */
	struct syms *syms;
};

MUST_CHECK struct err *ustacks_dump(struct ustacks *u, const struct dump_opts *opts,
				    struct dump *ret);
void dump_deinit(struct dump *d);

/* Says for which signal the process was dumped, in a line. */
void dump_signal_tell(struct target *t, struct strbuf *out);
/* Names each file once of which the target has another version, in a line each. */
void dump_stale_tell(struct target *t, struct strbuf *out);
