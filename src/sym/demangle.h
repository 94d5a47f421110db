/* Names of C++ and Rust as their programmers wrote them. */
#pragma once

#include "base/arena.h"

#define DEMANGLED_MAX 4096 /* bytes: longer texts are not made, the name stays as it is */

bool is_mangled(const char *name);
/*
 * name itself when it is not mangled; else a text in a: "shop::Order::price(int) const". The type that
 * an instance of a template returns is left out, as C++ does for other functions.
 */
const char *demangle(struct arena *a, const char *name);
/* The same without parameters: "shop::Order::price", "operator new". */
const char *demangle_bare(struct arena *a, const char *name);
