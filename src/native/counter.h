/* SPDX-License-Identifier: MIT */
/* Code generation: sites that do nothing but count under a key which they fix. */
#pragma once

#include "native/gen.h"

/*
 * Whether a site of the group, of this probe of the unit, only counts in an element that is always
 * the same: of the table *ret_map, with the key that is written to key, which is all zero and has
 * room for the table's key, or for the u32 number of an element without keys.
 */
bool counter_key(const struct ngen *g, const struct group *grp, uint32_t probe, uint32_t *ret_map,
		 uint8_t *key);
