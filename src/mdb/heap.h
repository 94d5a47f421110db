/* SPDX-License-Identifier: MIT */
/*
 * The heap of glibc's malloc in a target: its arenas, and all of its chunks.
 *
 * Nothing says where the heap is: main_arena is a local symbol, and libc.so.6 is stripped. It is
 * recognised by its contents, in the writable data of files: a table of 127 bins, lists of two
 * directions of which each empty one points to itself, and a pointer to the next arena, which leads
 * back to the first. What is found so is walked:
 *
 *     main arena      what sbrk() has given, from mp_.sbrk_base to the end of the top chunk
 *     other arenas    heaps of 64 MB at most, at multiples of 64 MB, linked by their heap_info
 *     mmapped chunks  anonymous memory that begins with the header of such a chunk
 *
 * A chunk is a header of 16 bytes, of which the first word belongs to the chunk before, and memory
 * behind it; its address here is that of the header. Free chunks are told by the next chunk's
 * header, those in caches by their lists. Where a size leads nowhere, the walk goes on at the next
 * chunk to which an arena points.
 *
 * Owns     everything in it; the debugger keeps one, and frees it with heap_free().
 * Errors   struct err *: there is no such heap. Damage is no error: it is listed.
 * Units    bytes.
 * Facts    glibc malloc/malloc.c and arena.c, 2.27 to 2.41: struct malloc_state, malloc_par,
 *          malloc_chunk, tcache_perthread_struct, heap_info. From 2.32 on, links of caches are
 *          XORed with the address of the link >> 12, which is found out by trying.
 */
#pragma once

#include "base/err.h"
#include "base/vec.h"

struct mdb;
struct proc_map;

enum chunk_state {
	CHUNK_BUSY,
	CHUNK_MMAPPED, /* busy, with a mapping of its own */
	CHUNK_TCACHE,  /* freed, in the cache of a thread */
	CHUNK_FASTBIN, /* freed, in a cache of its arena */
	CHUNK_FREE,
	CHUNK_TOP, /* the free end of an arena */
	CHUNK_NSTATES,
};
const char *chunk_state_name(enum chunk_state s);

#define CHUNK_HEADER 16u
#define NO_ARENA     UINT32_MAX

struct chunk {
	taddr addr; /* of the header */
	uint64_t size;
	uint32_t arena; /* NO_ARENA: mmapped */
	enum chunk_state state;
};
static inline bool chunk_is_busy(const struct chunk *c)
{
	return c->state <= CHUNK_MMAPPED;
}
static inline taddr chunk_memory(const struct chunk *c)
{
	return c->addr + CHUNK_HEADER;
}
/* The bytes that the program may use: those behind the header, and the next chunk's first word. */
static inline uint64_t chunk_usable(const struct chunk *c)
{
	return c->size - (c->state == CHUNK_MMAPPED ? 16 : 8);
}

struct heap_arena {
	taddr addr, top;
	uint64_t system; /* bytes that it has got of the system */
	bool is_main;
	bool is_scattered; /* sbrk() has failed once: its memory is not in one piece */
};

/* A part of memory whose chunks follow one another. */
struct heap_span {
	taddr start, end;
	uint32_t arena;		 /* NO_ARENA: a mmapped chunk */
	uint32_t first, nchunks; /* in the list of chunks */
	/* The first chunk that ends behind start + (i << shift), for each i. */
	VEC(uint32_t) index;
	uint32_t shift;
};

/* Where the heap is not as malloc has left it. */
struct heap_damage {
	taddr at;
	const char *what;
	uint64_t found;	  /* the word that is wrong */
	taddr goes_on;	  /* where the walk of chunks goes on; 0: it does not, or has not stopped */
	bool has_stopped; /* the walk of chunks */
};

struct heap {
	struct mdb *m;
	VEC(struct heap_arena) arenas;
	VEC(struct heap_span) spans; /* ascending */
	VEC(struct chunk) chunks;    /* ascending */
	VEC(struct heap_damage) damages;
	VEC(taddr) known; /* chunks to which arenas point, ascending */
	uint64_t nhidden; /* damages that are not listed, because there are too many */
	bool is_cut;	  /* there are more chunks than fit in memory */
	bool has_unused;  /* an arena was found of which nothing was ever asked */
	bool has_counts;  /* of mmapped chunks, as malloc counts them: */
	uint32_t nmapped;
	uint64_t mapped;
	taddr sbrk_base; /* 0: not known */
	enum { LINKS_UNKNOWN, LINKS_PLAIN, LINKS_MANGLED } links;
	uint32_t ntries;   /* lists by which the form of links was to be found out */
	const char *other; /* name of an object that is an allocator of its own; NULL */
};

/* Finds the heap at the first call. */
MUST_CHECK struct err *heap_get(struct mdb *m, struct heap **ret);
/* An error if another allocator has given the program its blocks, or some of them. */
MUST_CHECK struct err *heap_check(const struct heap *h);
void heap_free(struct heap *h); /* NULL is allowed */
/* The chunk of which an address is a part, header included; NULL: it is in none. */
struct chunk *heap_chunk_at(const struct heap *h, taddr addr);

/*
 * Reads the memory that is there from addr on, at most size bytes and not beyond the end of its
 * mapping; returns how many, 0: none is. memory_skip() returns where more may be, then.
 */
size_t memory_some(struct mdb *m, taddr addr, void *to, size_t size);
taddr memory_skip(struct mdb *m, taddr addr);
/* Whether a mapping ends below the end of user addresses; a core file may claim others. */
bool map_is_low(const struct proc_map *map);

/* ---- inside (heap.c, heap_find.c, heap_lists.c) ---------------------------------------------- */

/* struct malloc_state */
#define ARENA_SIZE	2200u
#define ARENA_FLAGS	4u /* 2: NONCONTIGUOUS_BIT */
#define ARENA_FASTBINS	16u
#define ARENA_NFASTBINS 10u
#define ARENA_TOP	96u
#define ARENA_BINS	112u
#define ARENA_NBINS	127u
#define ARENA_NEXT	2160u
#define ARENA_ATTACHED	2176u
#define ARENA_SYSTEM	2184u
/* The address of a bin as if it were a chunk, whose links are those of the bin. */
#define ARENA_BIN(arena, i) ((arena) + ARENA_BINS - CHUNK_HEADER + 16ull * (i))

#define SIZE_OF(word)	((word) & ~7ull)
#define IS_PREV_BUSY(w) ((w)&1)
#define IS_MMAPPED(w)	((w)&2)
#define IS_NOT_MAIN(w)	((w)&4)
#define CHUNK_SIZE_MIN	32u

static inline uint64_t word_at(const uint8_t *bytes, size_t off)
{
	uint64_t word;

	memcpy(&word, bytes + off, sizeof(word));
	return word;
}
void heap_damage_add(struct heap *h, taddr at, const char *what, uint64_t found, bool has_stopped,
		     taddr goes_on);
void arenas_find(struct heap *h);
void known_collect(struct heap *h);
/* Tells which of the chunks that look busy are in caches. */
void caches_mark(struct heap *h);
