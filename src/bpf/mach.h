/* SPDX-License-Identifier: MIT */
/*
 * The memory in which the programs of a session work: machine states, scratch memory, slots.
 *
 * A machine state (an entry of MAP_MACH) begins with struct rt_mach; the areas behind it have the
 * sizes that the session's layout asks for. Records, keys and values are built in them.
 *
 * Owns     slots_off; mach_destroy() releases all.
 * Units    bytes; offsets in a machine state.
 */
#pragma once

#include "record/layout.h"

struct mach {
	uint32_t this_off; /* block of this-> variables: layout.this_size bytes */
	uint32_t rec_off, rec_size;
	uint32_t key_off, key_size; /* key of an aggregation, then that of an associative array */
	uint32_t arr_key_off;
	uint32_t kaddr_off; /* u64 per key: address of a string in the key of an aggregation */
	/* u64 each: values of an expression without a register */
	uint32_t spill_off, spill_nslots;
	/* stacks in keys, then one for built-in variables (abi.h); size of MAP_STACKS values */
	uint32_t stack_off, stack_stride, stack_nslots, stack_size;
	uint32_t save_off; /* copy of what the firing of an ERROR clause overwrites */
	uint32_t live_off,
		live_size; /* struct rt_live_key and its entry; 0: nothing calls live() */
	uint32_t zero_off, zero_size; /* zeros: the initial value of map elements */
	uint32_t size;		      /* of a machine state */
	uint32_t scratch_size;	      /* scratch memory of a firing */
	/*
	 * By layout.vars: offset of the array's slots (struct rt_slot) in the value of MAP_GVARS;
	 * 0: it has none. NULL: no array has.
	 */
	uint32_t *slots_off;
	uint32_t slots_end; /* of the last slots in the value of MAP_GVARS; 0 = none */
};

/* The layout must live as long as the result. */
struct mach *mach_create(const struct layout *l);
void mach_destroy(struct mach *m); /* NULL is allowed */
/* The offset of the slots of an array of the layout; 0: it has none. */
uint32_t mach_slots_off(const struct mach *m, const struct layout *l, const struct var_layout *vl);
