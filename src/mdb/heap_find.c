/* SPDX-License-Identifier: MIT */
/* Finds the arenas of glibc's malloc by their contents (heap.h). */
#include "mdb/heap.h"

#include "mdb/impl.h"

#define PIECE	    65536u
#define ARENAS_MAX  65536u
#define EMPTY_MIN   8u	/* bins of a heap that are surely empty: there are more sizes than uses */
#define BAD_MAX	    16u /* bins that may be damaged */
#define HEAP_ALIGN  (64ull << 20)
#define PARAM_RANGE 16384u /* bytes before and behind main_arena where malloc_par is searched */

/* Whether an arena lies in a heap that names it as its own. */
static bool arena_is_in_heap(struct heap *h, taddr at)
{
	taddr heap = at & ~(HEAP_ALIGN - 1);
	uint64_t owner;

	return at % 16 == 0 && at - heap >= 32 && at - heap <= 64 &&
	       mdb_read(h->m, heap, &owner, sizeof(owner)) && owner == at;
}

/* ---- main arenas ----------------------------------------------------------------------------- */

/* Whether both neighbours of a bin link back to it. */
static bool bin_is_linked(struct heap *h, taddr bin, taddr next, taddr prev)
{
	uint64_t back, forth;

	return mdb_read(h->m, next + CHUNK_HEADER + 8, &back, sizeof(back)) && back == bin &&
	       mdb_read(h->m, prev + CHUNK_HEADER, &forth, sizeof(forth)) && forth == bin;
}

static bool arena_is_here(struct heap *h, taddr at, const uint8_t *bytes)
{
	uint64_t next = word_at(bytes, ARENA_NEXT);
	uint32_t nempty = 0, nbad = 0;

	/* Bins alone would look the same 16 bytes further on. */
	if (next != at && !arena_is_in_heap(h, next))
		return false;
	for (uint32_t i = 0; i < ARENA_NBINS; i++) {
		taddr bin = ARENA_BIN(at, i);

		nempty += word_at(bytes, ARENA_BINS + 16 * i) == bin &&
			  word_at(bytes, ARENA_BINS + 16 * i + 8) == bin;
	}
	for (uint32_t i = 0; nempty >= EMPTY_MIN && nbad <= BAD_MAX && i < ARENA_NBINS; i++) {
		uint64_t fd = word_at(bytes, ARENA_BINS + 16 * i);
		uint64_t bk = word_at(bytes, ARENA_BINS + 16 * i + 8);
		taddr bin = ARENA_BIN(at, i);

		nbad += !(fd == bin && bk == bin) && !bin_is_linked(h, bin, fd, bk);
	}
	return nempty >= EMPTY_MIN && nbad <= BAD_MAX;
}

/* main_arena as the file has it: nothing but the link to itself and one attached thread. */
static bool arena_is_unused(taddr at, const uint8_t *bytes)
{
	if (word_at(bytes, ARENA_NEXT) != at || word_at(bytes, ARENA_ATTACHED) != 1)
		return false;
	for (uint32_t i = 0; i < ARENA_NEXT; i += 8)
		if (word_at(bytes, i))
			return false;
	return true;
}

static void mains_search(struct heap *h, const struct proc_map *map)
{
	uint8_t *bytes = xmalloc(PIECE + ARENA_SIZE);
	taddr at = map->start;

	while (map_is_low(map) && at < map->end && !h->m->is_interrupted &&
	       h->arenas.len < ARENAS_MAX) {
		size_t n = memory_some(h->m, at, bytes, PIECE + ARENA_SIZE);
		size_t i = 0;

		for (; n >= ARENA_SIZE && i <= n - ARENA_SIZE; i += 8) {
			if (arena_is_unused(at + i, bytes + i))
				h->has_unused = true;
			else if (arena_is_here(h, at + i, bytes + i))
				vec_push(&h->arenas,
					 (struct heap_arena){.addr = at + i, .is_main = true});
		}
		at = n ? at + MAX(i, (size_t)8) : memory_skip(h->m, at);
	}
	free(bytes);
}

/* ---- the others ------------------------------------------------------------------------------ */

static bool arena_is_known(const struct heap *h, taddr at)
{
	for (uint32_t i = 0; i < h->arenas.len; i++)
		if (h->arenas.data[i].addr == at)
			return true;
	return false;
}

