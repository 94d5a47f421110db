/* SPDX-License-Identifier: MIT */
/*
 * The ustack helpers of a session: which there are, and to which processes they are attached.
 *
 * A walk that meets a process asks with the process's key (rt/helper.h). The answer is found
 * here: the helpers whose files the process maps are compiled if they are not yet, their clauses
 * dtrace:helper:attach: run, and a program and the values of its variables are put into the
 * kernel's maps. Until then the process's stacks have native frames only.
 *
 * Helpers that apply to all processes and have no such clause (those of the option helper, for
 * example) are there from the first walk on.
 *
 * Owns     the helpers, and what it knows of processes; the maps are the session's.
 * Errors   struct err *: the file of the option helper. What is wrong with another helper, or with
 *          a process, becomes a notice, once.
 * Threads  the consumer's.
 */
#pragma once

#include <sys/types.h>

#include "base/err.h"
#include "record/format.h"

struct compile_opts;
struct file_opts;
struct helper;
struct proc_maps;
struct rt_ureq;
struct stack_tables;
struct strbuf;
struct sym_map;
struct target;
struct ustacks;

struct ustack_opts {
	/* files whose names helpers may use; NULL is behind the last */
	const char *const *preludes; /* outlives the session's ustacks */
	const char *file;	     /* the option helper; NULL or "": none */
	const char *const *dirs;     /* whose *.d files are helpers, if they exist */
	uint32_t ndirs;
	const char *system_dir; /* the same, behind dirs; what prevents reading it is a notice */
	bool is_system_only;	/* no other helpers, also none that programs carry */
	const struct compile_opts *compile; /* these two outlive the session's ustacks */
	const struct file_opts *files;
	void *ctx;
	void (*notice)(void *ctx, const char *msg);
	/* Walks of the process are going to restore callee-saved registers. */
	void (*saves)(void *ctx, pid_t pid);
	void (*debug)(void *ctx, const char *msg); /* option debug; NULL: it is not set */
};

MUST_CHECK struct err *ustacks_create(const struct ustack_opts *opts, struct ustacks **ret);
void ustacks_destroy(struct ustacks *u); /* NULL is allowed */
#define USTACK_HELPERS_MAX 64
/*
 * Finds the helpers that apply to a target, compiled; list has room for USTACK_HELPERS_MAX. Returns
 * their number.
 */
uint32_t ustacks_of_target(struct ustacks *u, struct target *t, struct helper **list);
const struct file_opts *ustacks_files(const struct ustacks *u);
/*
 * Gives the engine the helpers for all processes; tables: what it offers (unwind/tables.h), NULL:
 * it runs none. They must outlive u.
 */
MUST_CHECK struct err *ustacks_begin(struct ustacks *u, const struct stack_tables *tables);
/*
 * Writes the helper's line and the process of the first fault in the kernel since the last call,
 * or of the first walk whose instructions were used up; of a fault the reason, too. The name of the
 * process may have any bytes. false: there was none.
 */
bool ustacks_note(const struct ustacks *u, enum rt_note which, struct strbuf *out);
/*
 * Returns how many stacks were recorded since the last call in processes before their helpers were
 * attached: they have native frames only. u may be NULL.
 */
uint64_t ustacks_bare(struct ustacks *u);
/*
 * Compiles what walks run, in a thread; until a program is compiled, and if the kernel refuses it,
 * the helper machine runs it. To be called now and then.
 */
void ustacks_work(struct ustacks *u);
/*
 * Looks at what a process maps, and publishes the helpers that apply to it: a walk in the kernel
 * has asked for them, with a request that has no mapping (rt/helper.h).
 */
void ustacks_add_process(struct ustacks *u, const struct rt_ureq *req);
/* Whether a helper is for a file of this name that a process maps. */
bool ustacks_has_file(const struct ustacks *u, const struct proc_maps *maps);
/* The same for a path. u may be NULL. */
bool ustacks_has_name(const struct ustacks *u, const char *path);
/* Whether the process was met, by a walk or by ustacks_attach(). u may be NULL. */
bool ustacks_has_met(const struct ustacks *u, pid_t pid);
/*
 * The key by which the address space of a process is known that runs when the session begins; 0:
 * the process has ended, or is the kernel's. To be asked for before the mappings are read: if the
 * process executes another program meanwhile, they are found under a key that nobody has.
 */
uint64_t ustacks_begun_key(pid_t pid);
/*
 * The same before any walk meets the process, which has that key; is_new: it has executed nothing
 * yet. False: no helper applies to it by now, or not each that does could be attached: its first
 * walk asks. u may be NULL.
 */
bool ustacks_attach(struct ustacks *u, uint64_t key, struct target *t, bool is_new);
/*
 * The same of one that is stopped before the initialisers of its libraries, all of which are
 * relocated: news of what it has mapped until now may come later, and change nothing.
 */
bool ustacks_attach_linked(struct ustacks *u, uint64_t key, struct target *t);
/*
 * The process has mapped a file at a time (ns of CLOCK_MONOTONIC): if a helper applies to that
 * file, the next walk asks again, unless the process was met long enough after that time.
 */
void ustacks_mapped(struct ustacks *u, uint64_t pid, const struct sym_map *m, uint64_t time);
/* At that time, the process has executed another program. u may be NULL. */
void ustacks_execed(struct ustacks *u, uint64_t pid, uint64_t time);
/* At that time, the process has ended, or has executed another program. u may be NULL. */
void ustacks_gone(struct ustacks *u, uint64_t pid, uint64_t time);
