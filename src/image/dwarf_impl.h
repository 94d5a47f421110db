/* SPDX-License-Identifier: MIT */
/*
 * Parameters in debug information: what the readers for C and C++ (dwarf_args.c) and for Rust
 * (dwarf_rust.c) share.
 *
 * Owns     names and arrays lie in the arena that is given; DIEs belong to the opened file.
 * Units    indexes of registers count those that the ABI passes integers in, from 0.
 * Facts    location expressions: DWARF 5 2.5, 2.6.
 */
#pragma once

#include "image/dwarf.h"

/* Returns the name and type of a parameter, or the type of a return value; raw is not set yet. */
struct dwarf_arg dwarf_arg_of(Dwarf_Die *die, struct arena *a);
/*
 * Converts DWARF's number of a register to its index among the registers that pass integers;
 * -1 if the register is none of those.
 */
int dwarf_integer_register(uint64_t number);
/*
 * The same for a location expression that names a register or its low bits; -1 for any other
 * expression.
 */
int dwarf_register_of(const Dwarf_Op *ops, size_t n);
/*
 * True if the location of a parameter at the function's entry shows that the parameter's address is
 * passed, in a register or on the stack, instead of its value.
 */
bool dwarf_is_at_address(Dwarf_Die *param, Dwarf_Addr entry);
/*
 * True if the parameter is on the stack at the function's entry, or unoptimized code stores it
 * there.
 */
bool dwarf_is_in_memory(Dwarf_Die *param, Dwarf_Addr entry);
/* dwarf_function_args() (dwarf.h) for Rust. */
bool dwarf_rust_args(Dwarf_Die *func, struct arena *a, struct dwarf_arg **ret_args, uint32_t *ret_n,
		     struct dwarf_arg *ret_value);
