/* SPDX-License-Identifier: MIT */
/*
 * Processes: what each has mapped now, and had mapped before.
 *
 * The mappings of a process are read from /proc when the process is first looked up; from then on
 * the kernel's events (uprocs_forked() and so on) keep them up to date. From fork to exec a process
 * shares the address space of its parent; each exec begins a new one. The address spaces that a
 * process gave up and ended processes are kept, because the addresses that are printed may have
 * been recorded long ago.
 *
 * A process id identifies a process only together with a time: processes that had an id in turn
 * form a list, the present one first (struct uproc, before). Each knows when it began, from the
 * event of its fork or from /proc. A process in /proc that began later than the one we know is
 * another process, whatever events were lost.
 *
 * The memory for all this is bounded, so that a session may last for months: uforget.c says which
 * processes are forgotten first.
 *
 * Owns     processes, address spaces, root directories.
 * Units    times in ns of the kernel's CLOCK_MONOTONIC.
 * Errors   none: a process that has ended unseen has no mappings.
 */
#pragma once

#include "base/vec.h"
#include "sym/ufile.h"
#include "sym/uroot.h"

struct umap {
	taddr start, end;
	uint64_t off;	    /* in the file */
	struct ufile *file; /* NULL: anonymous memory, which is listed only if it is executable */
	bool is_exec;
};

typedef VEC(struct umap) umap_vec;

struct uspace {
	uint32_t refs;
	uint64_t since;	    /* when it began; 0 = before we read it */
	umap_vec maps;	    /* ascending; do not overlap */
	bool has_jit;	    /* executable memory without a file */
	struct uroot *root; /* NULL = ours; counted */
	uint64_t swept;	    /* the last sweep that has seen it */
};

/* An address space that a process has given up by an exec. */
struct upast {
	struct uspace *space; /* counted */
	uint64_t end_number;  /* which end that was: struct uend */
};

struct uproc {
	uint64_t pid;
	uint64_t born;	     /* when it began; 0 = unknown, long ago */
	uint64_t tick;	     /* when /proc was last read; 0 = never */
	uint64_t read_at;    /* when the mappings were last read: they include all earlier events */
	uint64_t ended;	     /* when it ended; 0 = it lives */
	uint64_t end_number; /* which end that was: struct uend */
	bool is_target;	     /* of no process in /proc, which is not asked (utarget.c) */
	bool is_denied;	     /* we have no right to read what it has mapped */
	uint64_t nspid;	     /* its id in the innermost PID namespace; 0 = not read yet */
	struct uspace *space;
	VEC(struct upast) past; /* the address spaces before that one, since it began; ascending */
	bool is_past_cut;	/* the first of them were forgotten */
	struct ujit *jit;	/* NULL: it has no generated code */
	struct uproc *before;	/* the process that had the id before this one; NULL = unknown */
};

struct ujit {
	int64_t wall_start; /* start of the process: an older file is another process's */
	/* effective user: only a file of this user, or of root, is trusted */
	uid_t uid;
	uint64_t tick;		 /* when we last tried to open the file */
	struct perfmap *perfmap; /* NULL: there was none */
	char object[32];	 /* "perf-7.map" */
};

/* The end of a process, or of one of its address spaces. */
struct uend {
	uint64_t pid, number;
	uint32_t nmaps; /* mappings that are kept for it */
	bool is_exec;	/* of an address space: the process has executed another program */
};

struct uprocs {
	struct hashmap *procs; /* u64 pid -> struct uproc, the present process */
	uint64_t ntargets;     /* which have the ids from UINT64_MAX down */
	struct uroots roots;
	struct ufiles files;
	uint64_t tick;
	int64_t clock_offset; /* what our CLOCK_MONOTONIC is ahead of the kernel's */
	bool is_beginning;    /* the session begins: no address was recorded before */
	bool is_told; /* events report all changes, so /proc is not read again at each tick */
	VEC(struct uend) ends; /* what has ended, in this order, from first_end on */
	uint32_t first_end;
	uint32_t nended;     /* of these: processes */
	uint64_t nends;	     /* ends that were ever numbered */
	uint64_t ended_maps; /* mappings of all that are kept */
	uint32_t check_at;   /* processes: when there are so many, it is checked which still live */
	/* processes that were forgotten to bound memory, and when the last of them ended */
	uint64_t nforgotten, forgotten_until;
	/* of them, those with a perf-PID.map: at least as many as there are */
	uint32_t nended_maps;
	uint64_t sweep;	      /* number of the last sweep for files that nothing maps any more */
	uint32_t sweep_at;    /* files: the next sweep is due */
	bool has_perfmaps;    /* at least one table of generated code was opened */
	uint64_t jits_at;     /* time of the next look at what they take */
	VEC(uint64_t) makers; /* processes with generated code that have no perf-PID.map yet */
};

void uprocs_init(struct uprocs *u);
void uprocs_deinit(struct uprocs *u);
/*
 * To be called now and then: what was read of processes is out of date from now on, unless events
 * report all changes.
 */
void uprocs_tick(struct uprocs *u);

/*
 * Returns the process that has the id, or had it last; never NULL. Reads /proc for a new process,
 * and without events once after each tick.
 */
