/*
 * Where a function is left: its returns, and its jumps to other functions.
 *
 * Units    off: place in the file. rel: bytes from the function's start, what arg0 of a return probe is.
 * Facts    providers.md 19.4. A compiler may split a function: 'f.cold' is a part of 'f'. A jump there
 *          does not leave it, a return there does.
 */
#pragma once

#include "proc/funcs.h"
#include "proc/text.h"

struct func_exit {
	uint64_t off;
	uint32_t rel;
	bool is_tail; /* a jump: what the function returns is not known yet */
};

struct func_exits {
	VEC(struct func_exit) list;
};

/* Adds those of fn. False when its code cannot be read. */
bool func_exits_find(const struct funcs *f, const struct func *fn, struct text *t,
		     struct func_exits *ret);
