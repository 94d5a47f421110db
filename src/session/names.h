/*
 * Names of addresses in a session: symbols of the kernel and of processes, made when the first is
 * asked for.
 *
 * Owns     the symbols; the gate through which all files of the session are opened.
 */
#pragma once

#include "base/base.h"
#include "sym/debugfile.h"

struct options;
struct report;
struct syms;
struct targets;

struct names {
	const struct options *opts;
	struct report *report;
	struct file_opts file_opts;
	struct syms *syms;   /* NULL until one is asked for */
	bool is_denial_told; /* that we may not read the files of some processes */
};

void names_init(struct names *n, const struct options *opts, struct report *report);
void names_deinit(struct names *n);
/* Options have changed. */
void names_refresh(struct names *n);
struct syms *names_syms(struct names *n);
/* What the targets have mapped now: the names that can be printed when they have ended. */
void names_see(struct names *n, const struct targets *targets);
/* Reports once that the files of a process cannot be read. ctx: the names. */
void names_denied(void *ctx, uint64_t pid);
