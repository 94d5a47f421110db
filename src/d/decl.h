/*
 * Declarations: turns types as written (struct type_name) into type ids, with the checks of
 * d-language.md 2.7 and 2.9.
 *
 * Declares on the way what the text declares: tags, their members, enumerators (as identifiers,
 * through check_enumerator()). A body is declared once even when its specifiers are resolved
 * several times.
 *
 * Errors   reported into c->diags; the result is then TYPE_ERROR or false. What depends on a bad
 * member or parameter gets TYPE_ERROR and stays silent.
 */
#pragma once

#include "d/check.h"

/* What a declarator says about an object. */
struct decl_object {
	type_id type; /* of a variable, or of an associative array's elements; may be TK_FUNC */
	bool is_assoc;
	type_id *keys; /* in the arena of the compile */
	uint32_t nkeys;
};

/* Flags of decl_params(). */
#define DECL_PARAMS_PROVIDER 0x1 /* provider prototype: neither varargs nor void */
#define DECL_PARAMS_NAMED    0x2 /* every parameter has a name (inlines) */

/* A type in a cast, sizeof, key list and so on: anything but an associative array. */
type_id decl_resolve(struct check *c, struct type_name *tn);
/* The specifiers alone. */
type_id decl_specs_resolve(struct check *c, struct decl_specs *specs);
/*
 * A named object: of complete type, not void; no static, auto, register, typedef. Function types
 * and extern objects of incomplete type pass: look at type_kind() and specs->sc. Whether the name
 * is free is the caller's to check. max_size: of an array or struct, in bytes.
 */
bool decl_object(struct check *c, struct type_name *tn, uint32_t max_size, struct decl_object *ret);
/* A name to declare may not have a scope: false after reporting D_DECL_SCOPE. */
bool decl_name_is_plain(struct check *c, struct span at, const char *name);
/* 'typedef ... name'. */
bool decl_typedef(struct check *c, struct type_name *tn);
/* Specifiers without any declarator: must declare a tag or enumerators (D_DECL_USELESS). */
bool decl_alone(struct check *c, struct decl_specs *specs);
/*
 * Parameter types: '(void)' is an empty list, arrays and functions become pointers.
 * varargs: the list ended in '...'.
 */
bool decl_params(struct check *c, struct type_name **params, uint32_t n, bool varargs,
		 struct span at, uint32_t flags, type_id **ret_types, uint32_t *ret_n);
