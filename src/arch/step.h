/* SPDX-License-Identifier: MIT */
/*
 * The frame step: how the frame of a user stack leads to the frame of its caller.
 *
 * Each frame leads to its caller's frame by a rule (arch/rule.h), which depends on the instruction
 * that the frame executes:
 *
 *     CFA = sp + 48               what the stack pointer was before the call of this function
 *     return address at CFA - 8   where the caller goes on; its stack pointer is the CFA
 *     fp at CFA - 16              if the function saved it, for callers whose CFA depends on it
 *
 * Most rules come from the rows of .eh_frame (image/ehframe.h). Code without rows (generated code,
 * assembler) is walked by frame pointer, if that is plausible and if what it leads to is
 * executable.
 */
#pragma once

#include "arch/frame.h"
#include "arch/machine/frame.h"

/* ---- frames --------------------------------------------------------------------------------- */

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

/* Returns the CFA by a rule of UNWIND_CARRY, and notes where the caller's carried register is. */
FRAME_FUNC u64 frame_carry(struct frame *f, u64 rule)
{
	u64 cfa = (rule & RULE_CARRY_FP ? f->fp : f->sp) + (u64)RULE_CARRY_CFA(rule);
	u64 n = RULE_CARRIED(rule), is_known = n || f->is_first || f->carried_sp == f->sp;

	if (n)
		f->carried_at = n > RULE_SAVED_FAR ? f->fp - 8 * (n - RULE_SAVED_FAR) : cfa - 8 * n;
	f->carried_sp = is_known ? cfa : 0;
	return cfa;
}

/* Returns the CFA by a rule of UNWIND_REG; 0 if the register is not known. */
FRAME_FUNC u64 frame_reg_cfa(struct frame_env *env, struct frame *f, u64 rule)
{
	u64 reg = RULE_REG(rule), value = 0;

	if (reg >= FRAME_NREGS)
		return 0;
	if (!f->is_first && (reg != FRAME_CARRIED || f->carried_sp != f->sp))
		return 0;
	if (f->is_first || !f->carried_at)
		value = f->regs[reg];
	else if (!env_read(env, &value, f->carried_at, 8))
		return 0;
	return value + (u64)RULE_REG_CFA(rule);
}

/* Returns the CFA by a rule of UNWIND_SP_DEREF or UNWIND_FP_DEREF; 0 if it is not there. */
FRAME_FUNC u64 frame_deref_cfa(struct frame_env *env, struct frame *f, u64 rule, u64 base)
{
	u64 reg = RULE_REG(rule), cfa = 0;

	if (reg < FRAME_NREGS) {
		if (!f->is_first)
			return 0;
		base += 8 * f->regs[reg];
	}
	return env_read(env, &cfa, base + (u64)RULE_DEREF_OFF(rule), 8)
		       ? cfa + RULE_DEREF_PLUS(rule)
		       : 0;
}

/* Returns the CFA by a rule that is neither UNWIND_SP nor UNWIND_FP; 0 if there is none. */
FRAME_FUNC u64 frame_rare_cfa(struct frame_env *env, struct frame *f, u64 rule)
{
	switch (RULE_KIND(rule)) {
	case UNWIND_SP_DEREF: return frame_deref_cfa(env, f, rule, f->sp);
	case UNWIND_FP_DEREF: return frame_deref_cfa(env, f, rule, f->fp);
	case UNWIND_PLT: return frame_plt_cfa(f, rule);
	case UNWIND_REG: return frame_reg_cfa(env, f, rule);
	case UNWIND_CARRY: return frame_carry(f, rule);
	default: /* by frame pointer */
		f->is_doubtful |= RULE_KIND(rule) == RULE_PENDING;
		return f->fp >= f->sp && !(f->fp & 7) ? f->fp + FRAME_FP_CFA : 0;
	}
}

