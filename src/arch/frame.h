/* SPDX-License-Identifier: MIT */
/*
 * The frame step: how the frame of a user stack leads to the frame of its caller, on x86-64.
 *
 * The step is written once. clang compiles it for the kernel, where rt/unwind.c walks the stack
 * of the current task, and the C compiler for the host, where unwind/walk.c walks the stack of a
 * stopped process. So both give the same frames of the same memory.
 *
 * Each frame leads to its caller's frame by a rule (arch/rule.h), which depends on the instruction
 * that the frame executes:
 *
 *     CFA = rsp + 48              what rsp was before the call of this function
 *     return address at CFA - 8   where the caller goes on; its rsp is the CFA
 *     rbp at CFA - 16             if the function saved it, for callers whose CFA depends on rbp
 *
 * Most rules come from the rows of .eh_frame (image/ehframe.h). Code without rows (generated code,
 * assembler) is walked by frame pointer, if rbp is plausible and if what it leads to is executable.
 *
 * A file that includes this one defines struct frame_env, which says whose stack is walked, and the
 * four functions env_...() that are declared below. The step knows nothing else of the memory that
 * it walks through, and trusts nothing that it reads there: the worst that hostile memory can do is
 * a walk of wrong frames that ends at the number of frames asked for.
 *
 * Units    addresses in bytes. Registers are words of struct pt_regs, which struct user_regs_struct
 *          of ptrace() and of core files begins with in the same order.
 * Facts    SysV AMD64 ABI 3.2.2 (frames), 3.4.1 (rbp of the outermost frame is zero). Linux
 *          arch/x86/include/uapi/asm/ptrace-abi.h (order of registers), ucontext.h, sigcontext.h
 *          (signal frames), arch/x86/include/asm/segment.h (__USER_CS).
 */
#pragma once

#include "arch/rule.h"

/* ---- frames --------------------------------------------------------------------------------- */

/* Words of struct pt_regs. */
enum {
	FRAME_BP = 4,
	FRAME_BX = 5,
	FRAME_IP = 16,
	FRAME_CS = 17,
	FRAME_SP = 19,
	FRAME_NREGS = 21,
};
/* The word of a callee-saved register; i counts as in arch/rule.h. */
#define FRAME_SAVED_WORD(i) ((i) + ((i) >> 2))
#define FRAME_SAVED_WORDS   0x2full /* bits: these words */
#define FRAME_OWN_WORDS	    (1ull << FRAME_BP | 1ull << FRAME_SP | 1ull << FRAME_IP)
#define FRAME_ALL_WORDS	    ((1ull << FRAME_NREGS) - 1)
#define FRAME_CS_64	    0x33 /* __USER_CS: the task executes 64-bit code */
/* Byte offsets of rbp, rsp and rip in ucontext_t. */
enum {
	UCONTEXT_R12 = 72,
	UCONTEXT_BP = 120,
	UCONTEXT_BX = 128,
	UCONTEXT_SP = 160,
	UCONTEXT_IP = 168
};

enum walk_end {
	WALK_ON,       /* the frame is known */
	WALK_COMPLETE, /* the frame before was the outermost one */
	WALK_CUT,      /* there are more frames, but they cannot be found */
};

/* The frame that a walk has reached. */
struct frame {
	u64 pc, sp, bp;
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
	u64 known, saved, left_kind, left_sp, left_bp;
};

#define FRAME_FUNC static inline __attribute__((always_inline, unused))

struct frame_env;
/* Reads user memory; false if it is not there. size is a constant of at most 16. */
FRAME_FUNC u64 env_read(struct frame_env *env, u64 *dst, u64 addr, u32 size);
/* Reads the two words at addr, which lies on the stack, to f->pair; false if they are not there. */
FRAME_FUNC u64 env_read_pair(struct frame_env *env, struct frame *f, u64 addr);
/* Returns the rule at f->insn: what frame_rule() makes of the row there. */
FRAME_FUNC u64 env_rule(struct frame_env *env, struct frame *f);
/* Returns frame_rare_cfa(env, f, rule), maybe by way of a function that is not inline. */
FRAME_FUNC u64 env_rare_cfa(struct frame_env *env, struct frame *f, u64 rule);

/*
 * True for the code mov $15, %rax; syscall, which calls rt_sigreturn() in C libraries without rows
 * for it.
 */
