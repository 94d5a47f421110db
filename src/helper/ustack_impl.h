/* SPDX-License-Identifier: MIT */
/*
 * The inside of the helpers of a session (ustack.h), for ustack.c, which attaches them to processes
 * that run, and for departed.c, which learns from those that have ended.
 *
 * Owns     struct ustacks owns all that it points to but its options and tables.
 * Errors   as in ustack.h.
 * Threads  the consumer's.
 */
#pragma once

#include "base/hashmap.h"
#include "base/vec.h"
#include "helper/ustack.h"

struct carried;
struct constants;
struct departed; /* helper/departed.h */
struct process;
struct program;
struct programs;
struct rt_hproc;

#define PROCS_PER_PID 4 /* address spaces of a process id that are known at once */

/* The address spaces of a process id. */
struct known {
	struct space {
		uint64_t key;
		uint64_t met;	  /* ns of CLOCK_MONOTONIC, before its mappings were read */
		bool has_changed; /* what the first walk copies may not be true any more */
		/*
		 * ns of CLOCK_MONOTONIC when it is looked at again, because not all of it could
		 * be read, and what is waited for after that; 0: all could be read.
		 */
		uint64_t again, pause;
		uint64_t dev, ino; /* of the program */
		bool is_attached;  /* it has helpers */
		bool is_linked;	   /* ustacks_attach_linked() has met it */
	} spaces[PROCS_PER_PID];
	uint32_t nspaces;
};

struct ustacks {
	struct ustack_opts opts;
	const struct stack_tables *tables; /* NULL until ustacks_begin() */
	VEC(struct helper *) helpers;
	struct programs *programs;
	struct carried *carried;
	struct constants *constants;
	struct departed *departed;
	uint64_t foreign;      /* the helpers that programs carry */
	struct hashmap *known; /* process id -> struct known */
	struct hashmap *told;  /* notices */
	uint64_t always;       /* the helpers of the program for all processes */
	uint64_t nbare;	       /* stacks that ustacks_bare() has not returned */
	uint64_t again;	       /* the first space.again of all; UINT64_MAX: none */
	uint64_t began;	       /* begun_clock() */
};

/* A process whose mappings are looked at. */
struct meeting {
	uint64_t key;
	pid_t pid;
	struct target *target;
	/*
	 * No walk has asked: only what is complete is published, and nothing is said, because the
	 * program may not have begun. The first walk asks for anything else.
	 */
	bool is_early;
	bool is_new;	/* it is younger than the session */
	bool has_entry; /* it was published before any walk had asked */
	bool is_again;	/* the user knows that it could not be read before */
	bool is_published;
	bool is_lasting;    /* what was published depends on files alone */
	bool is_late;	    /* a helper was not attached because the gate got no answer */
	bool is_told_later; /* the first walk has to come back for what is to be said */
	bool has_read;	    /* a helper has declined the process, perhaps by its memory */
};

/* Finds the helpers for the files that the process maps, by their names; m may be NULL. */
uint64_t ustacks_set_of_files(struct ustacks *u, const struct process *proc, struct target *t,
			      struct meeting *m);
/*
 * Attaches the helpers of the set one by one, because each has a machine of its own; those that
 * fail leave the set. What a helper concludes from memory that the gate did not read in time is not
 * true, so the process is looked at again then.
 */
uint64_t ustacks_set_attach(struct ustacks *u, struct process *proc, struct meeting *m,
			    uint64_t set);
/*
 * Makes the program of the set. If the whole does not fit, it is made without what the process
 * carries, or else without the first helper that is one too many.
 */
MUST_CHECK struct err *ustacks_set_program(struct ustacks *u, uint64_t set,
					   const struct program **ret);
/* Fills the values of the program's variables for an attached process. */
MUST_CHECK struct err *ustacks_values_fill(struct ustacks *u, struct process *proc,
					   const struct program *p, struct rt_hproc *hp);
/* Learns what the files of the process fix, but of helpers that programs carry. */
bool ustacks_set_learn(struct ustacks *u, const struct meeting *m, struct process *proc,
		       uint64_t wanted, const struct program *p, const struct rt_hproc *hp);
