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
	/* Takes a new helper, or closes it and returns false. */
	bool (*add)(void *ctx, struct helper *h);
	void (*notice)(void *ctx, const char *msg);
};

struct carried *carried_create(const struct carried_opts *opts);
void carried_destroy(struct carried *c); /* NULL is allowed */
/* Calls found for each helper that a file carries from which the target executes code. */
void carried_each(struct carried *c, struct target *t, void (*found)(void *ctx, struct helper *h),
		  void *ctx);
/* Whether the file that a process maps carries a helper. */
bool carried_has(struct carried *c, pid_t pid, const struct proc_map *m);