struct uproc *uproc_get(struct uprocs *u, uint64_t pid);
/*
 * Reads /proc again and returns true, unless the process has ended or was read since the last tick.
 * Afterwards another process may have the id: uproc_get(). Where events report all changes, /proc
 * only adds the mappings that they do not report, those of data: events that were not applied yet
 * stay to be applied.
 */
bool uproc_again(struct uprocs *u, struct uproc *p);
/*
 * Returns the process that had the id of p at that time: p or one before it; NULL: none is known.
 */
struct uproc *uproc_at(struct uproc *p, uint64_t time);
/* True if what p had mapped at that time may have been known once, and was forgotten. */
bool uproc_is_forgotten(const struct uprocs *u, const struct uproc *p, uint64_t time);
/* Reads what all processes have mapped: from now on events report all changes. */
void uprocs_begin(struct uprocs *u);
/* Some events were lost: all living processes are read again. */
void uprocs_lost(struct uprocs *u);

void uprocs_forked(struct uprocs *u, uint64_t pid, uint64_t parent, uint64_t time);
void uprocs_execed(struct uprocs *u, uint64_t pid, uint64_t time);
void uprocs_mapped(struct uprocs *u, uint64_t pid, const struct sym_map *m, uint64_t time);
void uprocs_ended(struct uprocs *u, uint64_t pid, uint64_t time);

/*
 * Returns the address space that the process had at that time. Of a time before the oldest one that
 * was ever known, it returns that one. NULL: none is known, or it was forgotten.
 */
const struct uspace *uproc_space(const struct uproc *p, uint64_t time);
/* Returns the perf-PID.map of a process with generated code; NULL if there is none. */
struct perfmap *uproc_perfmap(struct uprocs *u, struct uproc *p);

/* See syms_target(). */
uint64_t uprocs_target(struct uprocs *u, struct target *t);

/* ---- what uproc.c and uforget.c share -------------------------------------------------------- */

/* Adds a process with an id that none has. */
struct uproc *uproc_add(struct uprocs *u, uint64_t pid, uint64_t born);
/* Notes that the process ended at that time; may forget processes that ended long ago. */
void uproc_end(struct uprocs *u, struct uproc *p, uint64_t time);
/* p has executed another program: s, which it had before (NULL is allowed), is of the past. */
void uproc_gave_up(struct uprocs *u, struct uproc *p, struct uspace *s);
/* Forgets the process before p, and all before that one. */
void uproc_forget_before(struct uprocs *u, struct uproc *p);
void uproc_destroy(struct uproc *p); /* only p: not those before it */
/* If many processes are taken to live, ends those that /proc does not show any more. */
void uprocs_bound(struct uprocs *u);
/* Forgets files that no process maps any more, when there are many, and bounds what files take. */
void ufiles_bound(struct uprocs *u);

/* ---- generated code (ujit.c) ------------------------------------------------------------ */

/*
 * Reads the facts of a process with executable memory without a file that are needed to find the
 * names of that code after the end of the process.
 */
void ujit_see(struct uprocs *u, struct uproc *p);
void ujit_destroy(struct ujit *j); /* NULL is allowed */
/*
 * Tries to open each missing perf-PID.map: it is created late, and may be out of reach when the
 * process has ended.
 */
void ujits_tick(struct uprocs *u);
/* To be called now and then, when no name is in use: frees tables, if they take too much memory. */
void ujits_bound(struct uprocs *u);

/* ---- /proc/PID -------------------------------------------------------------------------- */

/* Returns when the process that has the id now began; 0 if /proc does not show it. */
uint64_t upid_born(const struct uprocs *u, uint64_t pid);
/* Returns the present time of the kernel's CLOCK_MONOTONIC. */
uint64_t uprocs_now(const struct uprocs *u);
/* True if a process that began then is not p, but one that got its id later. */
bool uproc_is_other(const struct uproc *p, uint64_t born);
/* Returns the id that the process has in its innermost PID namespace. */
uint64_t upid_innermost(uint64_t pid);

/* ---- address spaces (uspace.c): counted, shared until one of the processes maps something else */

/* Creates an empty address space; takes over the caller's reference to root. */
struct uspace *uspace_create(uint64_t since, struct uroot *root);
struct uspace *uspace_share(struct uspace *s); /* NULL is allowed */
void uspace_put(struct uspace *s);	       /* NULL is allowed */
/*
 * Returns a space that may be changed: s itself if nobody shares it, else a copy that replaces the
 * caller's reference.
 */
struct uspace *uspace_own(struct uspace *s);
/* Adds a mapping, which replaces whatever was mapped at its addresses. */
void uspace_add(struct uspace *s, const struct umap *m);
/*
 * Sets what is mapped now; takes over the list, which is ascending. Older mappings are kept where
 * they overlap none of the list: addresses in them may have been recorded earlier.
 */
void uspace_update(struct uspace *s, umap_vec *now);
/*
 * The same where events have reported the executable mappings of s. Some of these events may be
 * newer than s, and the list newer than these events, or even of the next program. So what overlaps
 * an executable mapping of s is left out. Frees the list.
 */
void uspace_complete(struct uspace *s, umap_vec *now);
/*
 * Returns the mapping that contains addr; if there is none, *ret_below and *ret_above are the
 * nearest ones, or NULL.
 */
const struct umap *uspace_find(const struct uspace *s, taddr addr, const struct umap **ret_below,
			       const struct umap **ret_above);
int uspace_root(const struct uspace *s); /* for struct ufile_access */
