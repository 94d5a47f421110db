/* SPDX-License-Identifier: MIT */
/*
 * The ustack helpers that programs carry: clauses that dtrace -G has compiled into an object of the
 * program, or of a library that it maps (usdt/dof_prog.h).
 *
 * Equal helpers in several files are one helper.
 *
 * Owns     what it knows of files; the helpers are whose they were given to.
 * Errors   none: what is wrong with the helper of a file becomes a notice.
 * Threads  the consumer's.
 */
#pragma once

#include <sys/types.h>

#include "base/base.h"

struct carried;
struct file_opts; /* image/debugfile.h */
struct helper;
struct proc_map;
struct target; /* target/target.h */

struct carried_opts {
	const struct file_opts *files;
	void *ctx;
	/* Takes a new helper, or closes it and returns why not. */
	struct err *(*add)(void *ctx, struct helper *h);
	void (*notice)(void *ctx, const char *msg);
};
/* Functions of the caller, for each helper that a file of the target carries. */
struct carried_visitor {
	void (*found)(void *ctx, struct helper *h);
	/* A helper is left out: the whole message, each time. */
	void (*refused)(void *ctx, const char *msg);
	void *ctx;
};

struct carried *carried_create(const struct carried_opts *opts);
void carried_destroy(struct carried *c); /* NULL is allowed */
/* Visits each helper that a file carries from which the target executes code. */
void carried_each(struct carried *c, struct target *t, const struct carried_visitor *v);
/* Whether the file that a process maps carries a helper. */
bool carried_has(struct carried *c, pid_t pid, const struct proc_map *m);
