/* SPDX-License-Identifier: MIT */
/*
 * Files that processes have mapped: their identity, their symbols, their debug information.
 *
 * A file is identified by device, inode and the name it has in the process. A node is identified by
 * device and inode alone, so an inode with two names is two files with one node. A node's image
 * (image/image.h) is opened when a process that maps it is first seen, for two reasons: later the
 * file may be deleted, replaced or out of reach, and while it is open, no other file can get its
 * inode number. The symbols are read at the first lookup of an address in it.
 *
 * What this takes is bounded in bytes, together with all that is kept of files. A table of symbols
 * that was not used lately is shed, and read again when it is needed. The names that were found
 * stay longer (ubudget.c), so that an address that is shown again and again needs no table.
 *
 * Owns     files, nodes, and the references to their images.
 * Errors   none: a file that cannot be read has no symbols.
 */
#pragma once

#include "base/arena.h"
#include "base/hashmap.h"
#include "base/vec.h"
#include "image/debugfile.h"
#include "image/image.h"
#include "sym/sym.h"

struct dwarf_file;
struct elf_syms;

/* What was found for the virtual addresses [start, end) of the file. */
struct ufound {
	uint64_t start, end;
	uint64_t sym; /* address of the symbol */
	char *name;   /* as it is shown; NULL: there is no symbol */
};

struct unode {
	uint64_t dev, ino;   /* ino 0: no file of a file system (the vDSO) */
	uint64_t gen;	     /* tells apart files that had the inode in turn; 0: unknown */
	struct image *image; /* its file, with a reference; NULL: it was never opened */
	bool is_denied;	     /* the last attempt to open it failed for want of privilege */
	bool is_stuck;	     /* ... because its file system does not answer */
	bool is_absent;	     /* nothing will be found in it: a core file has not even its name */
	bool is_retired;     /* it was closed and deleted: it is not found by its inode any more */
	uint32_t nfailed;    /* attempts to read its symbols since the last success */
	/* when it was first seen: a file that changed later may be another one */
	int64_t wall_seen;
	bool is_given_up; /* its names were shed, or it was closed, and it cannot be read again */
	VEC(struct ufound) found; /* ascending; do not overlap */
	uint64_t found_bytes;
	uint64_t bytes; /* of these, as they are counted in the set of images */
	uint64_t swept; /* the last sweep in which one of its files was in use */
};

struct ufile {
	char *path;
	char *object; /* the last part of path, as names show it */
	struct unode *node;
	uint64_t swept; /* the last sweep in which a mapping of it was known */
};

struct ufiles {
	struct hashmap *files; /* "dev inode path" -> struct ufile; retired ones: "gone N" */
	struct hashmap *nodes; /* "dev inode" -> struct unode; retired ones: "gone N" */
	uint64_t jit_bytes;    /* memory for names of generated code, which counts, too (ujit.c) */
	uint64_t check_at;     /* time of the next search for deleted files */
	uint64_t nretired;     /* keys of files and nodes whose inode is another file's */
	uint32_t ngiven_up;
	struct arena *tmp;
	struct file_opts opts;
	/* what opts has at first */
	struct gate *own;
	struct image_set *own_images;
};

/*
 * The two ways to open a file: as the mapping [start, end) of a living process, or by its path
 * below root (-1: our own root).
 */
struct ufile_access {
	uint64_t pid;
	taddr start, end;
	int root;
};

void ufiles_init(struct ufiles *u);
void ufiles_deinit(struct ufiles *u);
/* Files that were opened before stay as they are. */
void ufiles_set_opts(struct ufiles *u, const struct file_opts *opts);
/* Forgets all files that were not in use in that sweep: nothing may point to them. */
void ufiles_sweep(struct ufiles *u, uint64_t sweep);

/*
 * Returns the file, which is created if it is new. path is as /proc shows it, " (deleted)"
 * included.
 */
struct ufile *ufile_get(struct ufiles *u, uint64_t dev, uint64_t ino, const char *path);
/*
 * A process maps that inode in that generation (0: unknown). If another file had the inode before,
 * that one is not found by it any more.
 */
void ufiles_see_inode(struct ufiles *u, uint64_t dev, uint64_t ino, uint64_t gen);
/* Opens the file now, unless it is open, so that it can be read when it has been deleted. */
void ufile_keep(struct ufiles *u, struct ufile *f, const struct ufile_access *at);
/* Takes over a reference; NULL: the file cannot be opened, and has no symbols. */
void ufile_give(struct ufile *f, struct image *i);
/*
 * Returns what is known of the file, read at the first call; NULL if the file cannot be read. The
 * symbols may have been shed: ufile_find() finds them.
 */
struct elf_syms *ufile_syms(struct ufiles *u, struct ufile *f, const struct ufile_access *at);
/*
 * Returns the name of the symbol that contains a virtual address of the file, and *ret_sym, where
 * the symbol begins; NULL: none is known. Demangled unless is_raw. The name is valid until the next
 * ufiles_bound_memory().
 */
const char *ufile_find(struct ufiles *u, struct ufile *f, const struct ufile_access *at,
		       uint64_t addr, bool is_raw, uint64_t *ret_sym);
/* Returns the debug information, opened at the first call; NULL if there is none. */
struct dwarf_file *ufile_dwarf(struct ufiles *u, struct ufile *f, const struct ufile_access *at);

/* ---- memory (ubudget.c) -------------------------------------------------------------------- */

/* Counts the names that were found in a node, and sheds tables of others if that is too much. */
void unode_charge(struct ufiles *u, struct unode *n);
/* Returns what was found for the address, or NULL. */
const struct ufound *unode_found(const struct unode *n, uint64_t addr);
/* Remembers what was found for [start, end); takes the name over. */
const struct ufound *unode_find_add(struct unode *n, const struct ufound *f);
void unode_forget_found(struct unode *n);
/* Forgets what was found in all files, because names are shown in another form from now on. */
void ufiles_forget_found(struct ufiles *u);
/* To be called now and then, when no name is in use: bounds what was found, too. */
void ufiles_bound_memory(struct ufiles *u);
/*
 * Closes files that were deleted, if they are large, except those that were in use in that sweep.
 * The search for them takes time: it is due when the first function says so, and the second one is
 * called after it.
 */
void ufiles_bound_deleted(struct ufiles *u, uint64_t sweep);
bool ufiles_check_is_due(const struct ufiles *u);
void ufiles_checked(struct ufiles *u, uint64_t took_ns); /* on the CPU */
/* Makes it impossible to find the nodes that are marked as retired, and their files, by inode. */
void unodes_retire(struct ufiles *u);
