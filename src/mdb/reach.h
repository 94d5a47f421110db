/* SPDX-License-Identifier: MIT */
/*
 * Which busy chunks of malloc can be reached: a conservative search.
 *
 * Whatever looks like an address in the memory of a chunk holds the chunk, and what is in it. The
 * search begins with the roots:
 *
 *     data of files, also what was made read-only when the dynamic linker was done with it
 *     all other writable memory that is no chunk: stacks, thread-local memory, mappings
 *     registers of all threads
 *
 * without the arenas themselves, and without what is below the stack pointer of a thread, where
 * calls that have returned left their pointers. In memory that is freed, nothing counts.
 *
 * Owns     everything in a struct reach, until reach_deinit().
 * Errors   struct err *: there is no heap of glibc's malloc. Memory that is missing is counted.
 * Units    bytes.
 */
#pragma once

#include "mdb/heap.h"

struct mdb;
struct reach_block;

#define NO_CHUNK UINT32_MAX

/* Marks of a chunk. Those who ask after the search may add others. */
#define REACH_MARK 1u /* a root leads to it */

/* What holds a chunk, as the search has met it first. */
struct reach_hold {
	uint32_t by; /* the chunk that has the word; NO_CHUNK: it is a root */
	taddr at;    /* of the word; 0: it is in a register */
};

struct reach_range {
	taddr start, end;
};

struct reach {
	struct mdb *m;
	struct heap *h;
	uint8_t *marks; /* of each chunk */
	/* Of each chunk, by a shortest chain of what holds it; NULL: it was not asked for. */
	struct reach_hold *holds;
	uint64_t searched, missing,
		dead; /* bytes of roots: read, not there, below stack pointers */

	/* inside */
	VEC(uint32_t) todo;	       /* chunks to search */
	uint32_t next;		       /* of these, if they are searched in their order */
	VEC(struct reach_range) skips; /* ascending, apart: no roots are there */
	VEC(uint64_t) registers;
	uint8_t *piece;
	struct reach_block **blocks; /* of memory that was read */
	/* of each 16 MB of the address space a bit: whether chunks are there */
	uint8_t *near;
};

enum reach_how {
	REACH_NOTHING, /* memory can be read; there are no marks */
	REACH_MARKS,
	REACH_HOLDS, /* r->holds, too; roots in the data of files are the first ones */
};
/*
 * Finds the chunks, and searches. An interrupted search is told by m->is_interrupted.
 * reach_deinit() is right also after an error.
 */
MUST_CHECK struct err *reach_make(struct mdb *m, enum reach_how how, struct reach *r);
void reach_deinit(struct reach *r);

/* Says that a word at an address, in a chunk or (NO_CHUNK) a root, leads to the chunk `to`. */
typedef void reach_found(struct reach *r, uint32_t in, taddr at, uint32_t to);
/* Calls found for the words of a chunk that lead to busy chunks. */
void reach_chunk(struct reach *r, uint32_t chunk, reach_found *found);
/* Adds a chunk to those that reach_rest() searches. */
void reach_add(struct reach *r, uint32_t chunk);
/* Searches all that were added, also by found; returns the bytes of these chunks. */
uint64_t reach_rest(struct reach *r, reach_found *found);
/* Reads memory through the blocks that are kept; false: it is not there. */
bool reach_read(struct reach *r, taddr at, void *to, size_t size);
