/* SPDX-License-Identifier: MIT */
/*
 * The text with which a provider describes one argument of a probe.
 *
 *     "struct task_struct *"                 args[i] is argument i as it is
 *     "struct task_struct * : psinfo_t *"    args[i] is argument i, translated
 *     "@0 struct task_struct * : psinfo_t *" args[i] is argument 0, translated
 *     "int -- pid"                           it has a name, for listings
 *
 * Facts    d-language.md 10.1 (index map), providers.md 0.1.
 */
#pragma once

#include "base/arena.h"
#include "d/types/types.h"

struct argtext {
	uint32_t native;    /* number of the argument that args[i] is made of */
	const char *type;   /* D type of that argument */
	const char *name;   /* of the argument, or NULL */
	const char *output; /* D type that the argument is translated to; NULL: no translation */
};

/* Where the value of args[i] lies, for an argument whose type comes from debug information. */
struct arg_origin {
	uint32_t raw; /* the value is that of arg0 (0), arg1 (1), ... */
	/* The value is a string: argN (N = raw) is its user address, argN+1 its length in bytes. */
	bool is_text;
	const char *why; /* a value that cannot be read: what the user can do, or NULL */
	/* why the type is not known or the value out of reach, with a remedy; NULL: see why */
	const char *lack;
	/* The type is that of the native argument; the text says what it is translated to. */
	bool is_native;
};

/* A text that gives the argument a name. */
const char *argtext_named(struct arena *a, const char *text, const char *name);
/* A type's text taken apart: "const struct conn *" is struct conn behind one pointer. */
struct argbase {
	enum type_kind kind; /* TK_STRUCT, TK_UNION, TK_ENUM; TK_TYPEDEF: any other name */
	const char *name;    /* without qualifiers; in the arena */
	uint32_t npointers;
};

/* False for types that are neither a name nor pointers to one. */
bool argtext_base(struct arena *a, const char *type, struct argbase *ret);

/* position: the i of args[i]. The texts of the result live in the arena. */
struct argtext argtext_parse(struct arena *a, const char *text, uint32_t position);
/* The type that a script sees, which listings show. */
const char *argtext_shown(const struct argtext *t);
