/* SPDX-License-Identifier: MIT */
/*
 * The inside of a flame graph that is being made (flame.h): flame.c collects one set of stacks at a
 * time as a tree, and flame_out.c encodes the tree into the page.
 *
 * Owns     struct flame_page owns its texts, tables and encoded sets; the tree belongs to the set
 *          that is open and is emptied with it.
 * Units    names and nodes are numbers, by the order in which they were added; offsets are bytes of
 *          flame_page.texts.
 */
#pragma once

#include "picture/flame.h"

#define NO_NODE UINT32_MAX

struct flame_node {
	uint32_t parent, name;
	int64_t self, before; /* values without those of the children */
};

struct flame_text {
	uint32_t off, len; /* in the page's block of texts; the first byte is the kind */
	uint32_t out;	   /* 1 + its number in the file; 0: not there */
};

/* Numbers from 0 for pairs of numbers, in a table of open addressing. */
struct pair_table {
	uint32_t *slots; /* 1 + index; 0 = free */
	uint32_t cap, len;
};

struct flame_tree {
	VEC(struct flame_node) nodes; /* parents before children; the first is the root */
	struct pair_table children;
	uint64_t nlost; /* frames for which the tree had no room */
	bool has_before;
};

struct flame_page {
	struct flame_opts opts;
	struct page_facts facts;
	struct strbuf texts;
	VEC(struct flame_text) names;
	struct pair_table by_text;
	struct flame_tree tree; /* of the present set */
	struct flame_set_info info;
	char *title; /* of the present set */
	struct page_notes notes, set_notes;
	bool in_set;
	/* what is encoded */
	struct strbuf out_names, out_sets, still;
	uint32_t nout, nsets;
	uint64_t nskipped; /* sets for which the file had no room */
	uint32_t still_rows;
};

/* flame_out.c: encodes the present tree to the sets of the page. */
void flame_encode(struct flame_page *f);
