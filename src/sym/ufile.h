/*
 * Files that processes have mapped: their identity, their symbols, their debug information.
 *
 * A file is identified by device, inode and the name it has in the process. A node is identified by
 * device and inode alone, so an inode with two names is two files with one node. A node is opened
 * when a process that maps it is first seen, for two reasons: later the file may be deleted,
 * replaced or out of reach, and while the node is open, no other file can get its inode number. The
 * symbols of a node are read at the first lookup of an address in it.
 *
 * Owns     files, nodes, descriptors, symbols.
 * Errors   none: a file that cannot be read has no symbols.
 */
#pragma once

#include "base/hashmap.h"
#include "sym/debugfile.h"
#include "sym/sym.h"

struct dwarf_file;
struct elf_syms;

struct unode {
	uint64_t dev, ino;	  /* ino 0: no file of a file system (the vDSO) */
	struct gate_file *opened; /* NULL: not open */
	bool is_denied;		  /* the last attempt to open it failed for want of privilege */
	bool is_stuck;		  /* ... because its file system does not answer */
	uint64_t used;	  /* clock of the last use: the oldest is closed when too many are open */
	uint32_t nfailed; /* attempts to read its symbols */
	/* when it was first seen: a file that changed later may be another one */
	int64_t wall_seen;
	bool is_read;
	struct elf_syms *syms; /* NULL: none could be read */
	bool is_dwarf_read;
	struct dwarf_file *dwarf; /* NULL: no debug information */
	uint64_t swept;		  /* the last sweep in which one of its files was in use */
};

struct ufile {
	char *path;
	char *object; /* the last part of path, as names show it */
	struct unode *node;
	uint64_t swept; /* the last sweep in which a mapping of it was known */
};

struct ufiles {
	struct hashmap *files; /* "dev inode path" -> struct ufile */
	struct hashmap *nodes; /* "dev inode" -> struct unode */
	uint32_t nopen, max_open;
	uint64_t clock;
	struct file_opts opts;
	struct gate *own; /* the gate that opts has at first */
};

/*
 * The two ways to open a file: as the mapping [start, end) of a living process, or by its path
 * below root (-1: our own root).
 */
struct uplace {
	uint64_t pid;
	taddr start, end;
	int root;
};

void ufiles_init(struct ufiles *u);
void ufiles_deinit(struct ufiles *u);
/* Forgets all files that were not in use in that sweep: nothing may point to them. */
void ufiles_sweep(struct ufiles *u, uint64_t sweep);

/*
 * Returns the file, which is created if it is new. path is as /proc shows it, " (deleted)"
 * included.
 */
struct ufile *ufile_get(struct ufiles *u, uint64_t dev, uint64_t ino, const char *path);
/* Opens the file now, unless it is open, so that it can be read when it has been deleted. */
void ufile_keep(struct ufiles *u, struct ufile *f, const struct uplace *at);
/* Returns the symbols, read at the first call; NULL if the file cannot be read. */
struct elf_syms *ufile_syms(struct ufiles *u, struct ufile *f, const struct uplace *at);
/* Returns the debug information, opened at the first call; NULL if there is none. */
struct dwarf_file *ufile_dwarf(struct ufiles *u, struct ufile *f, const struct uplace *at);
