/* SPDX-License-Identifier: MIT */
/* Which functions are left alone by their names, and the words for why a site has no window. */
#include "flow/impl.h"

static const char *const known[] = {
#define KNOWN(name) name,
#include "flow/known.def"
#undef KNOWN
};

bool func_is_known(const char *name)
{
	for (uint32_t i = 0; i < ARRAY_LEN(known); i++) {
		size_t len = strlen(known[i]);

		if (known[i][len - 1] == '*' ? strncmp(name, known[i], len - 1) == 0
					     : strcmp(name, known[i]) == 0)
			return true;
	}
	return false;
}

const char *flow_lack_text(enum flow_lack lack)
{
	switch (lack) {
	case FLOW_FITS: return "it fits";
	case FLOW_NO_CODE: return "no instruction begins there";
	case FLOW_SHORT: return "too short";
	case FLOW_ENTERED: return "control enters inside";
	case FLOW_LOOP: return "a loop begins behind the first instruction";
	case FLOW_JUMPS: return "the first instruction calls, jumps or returns";
	case FLOW_STACK: return "the first instruction changes the stack pointer";
	case FLOW_CALL: return "a call is in the way";
	case FLOW_UNMOVABLE: return "an instruction that cannot be moved";
	case FLOW_SYSCALL: return "a system call";
	case FLOW_SIGRETURN: return "signal handlers return there";
	case FLOW_RSEQ: return "a restartable sequence";
	case FLOW_TRANSACTION: return "a transaction";
	case FLOW_KNOWN: return "the program knows the address";
	case FLOW_OVERLAPS: return "another probe is too near";
	case FLOW_NO_PAD: return "no padding within a short jump";
	case FLOW_UNKNOWN_JUMP: return "a jump to where is not known";
	case FLOW_FIRST: return "room only at the first instruction";
	case FLOW_PAGES: return "two pages, on which a jump cannot be written at once";
	case FLOW_NO_NOP: return "the probe's instruction is no nop";
	case FLOW_JOINS: return "control comes from elsewhere, too, right behind the nop";
	case FLOW_OTHER_NOP: return "the nop of one of the program's own probes is in the way";
	case FLOW_NLACKS: break;
	}
	return "not known";
}
