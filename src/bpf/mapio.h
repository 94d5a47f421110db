/*
 * Aggregations in kernel maps, as struct agg_io reads and changes them.
 *
 * Owns     room for what was read last; the maps are the caller's.
 */
#pragma once

#include "probe/engine.h"

struct kmaps;
struct map_io;

struct map_io *map_io_create(const struct layout *l, const struct kmaps *m);
void map_io_destroy(struct map_io *io); /* NULL is allowed */
/* ctx: a struct map_io */
extern const struct agg_io map_io_ops;
