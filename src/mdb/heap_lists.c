/* SPDX-License-Identifier: MIT */
/* The lists in which malloc keeps free chunks (heap.h): bins, and caches of arenas and threads. */
#include "mdb/heap.h"

#include "mdb/impl.h"

#define KNOWN_MAX (1u << 22)
#define SHORT_MAX 64u	/* chunks of a list by which it is found out how links are written */
#define TRIES_MAX 1000u /* lists that are tried for this */

/* ---- bins ------------------------------------------------------------------------------------ */

/*
 * Adds the chunks of a bin to those that are known. A chunk has one predecessor only, which is
 * checked: so the list cannot be a ring that does not contain the bin.
 */
static void bin_collect(struct heap *h, taddr bin)
{
	taddr at, prev = bin;
	uint64_t links[2];

	if (!mdb_read(h->m, bin + CHUNK_HEADER, &at, sizeof(at)))
		return;
	while (at && at != bin && h->known.len < KNOWN_MAX && !h->m->is_interrupted) {
		if (at % 16 || !mdb_read(h->m, at + CHUNK_HEADER, links, sizeof(links)) ||
		    links[1] != prev) {
			heap_damage_add(h, prev + CHUNK_HEADER,
					"the link to the next free chunk leads to none", at, false,
					0);
			return;
		}
		vec_push(&h->known, at);
		prev = at;
		at = links[0];
	}
}

static int addr_compare(const void *a, const void *b)
{
	taddr x = *(const taddr *)a, y = *(const taddr *)b;

	return (x > y) - (x < y);
}

void known_collect(struct heap *h)
{
	for (uint32_t i = 0; i < h->arenas.len; i++) {
		const struct heap_arena *a = &h->arenas.data[i];

		for (uint32_t k = 0; k < ARENA_NBINS; k++)
			bin_collect(h, ARENA_BIN(a->addr, k));
		if (a->top && a->top != ARENA_BIN(a->addr, 0))
			vec_push(&h->known, a->top);
	}
	if (h->known.len)
		qsort(h->known.data, h->known.len, sizeof(taddr), addr_compare);
}

/* ---- caches ---------------------------------------------------------------------------------- */

/* A list of freed chunks of one size, linked in one direction through their memory. */
struct cache {
	taddr first;	 /* of a thread's cache the memory, of an arena's the header */
	bool is_headers; /* links lead to headers */
	uint64_t size;
	enum chunk_state state;
};

/* The busy chunk of the cache's size to which a link leads; NULL: there is none. */
static struct chunk *member_find(const struct heap *h, const struct cache *k, taddr link)
{
	taddr header = k->is_headers ? link : link - CHUNK_HEADER;
	struct chunk *c = link ? heap_chunk_at(h, header) : NULL;

	return c && c->addr == header && c->size == k->size && c->state == CHUNK_BUSY ? c : NULL;
}

static taddr link_decode(taddr place, uint64_t raw, bool is_mangled)
{
	return is_mangled ? raw ^ place >> 12 : raw;
}

/*
 * Marks the chunks of a list; returns how many, and in *ret_end where it does not lead on: NULL is
 * its end. Chunks that are marked look busy no more, so that a ring ends.
 */
static uint64_t list_mark(struct heap *h, const struct cache *k, bool is_mangled, taddr *ret_end)
{
	taddr at = k->first;
	struct chunk *c;
	uint64_t n = 0, raw;

	while ((c = member_find(h, k, at))) {
		c->state = k->state;
		n++;
		if (!mdb_read(h->m, chunk_memory(c), &raw, sizeof(raw)))
			break;
		at = link_decode(chunk_memory(c), raw, is_mangled);
	}
	*ret_end = at;
	return n;
}

/* Whether a short list ends with NULL if its links are so. */
static bool list_ends(struct heap *h, const struct cache *k, bool is_mangled)
{
	taddr at = k->first;
	struct chunk *c;
	uint64_t n = 0, raw;

	while ((c = member_find(h, k, at)) && n++ < SHORT_MAX) {
		if (!mdb_read(h->m, chunk_memory(c), &raw, sizeof(raw)))
			return false;
		at = link_decode(chunk_memory(c), raw, is_mangled);
	}
	return n && !at;
}

static void cache_mark(struct heap *h, const struct cache *k, taddr place)
{
	taddr end;

	if (h->links == LINKS_UNKNOWN && h->ntries++ < TRIES_MAX)
		h->links = list_ends(h, k, true)    ? LINKS_MANGLED
			   : list_ends(h, k, false) ? LINKS_PLAIN
						    : LINKS_UNKNOWN;
	(void)list_mark(h, k, h->links != LINKS_PLAIN, &end);
	if (end)
		heap_damage_add(h, place,
				"the list of freed chunks there leads to none of its size", end,
				false, 0);
}

/* struct tcache_perthread_struct: counters, then the first of each list. */
struct tcache_layout {
	uint64_t chunk; /* the size of the chunk that it is */
	uint32_t counter, nlists;
};
static const struct tcache_layout tcaches[] = {
	{0x290, 2, 64}, /* from 2.30 on */
	{0x250, 1, 64}, /* before */
};

/*
 * Whether a chunk's memory can be the cache of a thread: each counter that is not 0 has a list, no
 * other has one, there is a list, and each begins with a chunk of its size.
 */
static bool tcache_is_here(struct heap *h, const struct tcache_layout *l, const uint8_t *bytes)
{
	uint32_t nused = 0;

	for (uint32_t i = 0; i < l->nlists; i++) {
		const struct cache k = {.size = CHUNK_SIZE_MIN + 16ull * i};
		uint32_t count = bytes[i * l->counter];
		taddr first = word_at(bytes, l->counter * l->nlists + 8 * i);

		if (l->counter == 2)
			count |= (uint32_t)bytes[2 * i + 1] << 8;
		if (!count != !first || (count && !member_find(h, &k, first)))
			return false;
		nused += count != 0;
	}
	return nused;
}

static void tcache_mark(struct heap *h, const struct chunk *c, const struct tcache_layout *l)
{
	uint8_t bytes[64 * (2 + 8)];
	uint32_t size = l->nlists * (l->counter + 8);

	if (!mdb_read(h->m, chunk_memory(c), bytes, size) || !tcache_is_here(h, l, bytes))
		return;
	for (uint32_t i = 0; i < l->nlists; i++) {
		const struct cache k = {.first = word_at(bytes, l->counter * l->nlists + 8 * i),
					.size = CHUNK_SIZE_MIN + 16ull * i,
					.state = CHUNK_TCACHE};

		if (k.first)
			cache_mark(h, &k, chunk_memory(c) + l->counter * l->nlists + 8 * i);
	}
}

void caches_mark(struct heap *h)
{
	for (uint32_t i = 0; i < h->chunks.len && !h->m->is_interrupted; i++)
		for (size_t k = 0; k < ARRAY_LEN(tcaches); k++)
			if (h->chunks.data[i].size == tcaches[k].chunk &&
			    h->chunks.data[i].state == CHUNK_BUSY)
				tcache_mark(h, &h->chunks.data[i], &tcaches[k]);
	for (uint32_t i = 0; i < h->arenas.len; i++)
		for (uint32_t k = 0; k < ARENA_NFASTBINS; k++) {
			taddr place = h->arenas.data[i].addr + ARENA_FASTBINS + 8 * k;
			struct cache list = {.is_headers = true,
					     .size = CHUNK_SIZE_MIN + 16ull * k,
					     .state = CHUNK_FASTBIN};

			if (mdb_read(h->m, place, &list.first, sizeof(list.first)) && list.first)
				cache_mark(h, &list, place);
		}
}
