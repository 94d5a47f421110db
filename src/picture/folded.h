/* SPDX-License-Identifier: MIT */
/*
 * Folded stacks: a line for each stack, frames from the outermost on, separated by semicolons, and
 * behind a blank the value. Other tools write and read them, too.
 *
 *     bash;libc.so.6`__libc_start_main;bash`main 42
 *
 * Owns     struct folded owns the text of the file, until folded_close(). Names that the callback
 *          gets are parts of it, without a NUL, and valid during the call.
 * Errors   struct err *: the file cannot be read, or a line is no folded stack.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

/* Adds a frame's name to a line; what would be read as the end of the name is replaced. */
void folded_name(struct strbuf *o, const char *text, size_t len);

typedef void folded_row_f(void *ctx, const char *const *names, const size_t *lens, uint32_t n,
			  int64_t value);

struct folded;
/* Reads a file. Its lines that are no stacks are an error that names the first of them. */
MUST_CHECK struct err *folded_open(const char *path, struct folded **ret);
void folded_close(struct folded *f); /* NULL is allowed */
/* Calls func for each line, with its n frames, at most 4,096 of them, the outermost first. */
void folded_walk(const struct folded *f, folded_row_f *func, void *ctx);
