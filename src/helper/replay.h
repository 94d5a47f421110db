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

struct target;
struct walk; /* of replay.c */

enum replay_frame_kind {
	REPLAY_NATIVE,	 /* an address */
	REPLAY_LANGUAGE, /* what uframe() has added */
};

struct replay_frame {
	enum replay_frame_kind kind;
	taddr pc;
	bool is_return; /* pc is behind a call */
	char *text;	/* REPLAY_NATIVE: the name that clauses give it, or NULL */
};

struct replay {
	/* what is replayed */
	struct helper *const *helpers;
	uint32_t nhelpers;
	const struct file_opts *files;
	struct target *target;
	struct walk_space space; /* of the target */
	const struct arch_regs *regs;
	struct process_frame thread;  /* tid, ids and names */
	uint32_t max_frames, strsize; /* as of jstack() */
	/* who listens; a member may be NULL */
	void *ctx;
	void (*part)(void *ctx, const struct helper *h, enum helper_probe probe);
	void (*frame)(void *ctx, uint32_t number, const struct walk_frame *f);
	/* A helper was declined, or clauses have ended with a fault. */
	void (*failed)(void *ctx, const struct helper *h, const char *why);
	const struct process_hooks *hooks;
	/* the result; replay_deinit() frees it */
	VEC(struct replay_frame) frames;
	bool is_cut;
	struct walk *walk; /* while it runs */
};

void replay_run(struct replay *r);
/* For the hooks: the string at an address of the clause that runs, to be freed. */
char *replay_text(const struct replay *r, uint64_t addr);
/* For done() of uframe(): the text of the frame. */
const char *replay_frame_text(const struct replay *r);
void replay_deinit(struct replay *r);
