/* What the readers of parameters share: dwarf_args.c, dwarf_rust.c. */
#pragma once

#include "sym/dwarf.h"

#define NREGS 6 /* that pass integers */

/* Name and type of a parameter, or type of what a function returns; it has no place yet. */
struct dwarf_arg dwarf_arg_of(Dwarf_Die *die, struct arena *a);
/*
 * DWARF's number of a register to the place among those that pass integers (SysV AMD64 ABI, figure
 * 3.36); -1: it is none of them.
 */
int dwarf_integer_register(uint64_t number);
/* The same of an expression that means a register, or some low bits of it; -1: another expression. */
int dwarf_register_of(const Dwarf_Op *ops, size_t n);
/* Does the place of a parameter, at the function's entry, show that a register or a word of the stack points to it? */
bool dwarf_is_at_address(Dwarf_Die *param, Dwarf_Addr entry);
/* Is it on the stack then, or where code that was not optimized stores it? */
bool dwarf_is_in_memory(Dwarf_Die *param, Dwarf_Addr entry);
/* dwarf_function_args() for Rust. */
bool dwarf_rust_args(Dwarf_Die *func, struct arena *a, struct dwarf_arg **ret_args, uint32_t *ret_n,
		     struct dwarf_arg *ret_value);
