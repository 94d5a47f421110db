/* SPDX-License-Identifier: MIT */
/*
 * The x86-64 side of the frame step (arch/step.h), which says how a frame leads to its caller's: in
 * code without unwind rows, through signal frames, on the stacks of 32-bit programs.
 *
 * Facts    SysV AMD64 ABI 3.2.2 (frames), 3.4.1 (rbp of the outermost frame is zero). Linux
 *          arch/x86/include/asm/segment.h (__USER_CS).
 */
#pragma once

#include "arch/frame.h"

#define FRAME_CS_64  0x33 /* __USER_CS: the task executes 64-bit code */
#define FRAME_CLONE  56	  /* numbers of system calls: arch/x86_64/syscalls.def */
#define FRAME_CLONE3 435

FRAME_FUNC u64 frame_is_32(const struct frame *f)
{
	return f->regs[FRAME_CS] != FRAME_CS_64;
}

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

/* True for the code mov %rbx, %rsp; mov (%rsp), %rdi. */
FRAME_FUNC u64 frame_is_start_context(struct frame_env *env, struct frame *f)
{
	f->pair[0] = 0;
	return env_read(env, f->pair, f->pc, 8) && f->pair[0] == 0x48243c8b48dc8948ull;
}

/*
 * The number of the system call is in the registers, unless an interrupt has come since; then the
 * code before says it: mov $number, %eax; syscall.
 */
FRAME_FUNC u64 frame_is_newborn(struct frame_env *env, struct frame *f)
{
	u64 call = f->regs[FRAME_SYSCALL];

	if (f->regs[FRAME_RESULT] != 0)
		return 0;
	if (call == FRAME_CLONE || call == FRAME_CLONE3)
		return 1;
	f->pair[0] = 0;
	(void)env_read(env, f->pair, f->regs[FRAME_PC] - 7, 8);
	call = f->pair[0] & 0xffffffffffffffull; /* 7 bytes */
	return call == 0x050f00000000b8ull + ((u64)FRAME_CLONE << 8) ||
	       call == 0x050f00000000b8ull + ((u64)FRAME_CLONE3 << 8);
}

/* ---- signal frames: the registers are in the ucontext at rsp --------------------------------- */

FRAME_FUNC u64 frame_leave_signal(struct frame_env *env, struct frame *f)
{
	u64 uc = f->sp;

	if (!env_read(env, &f->fp, uc + UCONTEXT_BP, 8) ||
	    !env_read(env, f->pair, uc + UCONTEXT_SP, 16))
		return 0;
	f->sp = f->pair[0];
	f->pc = f->insn = f->pair[1];
	f->carried_at = uc + UCONTEXT_BX;
	f->carried_sp = f->sp;
	return f->pc != 0;
}

FRAME_FUNC u64 frame_restore_signal(struct frame_env *env, struct frame *f)
{
	u64 uc = f->left_sp;

	if (!env_read(env, f->pair, uc + UCONTEXT_R12, 16))
		return 0;
	f->regs[3] = f->pair[0];
	f->regs[2] = f->pair[1];
	if (!env_read(env, f->pair, uc + UCONTEXT_R12 + 16, 16))
		return 0;
	f->regs[1] = f->pair[0];
	f->regs[0] = f->pair[1];
	return env_read(env, &f->regs[FRAME_BX], uc + UCONTEXT_BX, 8);
}

/* ---- code of the procedure linkage table ----------------------------------------------------- */

/* CFA = rsp + 8, or + 16 from the byte of a 16-byte entry on that the rule has. */
FRAME_FUNC u64 frame_plt_cfa(const struct frame *f, u64 rule)
{
	return f->sp + ((f->pc & 15) * 8 >= (u64)RULE_CFA(rule) ? 16 : 8);
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

FRAME_FUNC u64 frame_first_rule(struct frame_env *env, struct frame *f, u64 is_edge)
{
	u64 at = frame_first_return(env, f, is_edge, 8);

	if (!at)
		return f->rule;
	f->is_doubtful |= RULE_KIND(f->rule) == RULE_PENDING;
	return UNWIND_SP | ((at - f->sp) / 8 + 1) << 12;
}

/* ---- 32-bit tasks: by frame pointer --------------------------------------------------------- */

FRAME_FUNC void frame32_begin(struct frame *f)
{
	f->pc = (u32)f->pc;
	f->sp = (u32)f->sp;
	f->fp = (u32)f->fp;
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
		if (f->fp < f->sp || !env_read(env, f->pair, f->fp, 8))
			return WALK_CUT;
		f->sp = f->fp + 8;
		f->fp = (u32)f->pair[0];
		f->pc = f->pair[0] >> 32;
	}
	return f->pc == 0 ? WALK_CUT : WALK_ON;
}
