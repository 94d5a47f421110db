/* SPDX-License-Identifier: MIT */
/* Code generation: sites that do nothing but count under a key which they fix. */
#pragma once

#include "native/gen.h"

/*
 * The elements in which a site of the group, of this probe of the unit, counts at each firing, if
 * it does nothing else and they are always the same: *ret_n of them, at most NATIVE_COUNTS_MAX,
 * with their keys in the arena. NULL: it does more.
 */
const struct native_count *counts_find(const struct ngen *g, const struct group *grp,
				       uint32_t probe, struct arena *keys, uint32_t *ret_n);
