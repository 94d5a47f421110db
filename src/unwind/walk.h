/* SPDX-License-Identifier: MIT */
/*
 * The walk of a user stack on the host: of a thread that is stopped, or was when a core file was
 * made.
 *
 * The kernel's side and the host's side share the step from a frame to its caller (arch/frame.h). A
 * struct walk_space provides the two things that the step needs of the traced memory: the bytes at
 * an address, and the unwind rows of the code at an address. struct walk_target provides them for
 * a target (target/target.h).
 *
 * Owns     a struct walk_space nothing; a struct walk_target its unwind rows, and references to the
 *          images of what is mapped.
 * Errors   none. A stack without an end is no error.
 * Units    addresses and offsets in bytes.
 * Threads  one space belongs to one thread.
 */
#pragma once

#include "arch/arch.h"
#include "base/base.h"

struct file_opts; /* image/debugfile.h */
struct target;	  /* target/target.h */
struct unwind_lazy;
struct unwind_rows;

/* The code at an address. */
struct walk_code {
	const struct unwind_rows *rows; /* of its file; NULL: it has none, or they are these: */
	struct unwind_lazy *lazy;
	uint64_t off; /* of the address in that file */
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
	taddr sp, fp;
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

struct walk_stack {
	struct walk_frame *frames;
	uint32_t nframes;
	bool is_cut;	  /* there are more frames, but they could not be found */
	bool is_doubtful; /* some frames may be missing */
};

/*
 * Walks from the registers, and fills at most max frames, the innermost first; ret->frames is the
 * caller's to free().
 */
void stack_walk(const struct walk_space *space, const struct arch_regs *regs, uint32_t max,
		struct walk_stack *ret);

/* What a helper decides at a frame. */
struct walk_choice {
	bool is_over;	  /* the walk ends */
	bool is_steered;  /* the next frame is this one, whatever the rules say: */
	taddr pc, sp, fp; /* pc 0: the walk ends */
};
/* Called for each frame; is_first: it was interrupted. */
typedef void walk_frame_fn(void *ctx, const struct walk_frame *f, bool is_first,
			   struct walk_choice *ret);
/*
 * Walks as stack_walk() does, without a limit, and keeps no frames; true if the stack is cut.
 * saves: frames other than the first have their callee-saved registers, too.
 */
bool stack_walk_each(const struct walk_space *space, const struct arch_regs *regs, bool saves,
		     walk_frame_fn *frame, void *ctx);

/*
 * The space of a target, which outlives it, as do the options that say how files are read. The
 * threads of the target stand still while they are walked.
 */
struct walk_target;
struct walk_target *walk_target_open(struct target *t, const struct file_opts *files);
void walk_target_close(struct walk_target *w); /* NULL is allowed */
struct walk_space walk_target_space(struct walk_target *w);
