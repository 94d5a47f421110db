/*
 * Which files' unwind tables are in the kernel, and when they get there.
 *
 * Before probes fire: those of the targets of -c and -p, then of all that runs, until a budget of
 * time is used up; the rest while the consumer has nothing else to do. Files that are mapped later
 * come before those; what is met before its table is there is asked for by the kernel's side and
 * comes first.
 *
 * Owns     the list of files; the tables live in the session's maps.
 * Errors   a file that cannot be read, or for which there is no room, is walked by frame pointer:
 *          told once where that is our own limit.
 * Threads  the consumer's.
 */
#pragma once

#include "base/err.h"
#include "bpf/engine.h"

struct file_opts;
struct sym_map;
struct strbuf;
struct unwinds;

struct unwind_hooks {
	void *ctx;
	void (*notice)(void *ctx, const char *msg);
	/* The process uses a file that we have no right to open: its stacks are cut. */
	void (*denied)(void *ctx, uint64_t pid);
	/* Called now and then while a large file is read: may call unwinds_mapped(). */
	void (*between)(void *ctx);
};

/* maps: outlive it. */
MUST_CHECK struct err *unwinds_create(const struct kmaps *maps, uint64_t unwindsize,
				      const struct file_opts *files,
				      const struct unwind_hooks *hooks, struct unwinds **ret);
void unwinds_destroy(struct unwinds *u); /* NULL is allowed */
/* Writes how many tables are kept, and were removed to make room. */
void unwinds_describe(const struct unwinds *u, struct strbuf *out);
/* Becomes readable when the kernel's side asks for a table. */
int unwinds_fd(const struct unwinds *u);

/* Loads what the process has mapped, now. */
void unwinds_load_process(struct unwinds *u, pid_t pid);
/* Notes what all processes have mapped, for unwinds_work(). */
void unwinds_scan(struct unwinds *u);
/*
 * A process maps a file: it is opened, for unwinds_work() to come to before all else that was
 * noted.
 */
void unwinds_mapped(struct unwinds *u, uint64_t pid, const struct sym_map *m);
/*
 * Serves what is asked for, then what was noted, until deadline (ns, CLOCK_MONOTONIC; what is asked
 * for is served in any case). Returns whether something is left. u may be NULL.
 */
bool unwinds_work(struct unwinds *u, uint64_t deadline);
