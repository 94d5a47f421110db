/* SPDX-License-Identifier: MIT */
/* Finds room for a region. */
#include "patch/hole.h"

#include "arch/arch.h"
#include "patch/patch.h"

#define APART  (1ull << 20) /* from other mappings */
#define LOWEST (1ull << 20) /* vm.mmap_min_addr is less */

struct gap {
	taddr from, to; /* where the region may begin, from <= to */
	bool is_high;	/* something grows into it from below */
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

	if (map_is(above, "[stack]") || to < size + APART || to - size - APART < from)
		return false;
	*ret = (struct gap){from, to - size - APART, map_is(below, "[heap]")};
	return true;
}

static uint64_t hole_distance(taddr a, taddr b)
{
	return a < b ? b - a : a - b;
}

taddr hole_find(const struct proc_maps *maps, uint64_t size, taddr lo, taddr hi)
{
	taddr low = hi > PATCH_REACH ? hi - PATCH_REACH : 0, high = lo + PATCH_REACH, best = 0;
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
		if (gap_between(below, above, size, &g)) {
			g.from = MAX(g.from, low);
			g.to = MIN(g.to, high);
			at = g.is_high || g.to < lo ? g.to : g.from;
			at &= ~4095ull;
			if (g.from <= g.to && at >= g.from &&
			    (!best || hole_distance(at, lo) < hole_distance(best, lo)))
				best = at;
		}
		if (!above)
			break;
		below = above;
	}
	return best;
}
