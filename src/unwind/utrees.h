/*
 * The unwind tables that are in the kernel: files, the keys by which the kernel's side knows them,
 * their blocks.
 *
 * Blocks, files and keys are bounded. When one of them runs out, tables go that no walk has used
 * for some epochs (a second each; rt/unwind.c notes in struct rt_ufile when it looks a file up),
 * those least recently used first; a file that is met again is asked for again. When all are in
 * use, the new file has no rows until there is room.
 *
 * A file that could not be opened is asked for again by the next stack, at a limited rate: beyond
 * it the file has no rows for ten seconds.
 *
 * Owns     the files; what is in the kernel's maps ends with the session.
 * Errors   what does not fit is told once, by the notice.
 */
#pragma once

#include "base/hashmap.h"
#include "bpf/engine.h"
#include "bpf/unwind.h"

/* A file that processes map. */
struct wfile {
	struct rt_ufile_key key; /* as fstat() has it: not always what the kernel's side sees */
	struct rt_ufile file;
	uint32_t nrows;
	uint32_t nblocks; /* that it has in the kernel, or needs while is_refused */
	bool is_loading;  /* there is nothing in file yet */
	bool is_refused;  /* there was no room for its rows */
	uint32_t used;	  /* epoch; while tables are chosen that go */
	char *cut_path;	  /* not NULL: some rows are missing, which the user was not told yet */
	VEC(struct rt_ufile_key) keys; /* by which the kernel knows it */
};

/* A file that could not be opened: it has no rows until that epoch. */
struct given_up {
	struct rt_ufile_key key;
	uint32_t until;
};

struct utrees {
	const struct kmaps *maps;
	void (*notice)(void *ctx, const char *msg);
	void *ctx;
	const struct unwind_pause *pause;
	struct hashmap *files; /* struct rt_ufile_key -> struct wfile */
	uint32_t ntrees;       /* ever made: numbers are not used again */
	uint32_t nkeys, nrefused;
	uint64_t nblocks, max_blocks;
	VEC(struct given_up) given_up; /* the oldest first */
	uint32_t nfailed;	       /* in this epoch */
	/* the epoch, plus one, in which not enough could be removed */
	uint32_t searched;
	uint64_t searched_for; /* ... for so many blocks */
	uint64_t nremoved;
	uint32_t ncut; /* files that have a cut_path */
	bool is_full;  /* told */
};

void utrees_init(struct utrees *t, const struct kmaps *maps, uint64_t unwindsize);
void utrees_deinit(struct utrees *t);

struct wfile *utrees_find(const struct utrees *t, const struct rt_ufile_key *key);
/* A file whose rows are being read; utrees_fill() follows. */
struct wfile *utrees_begin(struct utrees *t, const struct rt_ufile_key *key);
/*
 * is_asked: by a walk. Otherwise a file for which there is no room is forgotten: then false, and f
 * is gone.
 */
bool utrees_fill(struct utrees *t, struct wfile *f, const struct unwind_rows *rows,
		 const char *path, bool is_asked);
/* The rows of a file are not all: remembers what the user is to be told. */
void utrees_note_cut(struct utrees *t, struct wfile *f, const char *path);
/*
 * Returns the path of a file that a walk has met and that was noted, once; NULL: there is none. The
 * text is the caller's to free().
 */
char *utrees_take_cut(struct utrees *t);
/* The rows of a file that utrees_begin() has returned cannot be read now: it is gone. */
void utrees_abandon(struct utrees *t, struct wfile *f);
/* A walk has asked for the file, which the kernel's side knows by this key. */
void utrees_publish(struct utrees *t, struct wfile *f, const struct rt_ufile_key *key);
/* Rows that stay, whatever happens: those of the vDSO. */
void utrees_add_fixed(struct utrees *t, const struct rt_ufile_key *key,
		      const struct unwind_rows *rows, const char *path);
/* The file of a request could not be opened. */
void utrees_failed(struct utrees *t, const struct rt_ufile_key *key);
/* An epoch ends. */
void utrees_tick(struct utrees *t);
