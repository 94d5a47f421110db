/*
 * Files that processes have mapped: which they are, how they can still be read, their symbols.
 *
 * A file is known by device and inode and by the name it has in the process: two names of one inode
 * are two files of one node. A node is opened when a process that maps it is first seen: later it
 * may be deleted, replaced or out of reach, and while it is open its inode number cannot become
 * that of another file. Its symbols are read when the first address in it is asked for.
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
	uint64_t dev, ino; /* ino 0: not a file of a disk (the vDSO) */
	int fd;		   /* -1: not open */
	bool is_denied;	   /* for want of privilege */
	uint64_t used;	   /* the least is closed when there are too many */
	uint32_t nfailed;  /* attempts to open it for its symbols */
	int64_t wall_seen; /* seconds: what was changed after it is another file */
	bool is_read;
	struct elf_syms *syms; /* NULL: none could be read */
	bool is_dwarf_read;
	struct dwarf_file *dwarf; /* NULL: no debug information */
};

struct ufile {
	char *path;
	char *object; /* the last part of path, as names show it */
	struct unode *node;
};

struct ufiles {
	struct hashmap *files; /* "dev inode path" -> struct ufile */
	struct hashmap *nodes; /* "dev inode" -> struct unode */
	uint32_t nopen, max_open;
	uint64_t clock;
	struct file_opts opts;
};

/* Where a file can be found: [start, end) of a living process, or path below root (-1: ours). */
struct uplace {
	uint64_t pid;
	taddr start, end;
	int root;
};

void ufiles_init(struct ufiles *u);
void ufiles_deinit(struct ufiles *u);

/* path: as /proc or the kernel says, " (deleted)" included. */
struct ufile *ufile_get(struct ufiles *u, uint64_t dev, uint64_t ino, const char *path);
/* Opens it now, unless that was done. */
void ufile_keep(struct ufiles *u, struct ufile *f, const struct uplace *at);
/* NULL when it cannot be read. */
struct elf_syms *ufile_syms(struct ufiles *u, struct ufile *f, const struct uplace *at);
/* NULL when there is no debug information. */
struct dwarf_file *ufile_dwarf(struct ufiles *u, struct ufile *f, const struct uplace *at);
