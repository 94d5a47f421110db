/* SPDX-License-Identifier: MIT */
/*
 * /etc/fathom/privileges: which users and groups have which levels, and what their sessions may
 * take (fathom-privileges(5)).
 *
 *     # levels of DTrace
 *     user  alice: dtrace_user, dtrace_proc
 *     group developers: dtrace_user sessions=2 memory=128m
 *     default: probes=2000 cpu=2.5%
 *
 * A line gives levels to a user or to the members of a group; whoever is meant by several lines has
 * the levels of all of them. Of each quota a line about the user says more than one about a group,
 * and that more than a line "default"; of several such lines the largest quota holds. A number stands for the id itself. A line that is not understood makes
 * the whole file void: nobody is given a part of what an administrator has written.
 *
 * Owns     nothing but errors.
 * Errors   "/etc/fathom/privileges:4: ...", with a remedy.
 * Facts    the file is one of root, and nobody else can change it or the folder that it is in.
 */
#pragma once

#include "base/err.h"
#include "kernel/quota.h"

#define LEVELS_FOLDER "/etc/fathom"
#define LEVELS_FILE   "privileges" /* in that folder */
#define LEVELS_PATH   LEVELS_FOLDER "/" LEVELS_FILE
/* Largest size of the file in bytes, and of a name. */
#define LEVELS_FILE_MAX 65536
#define LEVELS_NAME_MAX 256
/* So many numbers of lines are remembered for messages. */
#define LEVELS_LINES_MAX 8

/* Who asks: whether a line is about them. The name ends with NUL; it has no control characters. */
struct levels_asker {
	bool (*is_user)(void *ctx, const char *name);
	bool (*is_member)(void *ctx, const char *group);
	void *ctx;
};

struct levels_found {
	uint32_t levels;		  /* LEVEL_...; 0: no line is about them */
	uint32_t lines[LEVELS_LINES_MAX]; /* which lines gave them, from 1; the first ones */
	uint32_t nlines;		  /* may be larger than LEVELS_LINES_MAX */
	struct quota quotas[QUOTA_NKINDS];
};

/* Reads the text of a file of `len` bytes, which may hold anything. On errors *ret is empty:
 * no levels, and no quotas. */
MUST_CHECK struct err *levels_parse(const char *text, size_t len, const struct levels_asker *asker,
				    struct levels_found *ret);
/*
 * Reads the file at `folder`/`name` with the rights of the caller. A file that is not there gives
 * no levels. A file or folder that others than root can change is an error, and so is a file that
 * cannot be read.
 */
MUST_CHECK struct err *levels_read(const char *folder, const char *name,
				   const struct levels_asker *asker, struct levels_found *ret);
