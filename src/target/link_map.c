/* SPDX-License-Identifier: MIT */
/* The list of the objects that the dynamic linker has mapped. */
#include "target/link_map.h"

#define OBJECTS_MAX 4096

/* Numbers of words. */
enum { DEBUG_MAP = 1, DEBUG_STATE = 3, MAP_ADDR = 0, MAP_NEXT = 3 };

uint64_t link_map_state_off(bool is_narrow)
{
	return DEBUG_STATE * (is_narrow ? 4 : 8);
}

static bool word_read(link_map_read_fn *read, void *ctx, taddr at, uint32_t number, uint64_t *ret)
{
	return read(ctx, at + 8 * number, ret, sizeof(*ret));
}

taddr link_map_find(link_map_read_fn *read, void *ctx, taddr debug, uint64_t bias)
{
	taddr map = 0;
	uint64_t addr;

	if (!word_read(read, ctx, debug, DEBUG_MAP, &map))
		return 0;
	for (int i = 0; map && i < OBJECTS_MAX; i++) {
		if (!word_read(read, ctx, map, MAP_ADDR, &addr))
			return 0;
		if (addr == bias)
			return map;
		if (!word_read(read, ctx, map, MAP_NEXT, &map))
			return 0;
	}
	return 0;
}

uint64_t link_map_tls_module(link_map_read_fn *read, void *ctx, taddr debug, taddr member,
			     uint64_t bias)
{
	uint32_t off;
	uint64_t id;
	taddr map;

	if (!read(ctx, member + 8, &off, sizeof(off)))
		return 0;
	map = link_map_find(read, ctx, debug, bias);
	return map && read(ctx, map + off, &id, sizeof(id)) ? id : 0;
}
