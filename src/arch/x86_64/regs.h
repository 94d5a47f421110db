/* SPDX-License-Identifier: MIT */
/*
 * The registers of x86-64 that a walk of user stacks knows (arch/frame.h).
 *
 * Units    words of struct pt_regs.
 * Facts    Linux arch/x86/include/uapi/asm/: ptrace-abi.h, ucontext.h, sigcontext.h.
 */
#pragma once

enum {
	FRAME_FP = 4, /* rbp */
	FRAME_BX = 5,
	FRAME_RESULT = 10,  /* rax */
	FRAME_SYSCALL = 15, /* orig_rax: the number of the system call */
	FRAME_PC = 16,	    /* rip */
	FRAME_CS = 17,
	FRAME_SP = 19, /* rsp */
	FRAME_NREGS = 21,
};
/* Byte offsets of registers in ucontext_t. */
enum {
	UCONTEXT_R12 = 72,
	UCONTEXT_BP = 120,
	UCONTEXT_BX = 128,
	UCONTEXT_SP = 160,
	UCONTEXT_IP = 168
};
/* The callee-saved registers of rules, other than rbp: r15, r14, r13, r12, rbx. */
#define FRAME_NSAVED	    5
#define FRAME_SAVED_WORD(i) ((i) + ((i) >> 2))
#define FRAME_SAVED_WORDS   0x2full /* bits: these words */
/* glibc sysdeps/x86_64/dl-trampoline.h keeps the stack pointer in rbx. */
#define FRAME_CARRIED FRAME_BX
/* A call stores the return address just below the CFA. */
#define FRAME_RA_ABOVE_FP 0
/* A function with a frame pointer has pushed the caller's below the return address. */
#define FRAME_FP_CFA	 16
#define FRAME_PAGE_SHIFT 12 /* Linux arch/x86/include/asm/page_types.h */
