/* SPDX-License-Identifier: MIT */
/*
 * The budget of calls: how long a program's longest chain of calls is, and how much of the kernel's
 * stack it uses.
 *
 * Linux allows eight functions in a chain (MAX_CALL_FRAMES, with the program itself; a callback of
 * bpf_loop() counts as well) and 512 bytes of stack for all of them together (MAX_BPF_STACK; each
 * function's bytes are rounded up to 32): check_max_stack_depth() in kernel/bpf/verifier.c. The
 * kernel's refusal names neither the chain nor the clause, and some kernels refuse what others
 * accept. So the chain is computed from the instructions of the linked program, from generated ones
 * and those of the run-time library alike.
 *
 * The longest chains, in a unit whose clause and ERROR clause are both cut into parts:
 *
 *     entry > clause > fault > ERROR clause > part > rt_ustack > walk_step > rt_unwind_rule
 *     entry > clause > fault > ERROR clause > part > helpers > rt_sub_NAME > its loop
 *
 * Errors   struct err *: a chain is too long or takes too much stack: the text names its functions.
 */
#pragma once

#include "kernel/linker.h"

#define BUDGET_CALLS 8
#define BUDGET_STACK 512

/* The size of a program's longest chain of calls. */
struct call_budget {
	uint32_t calls, stack; /* functions; bytes */
};

/*
 * NULL when the program keeps within both limits. *ret is set in any case: the size of the longest
 * chains. An error shows the chain; *ret_insn is the instruction, in the unit's own code, at which
 * the chain leaves the clause.
 */
MUST_CHECK struct err *budget_check(const struct linked *l, const struct bpf_code *code,
				    struct call_budget *ret, uint32_t *ret_insn);
