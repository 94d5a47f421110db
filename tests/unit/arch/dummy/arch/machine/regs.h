/* SPDX-License-Identifier: MIT */
/*
 * The registers of the dummy: r0 to r7, the frame pointer, the link register, the stack pointer,
 * the next instruction.
 */
#pragma once

enum {
	FRAME_FP = 8,
	FRAME_LINK = 9,
	FRAME_SP = 10,
	FRAME_PC = 11,
	FRAME_NREGS = 12,
};
/* The callee-saved registers of rules: r5, r6, r7. */
#define FRAME_NSAVED	    3
#define FRAME_SAVED_WORD(i) ((i) + 5)
#define FRAME_SAVED_WORDS   0xe0ull
#define FRAME_CARRIED	    FRAME_SAVED_WORD(0)
#define FRAME_RA_ABOVE_FP   1
#define FRAME_FP_CFA	    16
#define FRAME_PAGE_SHIFT    14