FRAME_FUNC u64 frame_is_sigreturn(struct frame_env *env, struct frame *f)
{
	f->pair[0] = f->pair[1] = 0;
	return env_read(env, f->pair, f->pc, 9) && f->pair[0] == 0x0f0000000fc0c748ull &&
	       f->pair[1] == 0x05;
}

/*
 * True for the code mov %rbx, %rsp; mov (%rsp), %rdi, to which a function of makecontext() returns.
 * It is the outermost frame, although its row says that another function called it.
 */
FRAME_FUNC u64 frame_is_start_context(struct frame_env *env, struct frame *f)
{
	f->pair[0] = 0;
	return env_read(env, f->pair, f->pc, 8) && f->pair[0] == 0x48243c8b48dc8948ull;
}

/* Returns the rule of a frame whose row says row, or that has one of the RULE_ kinds. */
FRAME_FUNC u64 frame_rule(struct frame_env *env, struct frame *f, u64 row)
{
	if (RULE_KIND(row) == UNWIND_NONE)
		row = RULE_NO_TABLE;
	if (RULE_KIND(row) == RULE_NO_TABLE && frame_is_sigreturn(env, f))
		return UNWIND_SIGNAL;
	if (f->insn != f->pc && frame_is_start_context(env, f))
		return UNWIND_END;
	return row;
}

/* Makes f the frame that a signal interrupted: its registers are in the ucontext at rsp. */
FRAME_FUNC u64 frame_leave_signal(struct frame_env *env, struct frame *f)
{
	u64 uc = f->sp;

	if (!env_read(env, &f->bp, uc + UCONTEXT_BP, 8) ||
	    !env_read(env, f->pair, uc + UCONTEXT_SP, 16))
		return 0;
	f->sp = f->pair[0];
	f->pc = f->insn = f->pair[1];
	return f->pc != 0;
}

/* Returns the CFA by a rule that is neither UNWIND_RSP nor UNWIND_RBP; 0 if there is none. */
FRAME_FUNC u64 frame_rare_cfa(struct frame_env *env, struct frame *f, u64 rule)
{
	u64 cfa = 0;

	switch (RULE_KIND(rule)) {
	case UNWIND_RSP_DEREF:
		return env_read(env, &cfa, f->sp + (u64)RULE_CFA(rule), 8) ? cfa + 8 : 0;
	case UNWIND_RBP_DEREF: return env_read(env, &cfa, f->bp + (u64)RULE_CFA(rule), 8) ? cfa : 0;
	case UNWIND_PLT: return f->sp + ((f->pc & 15) * 8 >= (u64)RULE_CFA(rule) ? 16 : 8);
	case UNWIND_REG: {
		u64 reg = RULE_REG(rule);

		if (!f->is_first || reg >= FRAME_NREGS)
			return 0;
		return f->regs[reg] + (u64)RULE_REG_CFA(rule);
	}
	default: /* by frame pointer */
		f->is_doubtful |= RULE_KIND(rule) == RULE_PENDING;
		return f->bp >= f->sp && !(f->bp & 7) ? f->bp + 16 : 0;
	}
}

/* Makes f the caller's frame from what lies below the CFA; false if that memory is not there. */
FRAME_FUNC u64 frame_leave(struct frame_env *env, struct frame *f, u64 rule, u64 cfa)
{
	u64 rbp = RULE_RBP(rule);

	if (RULE_KIND(rule) >= RULE_PENDING)
		rbp = 2;
	if (rbp == 2) { /* just below the return address, as in all code with frame pointers */
		if (!env_read_pair(env, f, cfa - 16))
			return 0;
		f->bp = f->pair[0];
	} else {
		if (!env_read_pair(env, f, cfa - 16) && !env_read(env, &f->pair[1], cfa - 8, 8))
			return 0;
		if (rbp && !env_read(env, &f->bp, rbp == RULE_AT_RBP ? f->bp : cfa - 8 * rbp, 8))
			return 0;
	}
	f->sp = cfa;
	f->pc = f->pair[1];
	f->insn = f->pc - 1;
	return 1;
}

/* The same where the return address is in a register, which only the first frame has. */
FRAME_FUNC u64 frame_leave_by_register(struct frame *f, u64 rule)
{
	u64 reg = RULE_REG(rule);

	if (!f->is_first || reg >= FRAME_NREGS)
		return 0;
	f->sp += (u64)RULE_REG_CFA(rule);
	f->pc = f->regs[reg];
	f->insn = f->pc - 1;
	return 1;
}

