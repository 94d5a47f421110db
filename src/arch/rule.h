/* SPDX-License-Identifier: MIT */
/*
 * Rules of the stack walk: a row of unwind information (image/ehframe.h) in 32 bits.
 *
 * The kernel's side and the host's side walk by the same rules (arch/step.h). sp and fp are the
 * stack pointer and the frame pointer.
 */
#pragma once

#include "base/ints.h"

/* How the CFA of a frame is found. */
enum unwind_cfa {
	UNWIND_NONE, /* not known: no code, or code without call frame information */
	UNWIND_SP,   /* CFA = sp + cfa */
	UNWIND_FP,   /* CFA = fp + cfa */
	/*
	 * CFA = register reg + cfa; only the interrupted frame has its value, and the caller of a
	 * frame of UNWIND_CARRY that of the carried register
	 */
	UNWIND_REG,
	/*
	 * CFA = *(sp + off + 8 * register) + plus (RULE_DEREF()): assembler code that aligned its
	 * stack, or that has room on it by a number
	 */
	UNWIND_SP_DEREF,
	UNWIND_FP_DEREF, /* the same with fp: compiled code that aligned its stack */
	UNWIND_PLT,	 /* frame_plt_cfa(): code of the procedure linkage table */
	/* return from a signal handler: the registers are in the ucontext */
	UNWIND_SIGNAL,
	UNWIND_END, /* the outermost frame, which nobody called */
	/*
	 * CFA = sp + cfa, and the return address is in register reg, which only the interrupted
	 * frame has: vfork() of the C library on x86-64, leaf functions elsewhere
	 */
	UNWIND_IN_REG,
	UNWIND_SAVED, /* no rule of a frame: where the callee-saved registers are (below) */
	/* as UNWIND_SP or UNWIND_FP; it also says where the carried register is (below) */
	UNWIND_CARRY,
	UNWIND_NKINDS,
	/* These are no kinds of rows: an address has them when the rows of its file are missing. */
	/*
	 * Memory that is not executable now, and may be a JIT compiler's that writes to it: a frame
	 * if a helper says so (rt/unwind.c), else as RULE_NO_CODE.
	 */
	RULE_DATA = 12,
	RULE_PENDING = 13, /* the rows are not there yet: as RULE_NO_TABLE, but doubtful */
	RULE_NO_TABLE,	   /* code without rows: try the frame pointer */
	RULE_NO_CODE,	   /* memory that is not executable, or none */
};

/*
 * A rule in 32 bits:
 *     kind    4 bits: enum unwind_cfa
 *     fp      8 bits: 0 = unchanged, n = saved at CFA - 8n, RULE_AT_FP = saved at *fp
 *     cfa    20 bits, signed, in words; UNWIND_REG, UNWIND_IN_REG: word of struct pt_regs (5
 *            bits), distance (15 bits)
 */
#define RULE_KIND(rule)	   ((rule)&15)
#define RULE_FP(rule)	   ((rule) >> 4 & 255)
#define RULE_CFA(rule)	   ((s64)((s32)(rule) >> 12) * 8)
#define RULE_AT_FP	   255u
#define RULE_REG(rule)	   ((rule) >> 12 & 31)
#define RULE_REG_CFA(rule) ((s64)((s32)(rule) >> 17) * 8)

/*
 * In the place of cfa, of UNWIND_SP_DEREF and UNWIND_FP_DEREF:
 *     reg     5 bits: RULE_NO_REG, or a word of struct pt_regs, which only the interrupted frame
 *             has
 *     plus    4 bits, in words
 *     off    11 bits, signed, in words
 */
#define RULE_NO_REG		   31u
#define RULE_DEREF_OFF(rule)	   ((s64)((s32)(rule) >> 21) * 8)
#define RULE_DEREF_PLUS(rule)	   (((rule) >> 17 & 15) * 8)
#define RULE_DEREF(reg, plus, off) ((u32)(reg) | (u32)(plus) / 8 << 5 | (u32)((off) / 8) << 9)
#define RULE_DEREF_PLUS_MAX	   (15 * 8)
#define RULE_DEREF_OFF_MAX	   (1023 * 8)

/*
 * The carried register (arch_unwind.carried) is the callee-saved register by which assembler code
 * finds its frame while it calls C: _dl_runtime_resolve() of the dynamic linker, which has aligned
 * its stack for vector registers. Rows of files that have such code, which are also programs that
 * were linked statically, are of the kind UNWIND_CARRY where they can be, so that the register is
 * known in the caller of C that has saved it. In the place of cfa:
 *     where   5 bits, as below
 *     base    1 bit: CFA = sp + cfa (0) or fp + cfa (1)
 *     cfa    14 bits, signed, in words
 */
#define RULE_CARRIED(rule)   RULE_REG(rule)
#define RULE_CARRY_FP	     (1u << 17)
#define RULE_CARRY_CFA(rule) ((s64)((s32)(rule) >> 18) * 8)

/*
 * Where the callee-saved registers of the caller are, other than fp: those that the architecture
 * names (arch_unwind.saved), with 5 bits each, behind the kind UNWIND_SAVED:
 *     0           unchanged
 *     1 to 24     saved at CFA - 8n
 *     25 to 30    saved at fp - 8(n - 24), where fp is the frame's own, before it is left
 *     31          not known
 */
#define RULE_NSAVED	    5
#define RULE_SAVED(rule, i) ((rule) >> (4 + 5 * (i)) & 31)
#define RULE_SAVED_FAR	    24
#define RULE_SAVED_LOST	    31
