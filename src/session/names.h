/* SPDX-License-Identifier: MIT */
/*
 * Names of addresses in a session: symbols of the kernel and of processes. They are made when the
 * first name is needed.
 *
 * Owns     the symbols; the gate that opens all files of processes for the session.
 */
#pragma once

#include "base/base.h"
#include "image/debugfile.h"

struct options;
struct report;
struct syms;
struct targets;

struct names {
	const struct options *opts;
	struct report *report;
	struct file_opts file_opts;
	struct syms *syms;   /* NULL until the first name is needed */
	bool is_denial_told; /* the user knows that we may not read the files of some processes */
};

void names_init(struct names *n, const struct options *opts, struct report *report);
void names_deinit(struct names *n);
/* Takes over changed options. */
void names_refresh(struct names *n);
struct syms *names_syms(struct names *n);
/* Remembers what the targets have mapped now, for names that are printed after they have ended. */
void names_add_targets(struct names *n, const struct targets *targets);
/* Reports once that the files of a process cannot be read. ctx: the names. */
void names_denied(void *ctx, uint64_t pid);
