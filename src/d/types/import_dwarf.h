/* SPDX-License-Identifier: MIT */
/*
 * Imports types of traced programs into the type table, one by one, from DWARF.
 *
 * As with the kernel's types (import.h), a struct to which only a pointer leads is known by its tag
 * and size until a D program names one of its members. D text reaches these types through the
 * arguments of a probe only, never by name: 'struct file' in a script stays the kernel's.
 *
 * Owns     the map from DIEs to types. The type table owns the types; the importer, and the debug
 *          information in which the DIEs lie, must live until the table is no longer used.
 */
#pragma once

#include <elfutils/libdw.h>

#include "d/types/types.h"

struct dwarf_import;

struct dwarf_import *dwarf_import_create(void);
void dwarf_import_destroy(struct dwarf_import *im); /* NULL is allowed */

/*
 * Finds the definition of a struct or union of which a unit has only a declaration; without it, all
 * units are searched each time. The last one that was set counts.
 */
typedef bool dwarf_define_f(void *ctx, Dwarf_Die *decl, Dwarf_Die *ret);
void dwarf_import_set_define(struct dwarf_import *im, dwarf_define_f *define, void *ctx);

/* The type that a DIE describes. A die that is NULL or has no tag describes void. */
type_id dwarf_import_type(struct dwarf_import *im, struct types *t, Dwarf_Die *die);
/*
 * The same for an argument of a probe: its pointers lead to user memory. is_ref: the probe passes
 * the address of the value, so the result is a pointer to the described type.
 */
type_id dwarf_import_arg(struct dwarf_import *im, struct types *t, Dwarf_Die *die, bool is_ref);
