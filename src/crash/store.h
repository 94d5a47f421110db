/* SPDX-License-Identifier: MIT */
/*
 * The store of captures: a directory that only its owner can enter, with one for each crash.
 *
 *     /var/lib/fathom/crash/20261127T122621-30725-9f03a1/capture, core, proc/, report.json, ...
 *
 * Owns     a struct crash_store its path and descriptor.
 * Errors   struct err *. Only regular files are read, no link is followed, and sizes are bounded:
 *          what an entry says comes from a process, and the analyser, which has read it, may have
 *          been taken over by it.
 */
#pragma once

#include <sys/types.h>

#include "base/err.h"

struct strbuf;

struct crash_store {
	char *path;
	int fd;
	/* fd is -1: the crashes are asked for at this socket (crash/users.h); NULL: they are not */
	char *users;
};

/* An error if there is no such directory, or if others can write to it. */
MUST_CHECK struct err *crash_store_open(const char *path, struct crash_store *ret);
void crash_store_close(struct crash_store *s); /* of zeros is allowed */

/* Opens a regular file for reading; -1 with errno, EINVAL: it is none. */
int crash_file_open(int dir, const char *name);
/* Reads a file that is not longer than max; name: for messages. */
MUST_CHECK struct err *crash_fd_read(int fd, const char *name, size_t max, struct strbuf *ret);
/* The same by name. Its error has ENOENT if there is no such file. */
MUST_CHECK struct err *crash_file_read(int dir, const char *name, size_t max, struct strbuf *ret);
/* Writes a file (0600) under another name first, so that it is never there in part. */
MUST_CHECK struct err *crash_file_write(int dir, const char *name, const char *text, size_t len);
/*
 * Removes a directory below dir and all that it has; false with errno: something was left. It
 * follows no links, and goes down a few levels only.
 */
bool crash_tree_remove(int dir, const char *name);
/* Returns "DIR/NAME", which the caller frees. */
char *path_join(const char *dir, const char *name);
