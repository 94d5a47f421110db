/* SPDX-License-Identifier: MIT */
/*
 * The list of the objects that the dynamic linker has mapped, as it shows it to debuggers: struct
 * r_debug and struct link_map in the memory of a process.
 *
 * Units    addresses in the process, offsets in bytes.
 * Errors   none: what cannot be read is not there. A list without an end is cut.
 * Facts    <link.h>: struct r_debug is r_version, r_map, r_brk, r_state; struct link_map l_addr,
 *          l_name, l_ld, l_next. Each begins a word of the process.
 */
#pragma once

#include "base/base.h"

/* How memory is read: false if not all of it can be. */
typedef bool link_map_read_fn(void *ctx, uint64_t addr, void *buf, uint32_t size);

/* The offset of r_state in struct r_debug: not 0 in memory while objects come or go. */
uint64_t link_map_state_off(bool is_narrow);
/*
 * Finds the element of an object by what is added to its addresses (l_addr), in a list of 64-bit
 * words; debug is the address of _r_debug. 0: there is none.
 */
taddr link_map_find(link_map_read_fn *read, void *ctx, taddr debug, uint64_t bias);
/*
 * The number by which that object's thread-local variables are found, a member of its element: the
 * C library describes it for debuggers at the symbol _thread_db_link_map_l_tls_modid, whose address
 * is member, as {bits, elements, byte offset}. 0: it is not known.
 */
uint64_t link_map_tls_module(link_map_read_fn *read, void *ctx, taddr debug, taddr member,
			     uint64_t bias);
