/* Names of C++ and Rust as their programmers wrote them. */
#pragma once

#include "base/arena.h"

/* name itself when it is not mangled; else a text in a. */
const char *demangle(struct arena *a, const char *name);
