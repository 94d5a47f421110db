/* SPDX-License-Identifier: MIT */
/*
 * The walk of a user stack on the host: of a thread that is stopped, or was when a core file was
 * made.
 *
 * The kernel's side and the host's side share the step from a frame to its caller (arch/frame.h). A
 * struct walk_space provides the two things that the step needs of the traced memory: the bytes at
 * an address, and the unwind rows of the code at an address. struct walk_proc provides them for a
 * live process.
 *
 * Owns     a struct walk_space nothing; a struct walk_proc its descriptors and unwind rows.
 * Errors   struct err *: no such process, not permitted. A stack without an end is no error.
 * Units    addresses and offsets in bytes.
 * Threads  one space belongs to one thread.
 */
#pragma once

#include <sys/types.h>

#include "base/base.h"
#include "base/err.h"

struct core;	  /* target/core.h */
struct file_opts; /* image/debugfile.h */
struct unwind_rows;

/* The code at an address. */
struct walk_code {
	const struct unwind_rows *rows; /* of its file; NULL: it has none */
	uint64_t off;			/* of the address in that file */
	/* The memory is not executable now; a helper may know that it is code (RULE_DATA). */
	bool is_data;
};
enum walk_rows { WALK_ROWS, WALK_SAVED }; /* WALK_SAVED: rows of UNWIND_SAVED */

struct walk_space {
	/* Reads memory; false if not all of it is there. */
	bool (*read)(void *ctx, taddr addr, void *dst, size_t size);
	/* Finds code; false if no memory is there that is or may be executable. */
	bool (*code)(void *ctx, taddr addr, enum walk_rows which, struct walk_code *ret);
	void *ctx;
};

struct walk_frame {
	taddr pc;
	taddr sp, bp;
	/*
	 * True if pc is the next instruction: the frame was interrupted. Otherwise pc is a return
	 * address behind a call, which may already belong to another function.
	 */
	bool is_exact;
	bool is_bare; /* no unwind table covers pc */
	/*
	 * In stack_walk_each(): the memory is not executable now. It is a frame only if the
	 * callback steers the walk on; then the walk goes on.
	 */
	bool is_data;
	/* In stack_walk_each(): the registers of the frame, and bits of those that are known. */
	const uint64_t *regs;
	uint64_t known;
};

#define WALK_NREGS 21

struct walk_stack {
	struct walk_frame *frames;
	uint32_t nframes;
	bool is_cut;	  /* there are more frames, but they could not be found */
	bool is_doubtful; /* some frames may be missing */
};

/*
 * Walks from the registers, which are the first WALK_NREGS words of struct user_regs_struct, and
 * fills at most max frames, the innermost first; ret->frames is the caller's to free().
 */
void stack_walk(const struct walk_space *space, const uint64_t regs[WALK_NREGS], uint32_t max,
		struct walk_stack *ret);

/* What a helper decides at a frame. */
struct walk_choice {
	bool is_over;	  /* the walk ends */
	bool is_steered;  /* the next frame is this one, whatever the rules say: */
	taddr pc, sp, bp; /* pc 0: the walk ends */
};
/* Called for each frame; is_first: it was interrupted. */
typedef void walk_frame_fn(void *ctx, const struct walk_frame *f, bool is_first,
			   struct walk_choice *ret);
/*
 * Walks as stack_walk() does, without a limit, and keeps no frames; true if the stack is cut.
 * saves: frames other than the first have their callee-saved registers, too.
 */
bool stack_walk_each(const struct walk_space *space, const uint64_t regs[WALK_NREGS], bool saves,
		     walk_frame_fn *frame, void *ctx);

/*
 * A live process whose threads are stopped while they are walked: what it has mapped is read once.
 * files says how its files are read, and outlives it.
 */
struct walk_proc;
MUST_CHECK struct err *walk_proc_open(pid_t pid, const struct file_opts *files,
				      struct walk_proc **ret);
/* The same for a core file, which outlives it. */
struct walk_proc *walk_core_open(struct core *core, const struct file_opts *files);
void walk_proc_close(struct walk_proc *p); /* NULL is allowed */
struct walk_space walk_proc_space(struct walk_proc *p);
/* Reads the registers of a thread that the caller traces and has stopped. */
MUST_CHECK struct err *walk_thread_regs(pid_t tid, uint64_t ret[WALK_NREGS]);
/* Reads its thread pointer; 0 if that fails. */
uint64_t walk_thread_pointer(pid_t tid);