/* Follows the ring of arenas of a main arena. */
static void ring_follow(struct heap *h, taddr first)
{
	taddr at = first, next;

	while (mdb_read(h->m, at + ARENA_NEXT, &next, sizeof(next)) && next != first &&
	       h->arenas.len < ARENAS_MAX) {
		if (arena_is_known(h, next))
			break;
		if (!arena_is_in_heap(h, next)) {
			heap_damage_add(h, at + ARENA_NEXT,
					"the link to the next arena leads to none", next, false, 0);
			break;
		}
		vec_push(&h->arenas, (struct heap_arena){.addr = next});
		at = next;
	}
}

/* ---- what malloc counts ---------------------------------------------------------------------- */

/* Reads the counters before mp_.sbrk_base, which stands at bytes; before 2.35 they are nearer. */
static bool counts_read(struct heap *h, const uint8_t *bytes)
{
	for (uint32_t back = 36; back >= 32; back -= 4) {
		uint32_t n[4]; /* n_mmaps, n_mmaps_max, max_n_mmaps, no_dyn_threshold */
		uint64_t mapped = word_at(bytes - 16, 0), most = word_at(bytes - 8, 0);

		memcpy(n, bytes - back, sizeof(n));
		if (!n[1] || n[0] > n[2] || n[2] > n[1] || n[3] > 1 || mapped > most ||
		    mapped % 4096 || !n[0] != !mapped)
			continue;
		h->nmapped = n[0];
		h->mapped = mapped;
		h->has_counts = true;
		return true;
	}
	return false;
}

/*
 * Finds mp_ by its last members: sbrk_base, which is where the main arena's memory begins, and the
 * limits of the caches of threads: tcache_bins, tcache_max_bytes, tcache_count.
 */
static void params_find(struct heap *h, taddr arena)
{
	const struct proc_map *map = proc_maps_find(target_maps(h->m->t), arena);
	taddr from = map ? MAX(map->start, arena - MIN(arena, (taddr)PARAM_RANGE)) : arena;
	uint8_t *bytes = xmalloc(2 * PARAM_RANGE);
	size_t n = memory_some(h->m, from, bytes, 2 * PARAM_RANGE);

	for (size_t i = 40; i + 32 <= n; i += 8) {
		uint64_t base = word_at(bytes, i), nbins = word_at(bytes, i + 8);
		uint64_t max = word_at(bytes, i + 16), count = word_at(bytes, i + 24);

		if (nbins && nbins <= 128 && max >= 24 && max <= 1u << 26 && count <= 65535 &&
		    (!base || proc_maps_find(target_maps(h->m->t), base)) &&
		    counts_read(h, bytes + i)) {
			h->sbrk_base = base;
			break;
		}
	}
	free(bytes);
}

/* ---- all ------------------------------------------------------------------------------------- */

static void allocator_find(struct heap *h)
{
	static const char *const names[] = {"libjemalloc", "libtcmalloc", "libmimalloc", "ld-musl"};

	for (uint32_t i = 0; i < h->m->objects.len; i++)
		for (size_t k = 0; k < ARRAY_LEN(names); k++)
			if (strncmp(h->m->objects.data[i].name, names[k], strlen(names[k])) == 0)
				h->other = h->m->objects.data[i].name;
}

void arenas_find(struct heap *h)
{
	const struct proc_maps *maps = target_maps(h->m->t);
	uint32_t nmain;

	allocator_find(h);
	for (uint32_t i = 0; i < maps->maps.len; i++)
		if (maps->maps.data[i].is_write && !maps->maps.data[i].is_shared &&
		    proc_map_has_file(&maps->maps.data[i]))
			mains_search(h, &maps->maps.data[i]);
	/* In a core file that does not name files, the data of files is memory as any other. */
	for (uint32_t i = 0; !h->arenas.len && !h->has_unused && i < maps->maps.len; i++)
		if (maps->maps.data[i].is_write && !maps->maps.data[i].is_shared)
			mains_search(h, &maps->maps.data[i]);
	nmain = h->arenas.len;
	for (uint32_t i = 0; i < nmain && !h->has_counts; i++)
		params_find(h, h->arenas.data[i].addr);
	for (uint32_t i = 0; i < nmain; i++)
		ring_follow(h, h->arenas.data[i].addr);
	for (uint32_t i = 0; i < h->arenas.len; i++) {
		struct heap_arena *a = &h->arenas.data[i];
		uint32_t flags;

		a->is_scattered =
			mdb_read(h->m, a->addr + ARENA_FLAGS, &flags, sizeof(flags)) && flags & 2;
		if (!mdb_read(h->m, a->addr + ARENA_TOP, &a->top, sizeof(a->top)) ||
		    !mdb_read(h->m, a->addr + ARENA_SYSTEM, &a->system, sizeof(a->system)))
			heap_damage_add(h, a->addr, "the arena cannot be read", 0, false, 0);
	}
}
