/* SPDX-License-Identifier: MIT */
/*
 * Windows and their stubs, executed one instruction at a time from the same random states.
 *
 * steps_try() places the bytes of a window at its address, in memory that has nothing else, and its
 * stub nearby. It runs both from the same registers, flags, vector registers and memory, until
 * control leaves them or an instruction faults, and compares what has become of all of it. Stubs
 * with one to three bodies at an instruction are run, too: each must run as often as the site is
 * reached, with the registers of the site in its frame or slot, and must change nothing. A window
 * whose jump leads to its tail goes on there.
 *
 * It is for a process of its own: signal handlers of it receive the traps, and a window may write
 * anywhere.
 */
#pragma once

#include "arch/arch.h"

struct steps;

/* For windows whose addresses, and those that they refer to, are from lo to below hi. */
struct steps *steps_create(taddr lo, taddr hi);

struct steps_result {
	uint32_t states;  /* compared */
	uint32_t faults;  /* of these, how many ended by a fault */
	uint32_t bodies;  /* bodies that ran */
	uint32_t owned;	  /* of these, how many were counted as the owner */
	uint32_t several; /* how often all bodies of a stub with more than one ran */
	uint32_t tests;	  /* relays of whose tests none was true */
	uint32_t tails;	  /* how often control went through the window's tail */
	char why[1024];	  /* not empty: what differed */
	bool is_skipped;  /* an instruction whose result is another each time */
};
/*
 * Tries n states. w: with an address as in the file. Its bodies say only where they are: what may
 * be alive there is known. In other places flags and red zone are taken to be. exit_off: the offset
 * of the instruction that is a way out of the function, or w->len.
 */
void steps_try(struct steps *s, const struct stub_window *w, uint32_t exit_off, uint32_t n,
	       uint64_t seed, struct steps_result *ret);
