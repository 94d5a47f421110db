/* SPDX-License-Identifier: MIT */
/*
 * Unwind tables in the kernel: the rows of a file (image/ehframe.h) as a tree of blocks, which
 * rt/unwind.c searches.
 *
 * Owns     nothing: the blocks live in the session's maps and end with them.
 * Errors   struct err *. Missing room is an error with errno ENOSPC.
 */
#pragma once

#include "bpf/engine.h"
#include "image/ehframe.h"

/* Adds the rows as tree number `tree`; *ret_nlevels is 0 when there are no rows. */
MUST_CHECK struct err *utree_add(const struct kmaps *m, uint32_t tree,
				 const struct unwind_rows *rows, const struct unwind_pause *pause,
				 uint32_t *ret_nlevels);
/* Removes the tree of nrows rows; no file may refer to it any more. */
void utree_remove(const struct kmaps *m, uint32_t tree, uint32_t nrows);
/* The number of blocks that nrows rows take. */
uint32_t utree_nblocks(uint32_t nrows);
/* Makes walks use that tree for mappings of the file from now on. */
MUST_CHECK struct err *ufile_set(const struct kmaps *m, const struct rt_ufile_key *key,
				 struct rt_ufile file);
/* The entry of the file in the kernel, with the time of its last use; false: there is none. */
bool ufile_read(const struct kmaps *m, const struct rt_ufile_key *key, struct rt_ufile *ret);
/* Removes the entry, so that the next walk that meets the file asks for it again. */
void ufile_forget(const struct kmaps *m, const struct rt_ufile_key *key);
