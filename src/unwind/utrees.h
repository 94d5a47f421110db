/* SPDX-License-Identifier: MIT */
/*
 * The unwind tables that are in the kernel: the files, the keys by which the kernel's side knows
 * the files, and the blocks with their rows.
 *
 * Blocks, files and keys are bounded. When one of them runs out, tables that no walk has used for
 * some epochs (a second each; rt/unwind.c notes in struct rt_ufile when it looks a file up) are
 * removed, the least recently used first. A removed file that a walk meets is requested again.
 * When all tables are in use, the new file has no rows until there is room.
 *
 * A file that could not be opened is requested again by the next stack, at a limited rate: beyond
 * that rate the file has no rows for ten seconds.
 *
 * Owns     the files; what is in the kernel's maps ends with the session.
 * Errors   the user gets one notice when tables do not fit.
 */
#pragma once

#include "base/hashmap.h"
#include "unwind/tables.h"

/* A file that processes map. */
struct wfile {
	struct rt_ufile_key key; /* as fstat() has it: not always what the kernel's side sees */
	struct rt_ufile file;
	uint32_t nrows;
	uint32_t nblocks; /* blocks that the file has in the kernel, or needs while is_refused */
	bool is_loading;  /* the member `file` is not filled in yet */
	bool is_refused;  /* there was no room for its rows */
	uint32_t used;	  /* epoch of the last use; valid while tables to remove are chosen */
	char *cut_path;	  /* not NULL: some rows are missing, and the user does not know yet */
	VEC(struct rt_ufile_key) keys; /* by which the kernel knows it */
};

/* A file that could not be opened: it has no rows until the epoch `until`. */
struct given_up {
	struct rt_ufile_key key;
	uint32_t until;
};

struct utrees {
	const struct stack_tables *tables;
	void (*notice)(void *ctx, const char *msg);
	void *ctx;
	const struct image_pause *pause;
	struct hashmap *files; /* struct rt_ufile_key -> struct wfile */
	uint32_t ntrees;       /* trees ever made: their numbers are not used again */
	uint32_t nkeys, nrefused;
	uint64_t nblocks, max_blocks;
	VEC(struct given_up) given_up; /* the oldest first */
	uint32_t nfailed;	       /* calls of utrees_failed() in this epoch */
	/* The epoch, plus one, in which too few tables could be removed ... */
	uint32_t searched;
	uint64_t searched_for; /* ... to make room for so many blocks. */
	uint64_t nremoved;
	uint32_t ncut; /* files that have a cut_path */
	bool is_full;  /* the user knows that there is no room */
};

void utrees_init(struct utrees *t, const struct stack_tables *tables, uint64_t unwindsize);
void utrees_deinit(struct utrees *t);

struct wfile *utrees_find(const struct utrees *t, const struct rt_ufile_key *key);
/* Adds a file whose rows are being read; utrees_fill() or utrees_abandon() follows. */
struct wfile *utrees_begin(struct utrees *t, const struct rt_ufile_key *key);
/*
 * Gives the file its rows. is_asked: a walk has requested the file. Without a request a file for
 * which there is no room is removed: then the function returns false, and f is freed.
 */
bool utrees_fill(struct utrees *t, struct wfile *f, const struct unwind_rows *rows,
		 const char *path, bool is_asked);
/* Some rows of the file are missing: remembers its path for a message to the user. */
void utrees_note_cut(struct utrees *t, struct wfile *f, const char *path);
/*
 * Returns the path of a file that a walk has met and that utrees_note_cut() has remembered, each
 * once; NULL: there is none. The caller frees the text.
 */
char *utrees_take_cut(struct utrees *t);
/* The rows of a file that utrees_begin() has returned cannot be read now: removes and frees f. */
void utrees_abandon(struct utrees *t, struct wfile *f);
/* A walk has requested the file by this key: gives the kernel's side what the key stands for. */
void utrees_publish(struct utrees *t, struct wfile *f, const struct rt_ufile_key *key);
/* Adds rows that are never removed: those of the vDSO. */
void utrees_add_fixed(struct utrees *t, const struct rt_ufile_key *key,
		      const struct unwind_rows *rows, const char *path);
/* Notes that the file of a request could not be opened. */
void utrees_failed(struct utrees *t, const struct rt_ufile_key *key);
/* An epoch ends. */
void utrees_tick(struct utrees *t);
