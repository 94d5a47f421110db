/* SPDX-License-Identifier: MIT */
/*
 * The report of the option helpertrace: what each clause of each helper reads and answers for the
 * stack of a thread, frame by frame, with the places in the text of the helpers.
 *
 * The threads of a process stand still meanwhile (ptrace), and go on afterwards, also if the
 * tracer is killed.
 *
 * Errors   struct err *: no such thread, not permitted, or another tracer has it.
 */
#pragma once

#include <sys/types.h>

#include "base/err.h"

struct strbuf;
struct syms;
struct ustacks;

struct trace_opts {
	/* The thread whose stack it is; of a process: its first one; 0: all of the core file. */
	pid_t tid;
	const char *core;  /* NULL: the thread is one of a process that lives */
	struct syms *syms; /* find names; the target is made known to them */
	uint32_t max_frames, strsize;
	void *ctx;
	/*
	 * Writes the text of an address, which is behind a call if is_return; false: no symbol.
	 * pid: as syms_target() has numbered the target.
	 */
	bool (*name)(void *ctx, pid_t pid, uint64_t addr, bool is_return, struct strbuf *out);
};

MUST_CHECK struct err *ustacks_trace(struct ustacks *u, const struct trace_opts *opts,
				     struct strbuf *out);
