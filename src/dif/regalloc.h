/* SPDX-License-Identifier: MIT */
/*
 * Register allocation: chooses the machine location of each value of one DIF object.
 *
 * The input is a list of abstract instructions over virtual registers (DIF registers, comparison
 * flags, entries of the tuple stack). Control only goes forward, so one backward pass gives exact
 * liveness. Each virtual register is split into webs (connected definitions and uses), and each web
 * gets the first of these locations that it can have:
 *
 *     - none: a constant, the address of a string constant, or memory that does not change is made
 *       again at each use;
 *     - r6-r8, or r3-r5 when no instruction that destroys them lies within the web;
 *     - a stack slot;
 *     - a slot in the machine state, when stack slots are used up.
 *
 * A copy (mov, push, cmp) whose source does not change while the copy lives shares its location.
 * r0-r2 are never allocated: they are scratch registers of the code generator.
 *
 * Owns     everything lies in the caller's arena.
 * Facts    positions: 2 * i is where instruction i reads, 2 * i + 1 where it writes. An instruction
 *          that clobbers destroys r0-r5 between the two.
 */
#pragma once

#include "base/arena.h"

#define RA_NONE	      UINT32_MAX
#define RA_MAX_VREGS  512
#define RA_MAX_WRITES 2
#define RA_ZERO	      0xffff /* in reads: not a virtual register but the constant 0 */

enum ra_loc_kind {
	RA_UNUSED, /* the value is never read */
	RA_REG,	   /* n = machine register */
	RA_STACK,  /* n = stack slot, 0 .. */
	RA_MACH,   /* n = offset in the machine state */
	RA_CONST,  /* value */
	RA_STR,	   /* n = offset in the string table; the value is the address */
};

struct ra_loc {
	enum ra_loc_kind kind;
	uint32_t n;
	uint64_t value;
};

struct ra_insn {
	const uint16_t *reads; /* virtual registers */
	uint32_t nreads;
	uint16_t writes[RA_MAX_WRITES];
	uint32_t nwrites;
	bool copies;	  /* writes[k] = reads[k], and no other effect */
	bool clobbers;	  /* destroys r0-r5 */
	bool keeps_reads; /* the locations that it reads may not be those that it writes */
	bool ends;	  /* control does not go on to the next instruction */
	uint32_t target;  /* of a branch; RA_NONE for other instructions */
	/* writes[0] is known to be this constant or address; RA_UNUSED: it is not known */
	struct ra_loc home;
};

struct ra_opts {
	uint32_t nstack;   /* number of stack slots; further slots are in the machine state */
	uint32_t mach_off; /* offset of the first slot in the machine state */
	uint32_t mach_nslots;
	uint32_t seed; /* not 0: registers are chosen at random and often spilled (for tests) */
};

struct regalloc {
	/* by instruction: the locations of its reads and writes, in their order */
	struct ra_loc **reads, **writes;
	/*
	 * Values that are read before anything is written to them, which foreign objects may do:
	 * these locations are to be set to 0 first.
	 */
	struct ra_loc *zeros;
	uint32_t nzeros;
	uint32_t nmach; /* number of slots used in the machine state */
};

/*
 * requires: branches go forward, to instructions at most n, which is behind the last one. An
 * unreachable instruction has `ends`, and no reads, writes and target. nvregs <= RA_MAX_VREGS.
 * NULL when there are too few slots in the machine state.
 */
struct regalloc *regalloc_run(struct arena *a, const struct ra_insn *insns, uint32_t n,
			      uint32_t nvregs, const struct ra_opts *opts);
