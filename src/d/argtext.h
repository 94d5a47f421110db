/*
 * What a provider says of an argument of a probe, in one text.
 *
 *     "struct task_struct *"                args[i] is argument i as it is
 *     "struct task_struct * : psinfo_t *"   args[i] is argument i, translated
 *     "@0 struct task_struct * : psinfo_t *" args[i] is argument 0, translated
 *
 * Facts    d-language.md 10.1 (index map), providers.md 0.1.
 */
#pragma once

#include "base/arena.h"

struct argtext {
	uint32_t native;    /* which argument of the probe it is made of */
	const char *type;   /* of that argument */
	const char *output; /* what it is translated to; NULL: nothing */
};

/* Where the value of args[i] is, when the provider gives its type and not only a text. */
struct argplace {
	uint32_t raw; /* which of arg0, arg1, ... */
	/* a string: raw is the address of its bytes in the process, the next their number */
	bool is_text;
	const char *why; /* of a value that is not to be had: what can be done, or NULL */
};

/* position: i of args[i]. Texts live in the arena. */
struct argtext argtext_parse(struct arena *a, const char *text, uint32_t position);
/* The type a script sees: what listings show. */
const char *argtext_shown(const struct argtext *t);
