/* SPDX-License-Identifier: MIT */
/*
 * From a window that a plan has (flow/flow.h) to its stub (arch/stub.h), and to what is written
 * into the process (patch/patch.h).
 *
 * Units    bias: what is added to an address of the file to get that in the process.
 * Threads  pure functions.
 */
#pragma once

#include "arch/stub.h"

struct flow_window;
struct patch_window;

/*
 * Makes the stub that will stand at env->code. bodies[i] is that of w->bodies[i], whose offset it
 * gets. NULL, or why there is none, as a phrase: "a call through the stack pointer".
 */
const char *stub_make(const struct flow_window *w, int64_t bias, const struct stub_env *env,
		      struct stub_body *bodies, uint8_t *buf, uint32_t size, struct stub *ret);
/*
 * What patch_write() takes for it: code is the address of the stub; of FLOW_TARGET_WORD, that of a
 * word that has it.
 */
void stub_window(const struct flow_window *w, int64_t bias, const struct stub *s, taddr code,
		 struct patch_window *ret);
/*
 * Translates an offset in a stub, where a thread was interrupted or an instruction has faulted: to
 * the offset in the window of the instruction that is executed there, or, in a body, will be next;
 * len behind all of them.
 */
uint8_t stub_origin(const struct flow_window *w, const struct stub *s, uint32_t off);
