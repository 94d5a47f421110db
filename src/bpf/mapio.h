/* SPDX-License-Identifier: MIT */
/*
 * Reads and changes aggregations in kernel maps: struct agg_io for the kernel's engine.
 *
 * Owns     a buffer for what was read last; the maps are the caller's.
 */
#pragma once

#include "probe/engine.h"

struct kmaps;
struct map_io;

struct map_io *map_io_create(const struct layout *l, const struct kmaps *m);
void map_io_destroy(struct map_io *io); /* NULL is allowed */
/* ctx: a struct map_io */
extern const struct agg_io map_io_ops;
