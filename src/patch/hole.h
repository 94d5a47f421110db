/* SPDX-License-Identifier: MIT */
/* Where in a process's address space a region can stand. */
#pragma once

#include "target/maps.h"

/*
 * Finds size bytes from where a jump reaches all of lo..hi: not close to other mappings, nor where
 * the heap grows. If all else is taken, they may be below the stack, but not within its next GB.
 * 0: there are none.
 */
taddr hole_find(const struct proc_maps *maps, uint64_t size, taddr lo, taddr hi);
