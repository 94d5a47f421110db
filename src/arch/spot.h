/* SPDX-License-Identifier: MIT */
/*
 * Where in a function a probe fires: its spot. The spot decides what the probe's arguments are, and
 * where a stack walk finds the return address.
 *
 * Included by host C and by C for BPF (src/rt/). The numbers are in programs that are loaded, and
 * in no file.
 */
#pragma once

enum code_spot {
	SPOT_ENTRY,	  /* arg0... = the function's arguments, in the registers that C uses */
	SPOT_ENTRY32,	  /* arg0... = words of the stack, as 32-bit code passes its arguments */
	SPOT_ENTRY_STACK, /* arg0... = words of the stack, in 64-bit code */
	SPOT_ENTRY_GO,	  /* arg0... = Go's argument registers, then words of the stack */
	SPOT_ENTRY_NONE,  /* no arguments: how the function receives them is not known */
	/* arg0 = offset of the instruction, arg1 = value, 0 at a jump to another function */
	SPOT_RETURN,
	SPOT_RETURN_GO,	  /* arg0 = offset of the instruction, arg1... = words of the results */
	SPOT_RETURN_NONE, /* arg0 = offset of the instruction; the value is not known */
	SPOT_RETURNED,	  /* behind the call of a function: arg1 = value */
	SPOT_INSN,	  /* an instruction in the middle of a function: no arguments */
	/*
	 * A call of the function that the probe names, before it is executed: arg0... as at that
	 * function's entry, but for where the stack pointer is. Or a jump to it (is_tail).
	 */
	SPOT_CALL,
	SPOT_USDT, /* a program's own probe: arg0... as its note says */
	SPOT_COUNT
};

static inline int spot_is_return(enum code_spot spot)
{
	return spot == SPOT_RETURN || spot == SPOT_RETURN_GO || spot == SPOT_RETURN_NONE;
}
