/* SPDX-License-Identifier: MIT */
/*
 * Sharing of maps by aggregations and associative arrays, because an engine may have few maps: a
 * program of the kernel may use 64 at most (layout_opts.max_maps).
 *
 * Keyless aggregations with values of one size are always elements of one per-CPU array, at no
 * cost. The others have a hash map each, as long as there are few enough. When there are too many,
 * those of the nearest sizes share a map: their keys begin with a u64 that names the owner, and
 * keys and values are padded to the largest.
 */
#pragma once

#include "record/layout.h"

/*
 * Sets layout.agg_maps and layout.arr_maps and the positions in them, which moves the fields of
 * shared keys. Requires keys, sizes and max_entries of l->aggs and of the arrays in l->vars.
 */
void share_maps(struct arena *a, struct layout *l);
