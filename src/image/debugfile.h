/* SPDX-License-Identifier: MIT */
/*
 * The search for separate debug files, which have the symbols and types of stripped files.
 *
 * A debug file is found in four ways (gdb manual, "Separate Debug Files"), for the file
 * /usr/bin/ls:
 *
 *     DIR/.build-id/ab/cdef.debug    by the build-id abcdef of the file
 *     /usr/bin/NAME                  by the NAME in its section .gnu_debuglink
 *     /usr/bin/.debug/NAME
 *     DIR/usr/bin/NAME
 *
 * DIR is each of the directories of the option debugdir, which is /usr/lib/debug by default.
 */
#pragma once

#include "base/base.h"

#define DEBUG_DIRS_DEFAULT "/usr/lib/debug"

struct build_mark; /* image/build_id.h */
struct gate;
struct gate_file;
struct image_set;

/* The options debugdir and elfsize, by which files of programs are read. */
struct file_opts {
	const char *debug_dirs; /* separated by colons */
	/* largest size of a section, and of a table made from one (files/gate.h) */
	uint64_t limit;
	struct gate *gate;	  /* through which they are opened */
	struct image_set *images; /* what is known of them (image/image.h) */
};

/*
 * Whose debug files count for a user who is not trusted: the names in them say where breakpoints
 * may be. A debug file counts that nobody can write but root, the owner of the stripped file, or
 * the user as that owner.
 */
struct debug_trust {
	uint32_t user;	/* id */
	uint32_t owner; /* id, of the stripped file */
	bool *refused;	/* becomes true if none is found because of that; the caller's */
};

/* For which file debug files are searched, and where. */
struct debug_search {
	const char *path;  /* name of the stripped file in the process that maps it */
	int root;	   /* directory that is "/" for that process; -1 = our own root */
	const char *dirs;  /* the option debugdir: directories separated by colons */
	uint64_t limit;	   /* largest size of a section (files/gate.h) */
	struct gate *gate; /* through which the debug file is opened */
	uint64_t dev, ino; /* of the stripped file, which is never its own debug file */
	const struct debug_trust *trust; /* NULL: all debug files count */
};

/*
 * Examines a candidate; returning true accepts it and ends the search. The search closes the
 * file.
 */
typedef bool debug_file_f(void *ctx, struct gate_file *file);

/*
 * Calls use() for each file that may be the debug file of the one that m was read from, until use()
 * accepts one; returns whether it did. A candidate that was found by its name has the checksum that
 * m gives, if m has no build-id; that a candidate's build-id is the one of m is for use() to check.
 */
bool debug_file_find(const struct build_mark *m, const struct debug_search *where,
		     debug_file_f *use, void *ctx);
