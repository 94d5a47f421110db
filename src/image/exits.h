/* SPDX-License-Identifier: MIT */
/*
 * The instructions at which a function is left: its returns, and its jumps to other functions.
 *
 * Units    off: offset in the file. rel: bytes from the function's start, which is arg0 of a return
 *          probe.
 * Facts    providers.md 19.4. A compiler may split a function: 'f.cold' is a part of 'f'. A jump
 *          from 'f' to 'f.cold' does not leave the function, a return in 'f.cold' does.
 */
#pragma once

#include "image/funcs.h"
#include "image/text.h"

struct func_exit {
	uint64_t off;
	uint32_t rel;
	bool is_tail; /* a jump to another function: the return value is not known yet */
};

struct func_exits {
	VEC(struct func_exit) list;
};

/* Adds the exits of fn to ret; false if the code of fn cannot be read. */
bool func_exits_find(const struct funcs *f, const struct func *fn, struct text *t,
		     struct func_exits *ret);
