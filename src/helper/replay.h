/* SPDX-License-Identifier: MIT */
/*
 * Runs ustack helpers over a thread of a target that does not run: the same walk and the same
 * clauses as in the kernel (rt/unwind.c, rt/helper.c), with the frame step on the host
 * (unwind/walk.h) and the interpreter of DIF (dif/interp.h).
 *
 * A listener is told of what happens, in order. What the kernel's machine does to save time is not
 * done here: ucached() never finds anything. Memory that is not in RAM can be read here, and is a
 * fault in the kernel.
 *
 * Owns     nothing but the memory of the walk.
 * Errors   none: what cannot be read is missing.
 */
#pragma once

#include "unwind/walk.h"
#include "base/vec.h"
#include "helper/helper.h"
#include "helper/process.h"
#include "helper/values.h"

struct target;
struct target_who;
struct walk; /* of replay.c */

enum replay_frame_kind {
	REPLAY_NATIVE,	 /* an address */
	REPLAY_LANGUAGE, /* what uframe() has added */
};

struct replay_frame {
	enum replay_frame_kind kind;
	taddr pc;
	bool is_return;	     /* pc is behind a call */
	char *text;	     /* REPLAY_NATIVE: the name that clauses give it, or NULL */
	bool is_stub;	     /* that name is of code that is no function of the language */
	uint32_t part;	     /* index of the helper that has said so */
	value_locals locals; /* if the helper has a file of values */
};

typedef VEC(struct replay_frame) replay_frames;

/* Most actions of all clauses of a walk: as replay_run() allows, and without a practical limit. */
#define REPLAY_ACTIONS	    50000u
#define REPLAY_ACTIONS_DEEP 100000000u

struct replay {
	/* what is replayed */
	struct helper *const *helpers;
	uint32_t nhelpers;
	const struct file_opts *files;
	struct target *target;
	struct walk_space space;      /* of the target */
	uint32_t max_frames, strsize; /* as of jstack() */
	uint32_t max_actions;	      /* of a walk; 0: REPLAY_ACTIONS */
	/* the thread */
	const struct arch_regs *regs;
	struct process_frame thread; /* tid, ids and names */
	/* who listens; a member may be NULL */
	void *ctx;
	void (*part)(void *ctx, const struct helper *h, enum helper_probe probe);
	void (*frame)(void *ctx, uint32_t number, const struct walk_frame *f);
	/* A helper was declined, or clauses have ended with a fault. */
	void (*failed)(void *ctx, const struct helper *h, const char *why);
	const struct process_hooks *hooks;
	/* the result; replay_deinit() frees it */
	replay_frames frames;
	bool is_cut;	   /* there are more frames, which cannot be found */
	bool is_full;	   /* max_frames were found: there may be more */
	struct walk *walk; /* while it runs */
};

/*
 * Returns what helpers' clauses can read of a thread: its ids, name and arguments. The strings are
 * those of *who, which has to outlive the result.
 */
struct process_frame replay_thread_of(const struct target_who *who);
/* Walks the stack of one thread. */
void replay_run(struct replay *r);
/*
 * The same for several threads of a target, to which the helpers are attached once: between begin
 * and end, the caller sets the thread, walks, and takes or frees the frames.
 */
void replay_begin(struct replay *r);
void replay_walk(struct replay *r);
/*
 * Walks what stands parked without a thread, of the helper of that index: clauses on
 * dtrace:helper:backtrace: of its file of values are told the word, and add frames, or say by
 * unwind() where native frames begin, for which clauses on ustack run then. regs: of any thread.
 */
void replay_parked(struct replay *r, uint32_t part, uint64_t word);
/* Whether these clauses do so; else they say the frames as items (value_backtrace_read()). */
bool replay_walks_parked(const struct replay *r, uint32_t part);
void replay_end(struct replay *r);
void replay_frames_deinit(replay_frames *frames);
/*
 * Between begin and end: the process in which the clauses of a helper run, by its index; NULL: it
 * declines the target, or has no file of values (helper_compile_values()).
 */
struct process *replay_values(const struct replay *r, uint32_t part);
/* For the hooks: the string at an address of the clause that runs, to be freed. */
char *replay_text(const struct replay *r, uint64_t addr);
/* For done() of uframe(): the text of the frame. */
const char *replay_frame_text(const struct replay *r);
void replay_deinit(struct replay *r);
