/*
 * Processes: what each has mapped now, and had mapped before.
 *
 * What is mapped is known from /proc when a process is first asked for, and from the kernel's
 * events (uprocs_forked() and so on) from then on. From fork to exec a process has the address
 * space of its parent; each exec begins a new one. The older ones stay, and so do processes that
 * have ended: what is printed may have been recorded long ago.
 *
 * Owns     processes, address spaces.
 * Units    times in ns of CLOCK_MONOTONIC.
 * Errors   none: a process that has ended unseen has no mappings.
 */
#pragma once

#include "base/vec.h"
#include "sym/ufile.h"

struct umap {
	taddr start, end;
	uint64_t off;	    /* in the file */
	struct ufile *file; /* NULL: memory that no file stands behind; only if is_exec */
	bool is_exec;
};

typedef VEC(struct umap) umap_vec;

/* A directory that is "/" for some processes. */
struct uroot {
	int fd;
};

struct uspace {
	uint32_t refs;
	uint64_t since;	      /* 0 = since before we looked */
	umap_vec maps;	      /* ascending; do not overlap */
	bool has_jit;	      /* executable memory without a file */
	struct uroot *root;   /* NULL = ours */
	struct uspace *older; /* what it was before; NULL = unknown */
};

struct uproc {
	uint64_t pid;
	uint64_t tick;	  /* when /proc was last read; 0 = never */
	uint64_t read_at; /* what happened before is in what was read then */
	uint64_t ended;	  /* 0 = lives */
	bool is_denied;	  /* we have no right to read what it has mapped */
	uint64_t nspid;	  /* its id in its own namespace; 0 = not asked yet */
	struct uspace *space;
	struct ujit *jit; /* NULL: it makes no code */
};

struct ujit {
	int64_t wall_start;	 /* seconds: an older file is another process's */
	uid_t uid;		 /* who may have written it, beside root */
	uint64_t tick;		 /* when the file was last looked for */
	struct perfmap *perfmap; /* NULL: there was none */
	char object[32];	 /* "perf-7.map" */
};

struct uend {
	uint64_t pid, time;
};

struct uprocs {
	struct hashmap *procs; /* u64 pid -> struct uproc */
	struct hashmap *roots; /* directories that are "/" for some: "namespace dev inode" */
	struct ufiles files;
	uint64_t tick;
	bool is_told; /* the kernel tells of all changes: no need to look again each tick */
	VEC(struct uend) ends; /* ring of processes that have ended, in this order */
	uint32_t next_end;
	VEC(uint64_t) makers; /* processes that make code and have no perf-PID.map yet */
};

void uprocs_init(struct uprocs *u);
void uprocs_deinit(struct uprocs *u);
/* Time has passed. */
void uprocs_tick(struct uprocs *u);

/* Never NULL. Reads /proc when that was not done, or not since the last tick and it should be. */
struct uproc *uproc_get(struct uprocs *u, uint64_t pid);
/* Reads /proc again, unless that was done since the last tick; true when it was. */
bool uproc_again(struct uprocs *u, struct uproc *p);
/* All processes there are. */
void uprocs_scan(struct uprocs *u);
/* What is known of the living may be out of date. */
void uprocs_lost(struct uprocs *u);

void uprocs_forked(struct uprocs *u, uint64_t pid, uint64_t parent, uint64_t time);
void uprocs_execed(struct uprocs *u, uint64_t pid, uint64_t time);
void uprocs_mapped(struct uprocs *u, uint64_t pid, const struct sym_map *m, uint64_t time);
void uprocs_ended(struct uprocs *u, uint64_t pid, uint64_t time);

/* The space it had at that time. NULL: none is known. */
const struct uspace *uproc_space(const struct uproc *p, uint64_t time);
/* perf-PID.map of a process that makes code; NULL when there is none. */
struct perfmap *uproc_perfmap(struct uprocs *u, struct uproc *p);

/* ---- address spaces (uspace.c): counted, shared until one of the processes maps something else */

/* older: its reference is taken over. */
struct uspace *uspace_create(uint64_t since, struct uroot *root, struct uspace *older);
struct uspace *uspace_share(struct uspace *s); /* NULL is allowed */
void uspace_put(struct uspace *s);	       /* NULL is allowed */
/* For writing: s, or a copy that takes the place of the caller's reference. */
struct uspace *uspace_own(struct uspace *s);
/* What was mapped there before is no more. */
void uspace_add(struct uspace *s, const struct umap *m);
/* What is mapped now: ascending, taken over. Where that has holes, what was there stays known. */
void uspace_update(struct uspace *s, umap_vec *now);
/* The mapping addr lies in; when there is none, *ret_below and *ret_above are the next ones. */
const struct umap *uspace_find(const struct uspace *s, taddr addr, const struct umap **ret_below,
			       const struct umap **ret_above);
int uspace_root(const struct uspace *s); /* descriptor; -1 = ours */
