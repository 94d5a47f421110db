/* SPDX-License-Identifier: MIT */
/*
 * Demangling: turns symbols of C++ and Rust into the names that their programmers wrote.
 *
 * Owns     results lie in the caller's arena, or are the argument itself.
 * Errors   none: a name that is malformed, or describes a text of DEMANGLED_MAX bytes or more,
 *          stays as it is. Names are foreign: what is returned has no control characters.
 * Threads  any.
 */
#pragma once

#include "base/arena.h"

#define DEMANGLED_MAX 4096 /* bytes; a name whose demangled text would be longer stays mangled */

bool is_mangled(const char *name);
/*
 * Returns a text allocated in a, "shop::Order::price(int) const", or name itself if it is not
 * mangled. The return type, which only mangled names of template functions contain, is left out.
 */
const char *demangle(struct arena *a, const char *name);
/* As demangle(), but without parameters: "shop::Order::price", "operator new". */
const char *demangle_bare(struct arena *a, const char *name);
