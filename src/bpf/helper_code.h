/* SPDX-License-Identifier: MIT */
/*
 * Compiles programs of the helper machine (rt/helper.h) to BPF programs.
 *
 * A compiled program does what the machine would do with the same instructions, five times as fast.
 * It works on the same state, so either of them can run a walk; only the decision is made when a
 * walk begins. The program of the probe reaches the compiled one by a tail call from a function of
 * its own (gen_stack.c), to which the kernel returns when the compiled program ends. A tail call
 * needs a program of the caller's type, so each type has an array of compiled programs (struct
 * helper_array).
 *
 * The kernel follows each path through the code once: the registers of the machine stay in memory,
 * of which the verifier knows nothing, so all paths to an instruction look alike to it. Jumps back
 * leave the function, a callback of bpf_loop(), and the next iteration goes on at their target.
 *
 * The verifier takes 30 ms (php.d) to 300 ms (node.d), during which the consumer has other things
 * to do: so a thread loads the program. The machine runs the walks until then. It is all that there
 * is in clauses of ERROR, in clauses that are cut, and in probes that belong to one function of the
 * kernel (fbt), from which the kernel allows no tail call.
 *
 * Owns     a load that has begun, which helper_code_end() waits for; the kernel's array keeps the
 *          programs.
 * Errors   struct err *: the kernel refused the program. The machine runs its instructions then.
 * Threads  the consumer's, and one a load, which ends by itself.
 */
#pragma once

#include "bpf/engine.h"
#include "unwind/tables.h"

/*
 * Begins to put the program into the arrays that lack it, or looks how far that is. An array is
 * tried once.
 */
enum helper_code_state helper_code_work(struct helper_code *c, const struct kmaps *m,
					struct err **ret_err);
void helper_code_end(struct helper_code *c);
