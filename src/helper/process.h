/* SPDX-License-Identifier: MIT */
/*
 * A target whose stack is walked, while its helpers' dtrace:helper:attach: clauses run: its mapped
 * files, symbols and memory.
 *
 * Owns     what it has read; process_close() forgets all of it. The target outlives it.
 * Errors   a process that has ended has no memory: reads fail, and the helper is not attached.
 * Threads  the consumer's. Nothing is written to the process, and it is not stopped.
 */
#pragma once

#include <sys/types.h>

#include "base/err.h"
#include "dif/interp.h"
#include "dif/prog.h"

struct file_opts; /* image/debugfile.h */
struct helper;
struct proc_map;
struct proc_maps;
struct target; /* target/target.h */
struct process;

/* files: how its files are read, and the set that keeps them; it outlives the process. */
struct process *process_open(struct target *t, const struct file_opts *files);
void process_close(struct process *p); /* NULL is allowed */
const struct proc_maps *process_maps(const struct process *p);
/* The first mapping of a file, which is that of the program; NULL: there is none. */
const struct proc_map *process_program_file(const struct process *p);
/* Whether code of a file is mapped to which the helper applies by the file's name. */
bool process_maps_have(const struct proc_maps *maps, const struct helper *h);
/* The same of the process; true for a helper that applies to all. */
bool process_has_file(const struct process *p, const struct helper *h);
/* Says that process_find_symbols() is going to be called with these, which outlive p. */
void process_expect_symbols(struct process *p, struct helper *const *helpers, uint32_t n);
/*
 * Searches the program that the process executes for the symbols of all these helpers at once, for
 * process_has_symbols().
 */
void process_find_symbols(const struct process *p, struct helper *const *helpers, uint32_t n);
/* Whether the program that the process executes has one of the helper's symbols. */
bool process_has_symbols(const struct process *p, const struct helper *h);
/*
 * Whether the kernel is still mapping the program that the process executes, and its dynamic
 * linker: it writes down the auxiliary vector after that.
 */
bool process_is_starting(const struct process *p);
/*
 * Whether the dynamic linker has not mapped the C library yet. Nothing of a runtime has run then,
 * and what its helper looks for in the C library is not there.
 */
bool process_is_loading(const struct process *p);
/* Whether the process still runs the program that it ran when it was opened. */
bool process_is_there(const struct process *p);
/* Whether a file of that name is the C library, or the dynamic linker. */
bool process_is_libc(const char *name);
bool process_is_linker(const char *name);

/*
 * Runs the clauses of dtrace:helper:attach: in a machine of its own. False: a clause has faulted or
 * declined the process; *ret_why says why, and is the caller's to free.
 */
bool process_attach(struct process *p, const struct helper *h, char **ret_why);
/* The same for the clauses of attach in the file of values (helper_compile_values()). */
bool process_attach_values(struct process *p, const struct helper *h, char **ret_why);
/* The helper whose values the machine has: that of the last process_attach(); NULL: it failed. */
const struct helper *process_attached(const struct process *p);
/*
 * Runs a clause in that machine, at most *left actions, which it counts down; false after a fault,
 * or when none is left: *ret_why says why.
 */
bool process_clause(struct process *p, const struct prog_clause *cl, uint32_t *left,
		    char **ret_why);
/* Reads memory of the target. */
MUST_CHECK bool process_memory(struct process *p, uint64_t addr, void *buf, uint32_t size);
struct dif_machine *process_machine(struct process *p);

/* What clauses can know of a frame of a walk. */
struct process_frame {
	uint64_t args[8];     /* arg0 to arg7 */
	const uint64_t *regs; /* words of struct pt_regs */
	uint64_t known;	      /* bits: the words that are this frame's */
	pid_t tid, ppid;
	uint32_t uid, gid;
	const char *execname, *execargs;
};
/* f is used until the next call; NULL: clauses of dtrace:helper:attach: run. */
void process_set_frame(struct process *p, const struct process_frame *f);

/*
 * The target has the files of origin moved (target_moved()): the clauses learn from origin what the
 * dynamic linker has counted.
 */
void process_set_origin(struct process *p, struct process *origin);
/*
 * Whether clauses have asked for the number of a library among those with thread-local variables
 * since then. It depends on which such libraries were mapped before.
 */
bool process_has_counted_modules(const struct process *p);
/*
 * Whether clauses have read since then what the process has written, or a zero that it may write:
 * what is not there yet will be written when the runtime begins. Clauses of a helper with the
 * pragma "fixed" may, if its variable is not 0 afterwards.
 */
bool process_has_read_changing(const struct process *p);
/* Whether clauses have read memory: if not, they know of the process only which files it maps. */
bool process_has_read(const struct process *p);
/* Whether clauses of a helper with that pragma have run since then. */
bool process_is_believed(const struct process *p);

/* Functions that are called while clauses run. */
struct process_hooks {
	void *ctx;
	/* The predicate (act NULL), or an argument of an action, is going to be computed. */
	void (*begin)(void *ctx, const struct prog_clause *cl, const struct prog_act *act);
	/* Memory was read; bytes NULL: it is not there. May be NULL. */
	void (*read)(void *ctx, uint64_t addr, const void *bytes, uint32_t size);
	/* Argument k has a value, or a fault. */
	void (*value)(void *ctx, const struct prog_act *act, uint32_t k, const struct difo *d,
		      const struct dif_result *r);
	/* An action has been executed; r is the value of its last argument. */
	void (*done)(void *ctx, const struct prog_act *act, const struct dif_result *r);
};
/* NULL: none. Returns those that were set before. */
const struct process_hooks *process_set_hooks(struct process *p, const struct process_hooks *hooks);

/*
 * The value of a global variable after process_attach(); strings are written to text, if that is
 * not NULL.
 */
bool process_global(struct process *p, const struct prog_var *v, uint64_t *ret,
		    struct strbuf *text);
