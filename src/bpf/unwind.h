/*
 * Unwind tables in the kernel: rows of a file (sym/ehframe.h) as a tree of blocks that rt/unwind.c
 * searches.
 *
 * Owns     nothing: what is added lives in the session's maps and ends with them.
 * Errors   struct err *. No room is an error with the errno ENOSPC.
 */
#pragma once

#include "bpf/engine.h"
#include "sym/ehframe.h"

/* Adds the rows as tree number tree; *ret_nlevels is 0 when there are none. */
MUST_CHECK struct err *utree_add(const struct kmaps *m, uint32_t tree,
				 const struct unwind_rows *rows, const struct unwind_pause *pause,
				 uint32_t *ret_nlevels);
/* Takes the tree of so many rows away again: no file may name it any more. */
void utree_remove(const struct kmaps *m, uint32_t tree, uint32_t nrows);
/* Blocks that so many rows take. */
uint32_t utree_nblocks(uint32_t nrows);
/* From now on, mappings of the file are walked with that tree. */
MUST_CHECK struct err *ufile_set(const struct kmaps *m, const struct rt_ufile_key *key,
				 struct rt_ufile file);
/*
 * What the kernel's side has for the file, with when it was used; false: it does not know the file.
 */
bool ufile_read(const struct kmaps *m, const struct rt_ufile_key *key, struct rt_ufile *ret);
/* Who meets the file next asks for it again. */
void ufile_forget(const struct kmaps *m, const struct rt_ufile_key *key);
