/* SPDX-License-Identifier: MIT */
/*
 * What an address is in, as ::whatis says it.
 *
 * Owns     nothing.
 * Errors   none: 0 and false if it is not known.
 */
#pragma once

#include "mdb/impl.h"

#define STACK_RED_ZONE 128u /* bytes below a stack pointer in use: SysV AMD64 ABI 3.2.2 */

/* The thread whose stack is in the mapping and has the address; 0: none. */
pid_t stack_owner(struct mdb *m, const struct proc_map *map, taddr addr);
/* The frame of that thread in which the address is. */
bool frame_of(struct mdb *m, pid_t tid, taddr addr, uint32_t *ret);
