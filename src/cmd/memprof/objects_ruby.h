/* SPDX-License-Identifier: MIT */
/* Facts about allocation that are read from the machine code of libruby (objects_ruby_code.c). */
#pragma once

#include "objects.h"

/* An instruction at which a new plain object and its class are in registers. */
struct ruby_place {
	uint64_t addr;		    /* in the process */
	const char *object, *class; /* as uregs[] has them: "RAX" */
};

struct ruby_code {
	struct ruby_place plain[2];
};

/*
 * False: the code of the process's Ruby is another one than this knows. Else all plain objects pass
 * one of the two places, and the first n functions of the runtime return by nothing but returns.
 */
bool ruby_code_find(const struct objects *o, const char *const *slots, size_t n,
		    struct ruby_code *ret);
