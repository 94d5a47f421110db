/* SPDX-License-Identifier: MIT */
/*
 * What an engine that walks user stacks offers to those who fill its tables: rows of files
 * (unwind/unwind.h), ustack helpers (helper/ustack.h), and what walks ask for.
 *
 * The rows of a file are a tree with a number. A file's entry says which tree it has; a walk that
 * meets a file without an entry adds one that is pending, and asks (rt/tables.h). Programs of
 * helpers are words in memory that the engine reads, for the machine of rt/helper.h; the engine may
 * compile them besides.
 *
 * Owns     all of it belongs to the engine, and ends with its run.
 * Errors   struct err *. Missing room is an error with errno ENOSPC.
 * Threads  the consumer's.
 */
#pragma once

#include <sys/sysmacros.h>

#include "files/file_id.h"
#include "image/ehframe.h"
#include "record/format.h"
#include "rt/helper.h"
#include "rt/tables.h"

struct helper_load; /* the engine's own */

/* The key by which walks know a file, if fstat() shows its device and inode as they have them. */
static inline struct rt_ufile_key stack_file_key(const struct file_id *id)
{
	return (struct rt_ufile_key){.ino = id->ino,
				     .size = id->size,
				     .mtime = (uint64_t)id->mtime,
				     /* as Linux include/linux/kdev_t.h has it */
				     .dev = (uint64_t)major(id->dev) << 20 | minor(id->dev)};
}

/* A program of helpers that the engine is to compile. */
struct helper_code {
	const uint64_t *words; /* instructions; texts may follow */
	uint32_t nwords;
	uint32_t base;	 /* the word of helper_words where the first one is */
	uint32_t frames; /* index of HOP_FRAMES */
	uint32_t index;	 /* of the program: 0, 1, ... */
	uint32_t loaded; /* the engine's own: what it has tried to compile */
	struct helper_load *load;
};

enum helper_code_state {
	HELPER_CODE_IDLE,    /* there is nothing to do */
	HELPER_CODE_LOADING, /* it is being compiled */
	HELPER_CODE_LOADED,  /* that has ended: *ret_err says how */
};

typedef void stack_request_f(void *ctx, const struct rt_ureq *req);

struct stack_tables_ops {
	/* Adds the rows as tree number `tree`; *ret_nlevels is 0 when there are no rows. */
	struct err *(*tree_add)(void *ctx, uint32_t tree, const struct unwind_rows *rows,
				const struct image_pause *pause, uint32_t *ret_nlevels);
	/* Removes the tree of nrows rows; no file may refer to it any more. */
	void (*tree_remove)(void *ctx, uint32_t tree, uint32_t nrows);
	/* Makes walks use that tree for mappings of the file from now on. */
	struct err *(*file_set)(void *ctx, const struct rt_ufile_key *key, struct rt_ufile file);
	/* The entry of the file, with the time of its last use; false: there is none. */
	bool (*file_read)(void *ctx, const struct rt_ufile_key *key, struct rt_ufile *ret);
	/* Removes the entry, so that the next walk that meets the file asks for it again. */
	void (*file_forget)(void *ctx, const struct rt_ufile_key *key);
	/* Calls f for each request since the last call. */
	void (*requests)(void *ctx, stack_request_f *f, void *arg);
	/* What walks of the process with that key run from now on (rt/helper.h). */
	struct err *(*process_set)(void *ctx, uint64_t key, const struct rt_hproc *hp);
	void (*process_forget)(void *ctx, uint64_t key);
	/* Returns how many stacks of the process were recorded before that, and forgets it. */
	uint64_t (*process_bare)(void *ctx, uint64_t key);
	/* What files fix of that (rt/helper.h); without room for it, nothing happens. */
	void (*runtime_file_set)(void *ctx, const struct rt_ufile_key *key,
				 const struct rt_hfile *file);
	/* NULL in place of the constants: there are none with that key any more. */
	void (*constants_set)(void *ctx, const struct rt_hconst_key *key,
			      const struct rt_hconst *constants);
	/* Begins to compile the program, or looks how far that is. */
	enum helper_code_state (*code_work)(void *ctx, struct helper_code *c, struct err **ret_err);
	/* Waits until a compilation that has begun is over. */
	void (*code_end)(struct helper_code *c);
};

struct stack_tables {
	const struct stack_tables_ops *ops;
	void *ctx;
	struct rt_control *control; /* epoch, and what helpers could not do */
	uint64_t *helper_words;	    /* RT_HCODE of them; NULL: no helpers run */
	int request_fd;		    /* becomes readable when a walk asks for something */
	/*
	 * The maps that walks read, by class (kernel/code.h), for programs of others that look
	 * whether a file is known (watch/watch.h).
	 */
	const int *map_fds;
};
