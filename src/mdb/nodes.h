/* SPDX-License-Identifier: MIT */
/*
 * The objects of a census as nodes of a graph: which object a word leads to.
 *
 * A heap has many times more words than objects, and each of them is asked about.
 *
 * Owns     its tables, until nodes_free().
 * Errors   none: memory only.
 */
#pragma once

#include "mdb/census.h"

#define PAGE_BITS  16 /* of an address */
#define PAGE_WORDS (1u << (PAGE_BITS - 3))
#define NOBODY	   UINT32_MAX

struct nodes {
	const struct census *s;
	uint32_t n;
	struct page *pages;
	uint32_t *slots; /* open addressing: a page's index + 1 */
	uint32_t mask;
};

void nodes_make(struct nodes *ns, const struct census *s);
void nodes_free(struct nodes *ns);
/* Returns the number of the object of a word; NOBODY: it is none. */
uint32_t node_find(const struct nodes *ns, uint64_t word);
