/* SPDX-License-Identifier: MIT */
/*
 * A sparse file for a core file that we make: of a compressed one, or of a process. It has no name
 * and lies in $TMPDIR or /var/tmp, or it is made where the user wants it.
 *
 * Owns     the descriptor, until fd_take() or scratch_close().
 * Errors   struct err *: the file cannot be made or written, or the file system has no room: 64 MB
 *          of it are left to others.
 */
#pragma once

#include "base/err.h"

struct scratch {
	const char *where; /* for messages: a directory, or the file's path */
	const char *path;  /* the name that it gets at the end; NULL: none */
	char *other;	   /* the name that it has until then; NULL: none */
	int fd;
	uint64_t written; /* bytes that are no holes */
	uint64_t room;	  /* bytes that may be written */
};

/* path NULL: without a name. A file that exists is an error, now or at the end. */
MUST_CHECK struct err *scratch_create(const char *path, struct scratch *ret);
/* Writes at an offset; pages of zeros, counted from there, become holes. */
MUST_CHECK struct err *scratch_write(struct scratch *s, const void *bytes, size_t size,
				     uint64_t off);
/* Gives the file its size and its name. */
MUST_CHECK struct err *scratch_end(struct scratch *s, uint64_t size);
/* Closes a file that is not complete, and removes it. One that could not be made is allowed. */
void scratch_close(struct scratch *s);
