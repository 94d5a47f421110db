/* SPDX-License-Identifier: MIT */
/*
 * Leaks: busy chunks of malloc to which nothing points (reach.h).
 *
 * Of a list that has leaked, nothing but its begin is pointed to by nobody: the others are held by
 * it, and count as its memory. Of a ring, the chunk with the lowest address stands for it.
 *
 * Owns     everything in a struct leaks, until leaks_deinit().
 * Errors   struct err *: there is no heap of glibc's malloc.
 * Units    bytes.
 */
#pragma once

#include "mdb/reach.h"

/* A chunk that has leaked, and that no other one holds. */
struct leak {
	uint32_t chunk;
	uint64_t held; /* bytes of it, and of what it holds */
};

struct leaks {
	struct reach reach;
	VEC(struct leak) list;	  /* by address */
	uint64_t nchunks, nbytes; /* of all chunks that have leaked */
	uint64_t nbusy;		  /* chunks in use, those that have leaked included */
	uint64_t nbusy_bytes;
};

MUST_CHECK struct err *leaks_make(struct mdb *m, struct leaks *l);
void leaks_deinit(struct leaks *l);
