/* SPDX-License-Identifier: MIT */
/*
 * A frame of a user stack, and what the step to its caller's frame asks others for.
 *
 * The step (arch/step.h) is written once. clang compiles it for the kernel, where rt/unwind.c walks
 * the stack of the current task, and the C compiler for the host, where unwind/walk.c walks the
 * stack of a stopped process. So both give the same frames of the same memory.
 *
 * A file that includes the step defines struct frame_env, which says whose stack is walked, and the
 * four functions env_...() that are declared below. An architecture has two headers: its regs.h
 * says which registers there are, its frame.h defines the functions of the last section. The step
 * knows nothing else of the memory that it walks through, and trusts nothing that it reads there:
 * the worst that hostile memory can do is a walk of wrong frames that ends at the number of frames
 * asked for.
 *
 * Units    addresses in bytes. Registers are words of struct pt_regs.
 */
#pragma once

/*
 * FRAME_FP, FRAME_SP, FRAME_PC   words of frame pointer, stack pointer and next instruction
 * FRAME_NREGS                    words of struct pt_regs
 * FRAME_NSAVED                   callee-saved registers in rules, at most RULE_NSAVED
 * FRAME_SAVED_WORD(i)            their words; i counts as in arch/rule.h
 * FRAME_SAVED_WORDS              bits: these words
 * FRAME_CARRIED                  word of the carried register (arch/rule.h)
 * FRAME_RA_ABOVE_FP              0: calls store the return address at CFA - 8; 1: they leave it in
 *                                a register; functions store it above the caller's frame pointer
 * FRAME_FP_CFA                   distance from the frame pointer to the CFA of a function without a
 *                                row; the caller's frame pointer and the return address end there
 * FRAME_PAGE_SHIFT               a page has 1 << FRAME_PAGE_SHIFT bytes
 */
#include "arch/machine/regs.h"
#include "arch/rule.h"

#define FRAME_OWN_WORDS (1ull << FRAME_FP | 1ull << FRAME_SP | 1ull << FRAME_PC)
#define FRAME_ALL_WORDS ((1ull << FRAME_NREGS) - 1)

enum walk_end {
	WALK_ON,       /* the frame is known */
	WALK_COMPLETE, /* the frame before was the outermost one */
	WALK_CUT,      /* there are more frames, but they cannot be found */
};

/* The frame that a walk has reached. */
struct frame {
	u64 pc, sp, fp;
	/*
	 * An address in the instruction that the frame executes: pc itself in code that was
	 * interrupted, pc - 1, which belongs to the call, where pc is a return address.
	 */
	u64 insn;
	u64 rule;
	u64 is_first;	 /* the registers in regs are this frame's */
	u64 is_doubtful; /* some frame may be missing: rules were guessed */
	u64 pair[2];	 /* what was read last */
	u64 regs[FRAME_NREGS];
	/*
	 * In walks that restore registers (frame_restore()): bits of the words of regs that are
	 * this frame's, and what the step that follows has to know of this frame.
	 */
	u64 known, saved, left_kind, left_sp, left_fp;
	/*
	 * The callee was found by a rule of UNWIND_CARRY if carried_sp is this frame's stack
	 * pointer. carried_at is then where the carried register was saved; 0: it is in regs.
	 */
	u64 carried_at, carried_sp;
};

#define FRAME_FUNC static inline __attribute__((always_inline, unused))

/* ---- whose stack it is ----------------------------------------------------------------------- */

struct frame_env;
/* Reads user memory; false if it is not there. size is a constant of at most 16. */
FRAME_FUNC u64 env_read(struct frame_env *env, u64 *dst, u64 addr, u32 size);
/* Reads the two words at addr, which lies on the stack, to f->pair; false if they are not there. */
FRAME_FUNC u64 env_read_pair(struct frame_env *env, struct frame *f, u64 addr);
/* Returns the rule at f->insn: what frame_rule() makes of the row there. */
FRAME_FUNC u64 env_rule(struct frame_env *env, struct frame *f);
/* Returns frame_rare_cfa(env, f, rule), maybe by way of a function that is not inline. */
FRAME_FUNC u64 env_rare_cfa(struct frame_env *env, struct frame *f, u64 rule);

/* ---- what an architecture defines ------------------------------------------------------------ */

/* True if the registers are those of a 32-bit program. */
FRAME_FUNC u64 frame_is_32(const struct frame *f);
/*
 * True for the registers with which a child comes out of the system call that made it. If it has a
 * stack of its own, as threads have, its first frame has no caller.
 */
FRAME_FUNC u64 frame_is_newborn(struct frame_env *env, struct frame *f);
/* True for code without a row that returns from a signal handler. */
FRAME_FUNC u64 frame_is_sigreturn(struct frame_env *env, struct frame *f);
/*
 * True for the code to which a function of makecontext() returns. It is the outermost frame,
 * although its row says that another function called it.
 */
FRAME_FUNC u64 frame_is_start_context(struct frame_env *env, struct frame *f);
/* Makes f, which returns from a signal handler, the frame that the signal interrupted. */
FRAME_FUNC u64 frame_leave_signal(struct frame_env *env, struct frame *f);
/*
 * After that step, whose frame had the stack pointer f->left_sp: reads the callee-saved registers
 * to f->regs. False if they are not there.
 */
FRAME_FUNC u64 frame_restore_signal(struct frame_env *env, struct frame *f);
/* Returns the CFA by a rule of UNWIND_PLT; 0 if there is none. */
FRAME_FUNC u64 frame_plt_cfa(const struct frame *f, u64 rule);
/*
 * Returns a rule for the first frame where its rule is RULE_PENDING or RULE_NO_TABLE: f->rule,
 * which leads on by frame pointer, but in the first instructions of a function and at its return.
 * There the frame pointer is still, or again, the caller's; what is guessed while rows are pending
 * makes f doubtful. is_edge says that the frame is known to be at one of these places.
 */
FRAME_FUNC u64 frame_first_rule(struct frame_env *env, struct frame *f, u64 is_edge);
/*
 * The walk of a 32-bit task. Functions that keep no frame pointers are missing from it without any
 * sign, so it is always doubtful.
 */
FRAME_FUNC void frame32_begin(struct frame *f);
FRAME_FUNC enum walk_end frame32_step(struct frame_env *env, struct frame *f, u64 is_edge);
