/* SPDX-License-Identifier: MIT */
/* What the frame step (arch/step.h) has to know of the dummy, which has no 32-bit programs. */
#pragma once

#include "arch/frame.h"

/* Opcodes of 8 bytes. */
enum { DUMMY_SIGRETURN = 0x51, DUMMY_START = 0x57, DUMMY_ENTER = 0xe7, DUMMY_RETURN = 0x7e };
/* Byte offsets in a signal frame, from the stack pointer on. */
enum { DUMMY_SIGNAL_FP = 0, DUMMY_SIGNAL_SP = 8, DUMMY_SIGNAL_PC = 16, DUMMY_SIGNAL_R5 = 24 };

FRAME_FUNC u64 frame_is_32(const struct frame *f)
{
	return 0;
}

FRAME_FUNC u64 frame_is_newborn(struct frame_env *env, struct frame *f)
{
	return 0;
}

FRAME_FUNC u64 dummy_opcode(struct frame_env *env, struct frame *f)
{
	f->pair[0] = 0;
	(void)env_read(env, f->pair, f->pc, 8);
	return f->pair[0];
}

FRAME_FUNC u64 frame_is_sigreturn(struct frame_env *env, struct frame *f)
{
	return dummy_opcode(env, f) == DUMMY_SIGRETURN;
}

FRAME_FUNC u64 frame_is_start_context(struct frame_env *env, struct frame *f)
{
	return dummy_opcode(env, f) == DUMMY_START;
}

FRAME_FUNC u64 frame_leave_signal(struct frame_env *env, struct frame *f)
{
	u64 at = f->sp;

	if (!env_read(env, &f->fp, at + DUMMY_SIGNAL_FP, 8) ||
	    !env_read(env, f->pair, at + DUMMY_SIGNAL_SP, 16))
		return 0;
	f->sp = f->pair[0];
	f->pc = f->insn = f->pair[1];
	return f->pc != 0;
}

FRAME_FUNC u64 frame_restore_signal(struct frame_env *env, struct frame *f)
{
	return env_read(env, &f->regs[5], f->left_sp + DUMMY_SIGNAL_R5, 8) &&
	       env_read(env, &f->regs[6], f->left_sp + DUMMY_SIGNAL_R5 + 8, 8) &&
	       env_read(env, &f->regs[7], f->left_sp + DUMMY_SIGNAL_R5 + 16, 8);
}

FRAME_FUNC u64 frame_plt_cfa(const struct frame *f, u64 rule)
{
	return 0;
}

FRAME_FUNC u64 frame_first_rule(struct frame_env *env, struct frame *f, u64 is_edge)
{
	u64 opcode = is_edge ? DUMMY_RETURN : dummy_opcode(env, f);

	if (opcode != DUMMY_ENTER && opcode != DUMMY_RETURN)
		return f->rule;
	f->is_doubtful |= RULE_KIND(f->rule) == RULE_PENDING;
	return UNWIND_IN_REG | FRAME_LINK << 12;
}

FRAME_FUNC void frame32_begin(struct frame *f)
{
}

FRAME_FUNC enum walk_end frame32_step(struct frame_env *env, struct frame *f, u64 is_edge)
{
	return WALK_CUT;
}
