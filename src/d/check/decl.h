/* SPDX-License-Identifier: MIT */
/*
 * Declarations: turns types as written (struct type_name) into type ids, with the checks of
 * d-language.md 2.7 and 2.9.
 *
 * Resolving a type also declares the tags, members and enumerators in its text (enumerators become
 * identifiers, through check_enumerator()). Declarators that share their specifiers declare the
 * body of a struct, union or enum once.
 *
 * Errors   are reported into c->diags; the result is then TYPE_ERROR or false. A type with a bad
 *          member or parameter is TYPE_ERROR as well, without a message of its own.
 */
#pragma once

#include "d/check/check.h"

/* The meaning of a declarator that declares an object. */
struct decl_object {
	type_id type; /* of a variable, or of an associative array's elements; may be TK_FUNC */
	bool is_assoc;
	type_id *keys; /* in the arena of the compile */
	uint32_t nkeys;
};

/* Flags of decl_params(). */
#define DECL_PARAMS_PROVIDER 0x1 /* provider prototype: neither varargs nor void */
#define DECL_PARAMS_NAMED    0x2 /* every parameter has a name (inlines) */

/* The type that a cast, sizeof, a list of keys and so on names; it is no associative array. */
type_id decl_resolve(struct check *c, struct type_name *tn);
/* The type of specifiers without their declarator. */
type_id decl_specs_resolve(struct check *c, struct decl_specs *specs);
/*
 * Resolves the declaration of a named object. Refuses the type void, incomplete types, and the
 * storage classes static, auto, register and typedef. Functions, and extern objects of incomplete
 * type, pass: the caller looks at type_kind() and specs->sc, and checks that the name is free.
 * max_size: the most bytes that an array or struct may have.
 */
bool decl_object(struct check *c, struct type_name *tn, uint32_t max_size, struct decl_object *ret);
/* False after reporting D_DECL_SCOPE for a declared name with a backquote in it. */
bool decl_name_is_plain(struct check *c, struct span at, const char *name);
/* Declares the name of a typedef. */
bool decl_typedef(struct check *c, struct type_name *tn);
/* Specifiers without a declarator must declare a tag or enumerators, else D_DECL_USELESS. */
bool decl_alone(struct check *c, struct decl_specs *specs);
/*
 * The types of parameters. '(void)' is an empty list; arrays and functions become pointers.
 * varargs: the list ended in '...'. flags: DECL_PARAMS_*.
 */
bool decl_params(struct check *c, struct type_name **params, uint32_t n, bool varargs,
		 struct span at, uint32_t flags, type_id **ret_types, uint32_t *ret_n);