/* The step: makes f, whose rule is known, the caller's frame, whose rule is known then. */
FRAME_FUNC enum walk_end frame_step(struct frame_env *env, struct frame *f)
{
	u64 rule = f->rule, kind = RULE_KIND(rule), cfa;

	if (kind == UNWIND_END)
		return WALK_COMPLETE;
	if (kind == RULE_DATA)
		return WALK_CUT;
	if (kind == UNWIND_SIGNAL) {
		if (!frame_leave_signal(env, f))
			return WALK_CUT;
	} else if (kind == UNWIND_IN_REG) {
		if (!frame_leave_by_register(f, rule))
			return WALK_CUT;
	} else {
		if (kind == UNWIND_RSP)
			cfa = f->sp + (u64)RULE_CFA(rule);
		else if (kind == UNWIND_RBP)
			cfa = f->bp + (u64)RULE_CFA(rule);
		else
			cfa = env_rare_cfa(env, f, rule);
		if (cfa <= f->sp || !frame_leave(env, f, rule, cfa))
			return kind >= RULE_PENDING && f->bp == 0 ? WALK_COMPLETE : WALK_CUT;
	}
	if (f->pc == 0)
		return WALK_COMPLETE;
	f->is_first = 0;
	f->rule = env_rule(env, f);
	return f->rule == RULE_NO_CODE ? WALK_CUT : WALK_ON;
}

/*
 * True if pc is the next instruction of the frame, and no return address behind a call: the frame
 * was interrupted, or a signal handler returns to its start.
 */
FRAME_FUNC u64 frame_is_exact(const struct frame *f)
{
	return f->insn == f->pc || RULE_KIND(f->rule) == UNWIND_SIGNAL;
}

/* ---- callee-saved registers ------------------------------------------------------------------
 *
 * Ustack helpers of runtimes that keep their state in a callee-saved register want the registers
 * of outer frames. A walk for such a helper calls frame_keep() before each step, with the rule of
 * kind UNWIND_SAVED at f->insn, and frame_restore() behind the step: then f->regs has the
 * callee-saved registers of the caller, rsp and rip. f->known says which ones are known: code
 * without rows leads to a caller whose callee-saved registers are not.
 */
FRAME_FUNC void frame_keep(struct frame *f, u64 saved)
{
	f->saved = saved;
	f->left_kind = RULE_KIND(f->rule);
	f->left_sp = f->sp;
	f->left_bp = f->bp;
}

/* Restores the registers that a signal has interrupted. */
FRAME_FUNC void frame_restore_signal(struct frame_env *env, struct frame *f)
{
	u64 uc = f->left_sp;

	f->known = FRAME_OWN_WORDS;
	if (!env_read(env, f->pair, uc + UCONTEXT_R12, 16))
		return;
	f->regs[3] = f->pair[0];
	f->regs[2] = f->pair[1];
	if (!env_read(env, f->pair, uc + UCONTEXT_R12 + 16, 16))
		return;
	f->regs[1] = f->pair[0];
	f->regs[0] = f->pair[1];
	if (env_read(env, &f->regs[FRAME_BX], uc + UCONTEXT_BX, 8))
		f->known |= FRAME_SAVED_WORDS;
}

/* Restores register i of the rule; the step has left the CFA in f->sp. */
FRAME_FUNC void frame_restore_saved(struct frame_env *env, struct frame *f, u32 i)
{
	u64 n = RULE_SAVED(f->saved, i), word = FRAME_SAVED_WORD(i);
	u64 at = n > RULE_SAVED_FAR ? f->left_bp - 8 * (n - RULE_SAVED_FAR) : f->sp - 8 * n;

	if (!n)
		return;
	f->known &= ~(1ull << word);
	if (n == RULE_SAVED_LOST || !env_read_pair(env, f, at))
		return;
	f->regs[word] = f->pair[0];
	f->known |= 1ull << word;
}

FRAME_FUNC void frame_restore(struct frame_env *env, struct frame *f)
{
	f->regs[FRAME_BP] = f->bp;
	f->regs[FRAME_SP] = f->sp;
	f->regs[FRAME_IP] = f->pc;
	f->known = (f->known & FRAME_SAVED_WORDS) | FRAME_OWN_WORDS;
	if (f->left_kind == UNWIND_SIGNAL) {
		frame_restore_signal(env, f);
		return;
	}
	if (f->left_kind >= RULE_PENDING || RULE_KIND(f->saved) != UNWIND_SAVED) {
		f->known = FRAME_OWN_WORDS;
		return;
	}
	/* Linux 6.1 refuses the loop that clang makes of these five calls. */
	frame_restore_saved(env, f, 0);
	frame_restore_saved(env, f, 1);
	frame_restore_saved(env, f, 2);
	frame_restore_saved(env, f, 3);
	frame_restore_saved(env, f, 4);
}

