/*
 * Types of programs for the type table: imports them from DWARF one by one.
 *
 * As with the kernel's types (import.h), a struct that is only pointed to is known by tag and size
 * until somebody looks into it. Types of programs are reached through a probe's arguments; they
 * have no names for D text, where 'struct file' stays the kernel's.
 *
 * Owns     which DIE became which type. The type table owns the types; the debug information that
 *          DIEs came from, and the importer, must outlive its use.
 */
#pragma once

#include <elfutils/libdw.h>

#include "d/types.h"

struct dwarf_import;

struct dwarf_import *dwarf_import_create(void);
void dwarf_import_destroy(struct dwarf_import *im); /* NULL is allowed */

/* The type a DIE describes. die: NULL or without a tag = void. */
type_id dwarf_import_type(struct dwarf_import *im, struct types *t, Dwarf_Die *die);
/* The same for what a probe passes: pointers are to user memory. is_ref: the address of it. */
type_id dwarf_import_arg(struct dwarf_import *im, struct types *t, Dwarf_Die *die, bool is_ref);
