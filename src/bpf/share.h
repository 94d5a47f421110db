/*
 * Which aggregations and associative arrays share a map, so that a program needs no more than it
 * may have.
 *
 * Keyless aggregations whose values have one size are always elements of one per-CPU array: it
 * costs them nothing. Others have a hash map each, as long as there is room for that. When there is
 * not, those of the nearest sizes share one: their keys begin with a u64 that names the owner, keys
 * and values are filled up to the largest.
 */
#pragma once

#include "bpf/layout.h"

/*
 * Sets layout.agg_maps, layout.arr_maps and the places in them, which moves the fields of shared
 * keys. Requires keys, sizes and max_entries of l->aggs and of the arrays in l->vars.
 */
void share_maps(struct arena *a, struct layout *l);
