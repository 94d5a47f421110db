/* SPDX-License-Identifier: MIT */
/*
 * The names of types and variables in one file's debug information, to find each at once.
 *
 * Compilers write no index that one could count on, so all units are read, once: the outermost DIEs
 * of C, those in namespaces and classes of other languages; on request also those in functions,
 * which takes several times as long. What is kept is 16 bytes a name; names are read again when one
 * is asked for.
 *
 * Owns     a copy of the names of namespaces. DIEs belong to the Dwarf that is given at each call,
 *          which may be another one than at the creation, but of the same file.
 * Errors   none: of damaged debug information, the types that can be read are found.
 * Facts    DWARF 5, 3.1 (units), 3.2.2 (namespaces), 5.7 (structures).
 */
#pragma once

#include <elfutils/libdw.h>

#include "base/base.h"

struct dwarf_names;

/* Asked now and then during the long part; true: it gives up. */
typedef bool dwarf_stop_f(void *ctx);

/* Reads all units, and if is_deep the functions, too; NULL if stop() has said so. */
struct dwarf_names *dwarf_names_create(Dwarf *dw, bool is_deep, dwarf_stop_f *stop, void *ctx);
void dwarf_names_destroy(struct dwarf_names *n); /* NULL is allowed */

/* Kinds of things that have a name, as bits of a set. */
enum {
	DWARF_NAMES_STRUCT = 1, /* of C++ also classes */
	DWARF_NAMES_UNION = 2,
	DWARF_NAMES_ENUM = 4,
	DWARF_NAMES_PLAIN = 8, /* typedefs and base types */
	DWARF_NAMES_ALL = 15,
	/* variables, which are no types */
	DWARF_NAMES_VARIABLE = 16,
	DWARF_NAMES_LOCAL = 32, /* those inside of functions, too */
};

/*
 * Finds a definition by its whole name, such as "node" or "ns::Map<int>::Node"; blanks do not
 * count, and functions and namespaces that are anonymous or inline may be left out. *pos is 0 at
 * first; each further call finds a further definition. False: there is none any more.
 */
bool dwarf_names_next(const struct dwarf_names *n, Dwarf *dw, const char *name, uint32_t kinds,
		      uint32_t *pos, Dwarf_Die *ret);
/* The same for a DIE of this file that only declares a type, in the same namespace. */
bool dwarf_names_definition(const struct dwarf_names *n, Dwarf *dw, Dwarf_Die *decl, uint32_t *pos,
			    Dwarf_Die *ret);
/* Finds the variable with this name, of whatever namespace, at an address of the file. */
bool dwarf_names_variable(const struct dwarf_names *n, Dwarf *dw, const char *name, uint64_t addr,
			  Dwarf_Die *ret);
