/* SPDX-License-Identifier: MIT */
/* Code generation: filters that a stub can nearly always answer by itself. */
#pragma once

#include "native/gen.h"

/*
 * Finds the tests of which one is true whenever the filter of a group is: ret has room for
 * NATIVE_TESTS_MAX. Returns how many there are; 0: the filter is more than that.
 */
uint32_t quick_find(const struct ngen *g, const struct group *grp, struct native_test *ret);