/* Makes f the frame whose registers are f->regs; its rule is not known then. */
FRAME_FUNC void frame_begin(struct frame *f)
{
	f->pc = f->insn = f->regs[FRAME_IP];
	f->sp = f->regs[FRAME_SP];
	f->bp = f->regs[FRAME_BP];
	f->is_first = 1;
	f->is_doubtful = 0;
	f->known = FRAME_ALL_WORDS;
}

/* ---- the first frame of code without rows --------------------------------------------------- */

/* True for mov rsp, rbp in either encoding; 32-bit code has no prefix. */
FRAME_FUNC u64 frame_is_mov(u64 code, u64 word)
{
	if (word == 8 && (code & 0xff) != 0x48)
		return 0;
	code = word == 8 ? code >> 8 : code;
	return (code & 0xffff) == 0xe589 || (code & 0xffff) == 0xec8b;
}

/*
 * True for push rbp, with or without an endbr before it. An endbr alone does not mark the begin of
 * a function: setjmp() returns to one.
 */
FRAME_FUNC u64 frame_is_push(u64 code)
{
	if ((code & 0xfeffffff) == 0xfa1e0ff3)
		code >>= 32;
	return (code & 0xff) == 0x55;
}

/*
 * Returns the address of the first frame's return address while rbp is still, or again, the
 * caller's: in the first instructions of a function, at its ret, and in the 32-bit vDSO's system
 * call. Returns 0 if the frame pointer leads to the return address. word is the size of an address,
 * 4 or 8; is_edge says that the frame is known to be at the first instruction of a function or at
 * its ret.
 */
FRAME_FUNC u64 frame_first_return(struct frame_env *env, struct frame *f, u64 is_edge, u64 word)
{
	u64 code;

	if (is_edge)
		return f->sp;
	f->pair[0] = 0;
	(void)env_read(env, f->pair, f->pc, 8);
	code = f->pair[0];
	if (frame_is_push(code) || (code & 0xff) == 0xc3) /* ret */
		return f->sp;
	if (frame_is_mov(code, word))
		return f->sp + word;
	/* pop ebp; pop edx; pop ecx; ret */
	return word == 4 && (code & 0xffffffff) == 0xc3595a5d ? f->sp + 12 : 0;
}

/* Returns a rule for the first frame where its rule is RULE_PENDING or RULE_NO_TABLE. */
FRAME_FUNC u64 frame_first_rule(struct frame_env *env, struct frame *f, u64 is_edge)
{
	u64 at = frame_first_return(env, f, is_edge, 8);

	if (!at)
		return f->rule;
	f->is_doubtful |= RULE_KIND(f->rule) == RULE_PENDING;
	return UNWIND_RSP | ((at - f->sp) / 8 + 1) << 12;
}

/* ---- 32-bit tasks: by frame pointer --------------------------------------------------------- */

/*
 * Begins the walk of a 32-bit task. Functions that keep no frame pointers are missing from the walk
 * without any sign, so the walk is always doubtful.
 */
FRAME_FUNC void frame32_begin(struct frame *f)
{
	f->pc = (u32)f->pc;
	f->sp = (u32)f->sp;
	f->bp = (u32)f->bp;
	f->is_doubtful = 1;
}

FRAME_FUNC enum walk_end frame32_step(struct frame_env *env, struct frame *f, u64 is_edge)
{
	u64 at = f->is_first ? frame_first_return(env, f, is_edge, 4) : 0;

	f->is_first = 0;
	f->pair[0] = 0;
	if (at) {
		if (!env_read(env, f->pair, at, 4))
			return WALK_CUT;
		f->pc = f->pair[0];
		f->sp = at + 4;
	} else {
		if (f->bp < f->sp || !env_read(env, f->pair, f->bp, 8))
			return WALK_CUT;
		f->sp = f->bp + 8;
		f->bp = (u32)f->pair[0];
		f->pc = f->pair[0] >> 32;
	}
	return f->pc == 0 ? WALK_CUT : WALK_ON;
}
