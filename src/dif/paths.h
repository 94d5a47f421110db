/* SPDX-License-Identifier: MIT */
/*
 * Follows sets of bits in the registers of a DIF object along all of its paths.
 *
 * Branches of DIF lead forward only, so one pass over the code is enough: whoever makes it calls
 * paths_arrive() before each instruction, and paths_branch() for each branch. Where paths meet, a
 * register has the bits of all of them.
 *
 * Owns     struct paths owns what branches have brought; paths_deinit() frees it.
 */
#pragma once

#include "dif/dif.h"

struct paths_regs {
	uint8_t of[DIF_MAX_REGS + 1];
};

struct paths {
	const struct difo *d;
	struct paths_regs regs;	     /* before the instruction */
	bool is_dead;		     /* no path leads here */
	struct paths_regs **arrived; /* by instruction: what branches have brought there, or NULL */
};

void paths_branch(struct paths *p, uint32_t target);
void paths_arrive(struct paths *p, uint32_t at);
void paths_deinit(struct paths *p);
