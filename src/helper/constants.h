/* SPDX-License-Identifier: MIT */
/*
 * Values that a helper's attach clauses compute and that depend on the runtime's files alone.
 *
 * Most of these values are offsets, versions, and addresses of code and data of the runtime's own
 * files: the same in each process that maps the same files, but for where these are mapped. When a
 * process has been attached, the clauses run a second time over its files alone, mapped elsewhere
 * (target_moved()). Each value is either the same again, or further on by what its file was moved
 * by. Values that differ otherwise depend on the process, as do clauses that look at memory which
 * is written: nothing is learned then, and each process is attached by itself.
 *
 * Before the dynamic linker has relocated a file, or a library's initialisers have run, data is
 * what the file says and will become something else. So nothing is learned then either: not of a
 * file that is not relocated, nor where a zero was read from memory that may be written. Nor is
 * anything learned where the process has written: what clauses conclude from something else than
 * the process has there may be the same by accident. A helper may say that its runtime writes its
 * tables once, and the same ones in every process (#pragma D helper fixed). Then the clauses read
 * the process's own data the second time, with the addresses in it moved
 * (target_moved_set_fixed()), and the values are learned when the variable that the pragma names is
 * not 0.
 *
 * The number of a library among those with thread-local variables (tlsmod()) depends on which of
 * them were mapped before it. It is published for processes all of whose files are known and which
 * have the same ones of these.
 *
 * Whom to believe: any user may run a program that maps a runtime's files and has something else in
 * its memory. What the files say is true for everybody: also addresses that the dynamic linker
 * writes, if a relocation of the file says the same (object_relocates()). What only a process says
 * (fixed tables, numbers of libraries, other addresses) is believed of processes of the same real
 * user, for their first stacks only: each of them is attached by itself as well, and its own values
 * replace those. If they are not the same, nothing is believed of that user any more.
 *
 * Values that were learned attach further processes without running the clauses, and are published
 * to walks in the kernel (rt/helper.h), which attach a process at its first stack.
 *
 * Owns     references of the images of the files.
 * Errors   what cannot be learned is not: there is none to tell of.
 * Threads  the consumer's.
 */
#pragma once

#include "base/base.h"

struct file_opts;
struct helper;
struct process;
struct proc_maps;
struct rt_hproc;
struct stack_tables;
struct target;

struct constants;

/* files outlives it. */
struct constants *constants_create(const struct file_opts *files);
void constants_destroy(struct constants *c); /* NULL is allowed */
/* Where what is learned is published from now on. */
void constants_begin(struct constants *c, const struct stack_tables *tables);

/*
 * Fills the values of hp for a process to which the helpers of the set (bits) apply, if they are
 * known, and takes those that decline it out of the set.
 */
bool constants_find(const struct constants *c, struct target *t, uint64_t *set,
		    struct rt_hproc *hp);

/* A process whose helpers have been attached. */
struct attached {
	struct target *target;
	struct process *process;
	uint64_t wanted, set;	   /* bits: helpers that apply, and those that do not decline it */
	const struct rt_hproc *hp; /* with its values */
	/*
	 * Attaches the same helpers to another process, and fills its values; false: one of them
	 * declines it.
	 */
	bool (*again)(void *ctx, struct process *p, struct rt_hproc *ret);
	void *ctx;
};
/* False: the values depend on the process, or on more than files, or there is no room. */
bool constants_learn(struct constants *c, const struct attached *a);
