/* SPDX-License-Identifier: MIT */
/* Finds room for a region. */
#include "patch/hole.h"

#include "arch/arch.h"
#include "patch/patch.h"

#define APART  (1ull << 20) /* from other mappings */
#define STACK  (1ull << 30) /* from the begin of the stack, which grows towards it */
#define LOWEST (1ull << 20) /* vm.mmap_min_addr is less */

struct gap {
	taddr from, to; /* where the region may begin, from <= to */
	bool is_high;	/* something grows into it from below */
	bool is_last;	/* the stack grows into it from above: it is taken if there is no other */
};

static bool map_is(const struct proc_map *m, const char *name)
{
	return m && strcmp(m->path, name) == 0;
}

/* The gap between two mappings; NULL: the begin or the end of memory. */
static bool gap_between(const struct proc_map *below, const struct proc_map *above, uint64_t size,
			struct gap *ret)
{
	taddr from = below ? below->end + APART : LOWEST;
	taddr to = above ? above->start : (1ull << arch.user_bits) - 4096;
	bool is_last = map_is(above, "[stack]");
	uint64_t apart = is_last ? STACK : APART;

	if (to < size + apart || to - size - apart < from)
		return false;
	*ret = (struct gap){from, to - size - apart, map_is(below, "[heap]"), is_last};
	return true;
}

static uint64_t hole_distance(taddr a, taddr b)
{
	return a < b ? b - a : a - b;
}

/* Where a region begins in the gap, near lo, but within low..high; 0: nowhere. */
static taddr gap_place(const struct gap *g, taddr lo, taddr low, taddr high)
{
	taddr from = MAX(g->from, low), to = MIN(g->to, high);
	taddr at = (g->is_high || to < lo ? to : from) & ~4095ull;

	return from <= to && at >= from ? at : 0;
}

taddr hole_find(const struct proc_maps *maps, uint64_t size, taddr lo, taddr hi)
{
	taddr low = hi > PATCH_REACH ? hi - PATCH_REACH : 0, high = lo + PATCH_REACH, best = 0,
	      last = 0;
	const struct proc_map *below = NULL;
	uint32_t n = maps->maps.len;

	if (size > PATCH_REACH || high < size || high - size < low)
		return 0;
	high -= size;
	for (uint32_t i = 0; i <= n; i++) {
		const struct proc_map *above = i < n ? &maps->maps.data[i] : NULL;
		struct gap g;
		taddr at;

		if (above && above->start >> arch.user_bits)
			above = NULL; /* the page of old system calls, in the kernel's part */
		at = gap_between(below, above, size, &g) ? gap_place(&g, lo, low, high) : 0;
		if (at && g.is_last)
			last = at;
		else if (at && (!best || hole_distance(at, lo) < hole_distance(best, lo)))
			best = at;
		if (!above)
			break;
		below = above;
	}
	return best ? best : last;
}
