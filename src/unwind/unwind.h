/* SPDX-License-Identifier: MIT */
/*
 * Decides which files' unwind tables are in the kernel, and when they are loaded.
 *
 * Before probes fire, the tables of the targets of -c and -p are loaded, then those of all running
 * processes, until a budget of time is used up. The rest follows while the consumer has nothing
 * else to do. Files that are mapped later are served before that rest; a file that a stack walk
 * meets before its table is there is requested (stacks/requests.c) and served first.
 *
 * Owns     the list of files; the tables are the engine's.
 * Errors   code of a file that cannot be read, or for which there is no room, is walked by frame
 *          pointer. The user gets one notice if a limit of our own is the reason.
 * Threads  the consumer's.
 */
#pragma once

#include "base/err.h"
#include "unwind/tables.h"

struct file_opts;
struct proc_maps;
struct rt_ureq;
struct sym_map;
struct strbuf;
struct unwinds;

struct unwind_hooks {
	void *ctx;
	void (*notice)(void *ctx, const char *msg);
	/* The process uses a file that we have no right to open, so its stacks are cut. */
	void (*denied)(void *ctx, uint64_t pid);
	/*
	 * Called now and then while a large file is read: may call unwinds_mapped() and
	 * unwinds_request(), unless that file is read within such a call itself (is_nested).
	 */
	void (*between)(void *ctx, bool is_nested);
};

/* The engine's tables must outlive the result. */
struct unwinds *unwinds_create(const struct stack_tables *tables, uint64_t unwindsize,
			       const struct file_opts *files, const struct unwind_hooks *hooks);
void unwinds_destroy(struct unwinds *u); /* NULL is allowed */
/* Writes how many tables are kept, and how many were removed to make room. */
void unwinds_describe(const struct unwinds *u, struct strbuf *out);

/* Loads the tables of all files that the process has mapped, before it returns. */
void unwinds_load_process(struct unwinds *u, pid_t pid);
/* The same of a process whose mappings have been read. */
void unwinds_load_maps(struct unwinds *u, pid_t pid, const struct proc_maps *maps);
/*
 * Loads where callee-saved registers are saved (UNWIND_SAVED) for all files that the process has
 * mapped: a ustack helper of that process wants them. u may be NULL.
 */
void unwinds_load_saved(struct unwinds *u, pid_t pid);
/* Queues the files that all processes have mapped, for unwinds_load_next(). */
void unwinds_scan(struct unwinds *u);
/*
 * A process has mapped a file: opens the file, and queues it for unwinds_load_next() before all
 * files that unwinds_scan() has queued.
 */
void unwinds_mapped(struct unwinds *u, uint64_t pid, const struct sym_map *m);
/* Serves a request of a walk: the table of a mapped file. */
void unwinds_request(struct unwinds *u, const struct rt_ureq *req);
/* Loads the next file that was queued; false: none was. */
bool unwinds_load_next(struct unwinds *u);
/* Whether files are queued. */
bool unwinds_are_left(const struct unwinds *u);
/* To be called often: now and then forgets tables that no walk has used. now: CLOCK_MONOTONIC. */
void unwinds_tick(struct unwinds *u, uint64_t now);