/* Makes f the caller's frame from what lies below the CFA; false if that memory is not there. */
FRAME_FUNC u64 frame_leave(struct frame_env *env, struct frame *f, u64 rule, u64 cfa)
{
	u64 fp = RULE_FP(rule);

	if (RULE_KIND(rule) >= RULE_PENDING)
		fp = 2;
	if (FRAME_RA_ABOVE_FP) {
		if (!fp || !env_read_pair(env, f, cfa - 8 * fp))
			return 0;
		f->fp = f->pair[0];
	} else if (fp ==
		   2) { /* just below the return address, as in all code with frame pointers */
		if (!env_read_pair(env, f, cfa - 16))
			return 0;
		f->fp = f->pair[0];
	} else {
		if (!env_read_pair(env, f, cfa - 16) && !env_read(env, &f->pair[1], cfa - 8, 8))
			return 0;
		if (fp && !env_read(env, &f->fp, fp == RULE_AT_FP ? f->fp : cfa - 8 * fp, 8))
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
		if (kind == UNWIND_SP)
			cfa = f->sp + (u64)RULE_CFA(rule);
		else if (kind == UNWIND_FP)
			cfa = f->fp + (u64)RULE_CFA(rule);
		else
			cfa = env_rare_cfa(env, f, rule);
		if (cfa <= f->sp || !frame_leave(env, f, rule, cfa))
			return kind >= RULE_PENDING && f->fp == 0 ? WALK_COMPLETE : WALK_CUT;
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

/* Makes f the frame whose registers are f->regs; its rule is not known then. */
FRAME_FUNC void frame_begin(struct frame *f)
{
	f->pc = f->insn = f->regs[FRAME_PC];
	f->sp = f->regs[FRAME_SP];
	f->fp = f->regs[FRAME_FP];
	f->is_first = 1;
	f->is_doubtful = 0;
	f->known = FRAME_ALL_WORDS;
	f->carried_at = f->carried_sp = 0;
}

/* ---- callee-saved registers ------------------------------------------------------------------
 *
 * Ustack helpers of runtimes that keep their state in a callee-saved register want the registers
 * of outer frames. A walk for such a helper calls frame_keep() before each step, with the rule of
 * kind UNWIND_SAVED at f->insn, and frame_restore() behind the step: then f->regs has the
 * callee-saved registers of the caller, sp and pc. f->known says which ones are known: code
 * without rows leads to a caller whose callee-saved registers are not.
 */
FRAME_FUNC void frame_keep(struct frame *f, u64 saved)
{
	f->saved = saved;
	f->left_kind = RULE_KIND(f->rule);
	f->left_sp = f->sp;
	f->left_fp = f->fp;
}

/* Restores register i of the rule; the step has left the CFA in f->sp. */
FRAME_FUNC void frame_restore_saved(struct frame_env *env, struct frame *f, u32 i)
{
	u64 n = RULE_SAVED(f->saved, i), word = FRAME_SAVED_WORD(i);
	u64 at = n > RULE_SAVED_FAR ? f->left_fp - 8 * (n - RULE_SAVED_FAR) : f->sp - 8 * n;

	if (i >= FRAME_NSAVED || !n)
		return;
	f->known &= ~(1ull << word);
	if (n == RULE_SAVED_LOST || !env_read_pair(env, f, at))
		return;
	f->regs[word] = f->pair[0];
	f->known |= 1ull << word;
}

FRAME_FUNC void frame_restore(struct frame_env *env, struct frame *f)
{
	f->regs[FRAME_FP] = f->fp;
	f->regs[FRAME_SP] = f->sp;
	f->regs[FRAME_PC] = f->pc;
	f->known = (f->known & FRAME_SAVED_WORDS) | FRAME_OWN_WORDS;
	if (f->left_kind == UNWIND_SIGNAL) {
		f->known = FRAME_OWN_WORDS;
		if (frame_restore_signal(env, f))
			f->known |= FRAME_SAVED_WORDS;
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
