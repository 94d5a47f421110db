/* SPDX-License-Identifier: MIT */
/*
 * Ustack helpers: files of D that know a runtime, and name the frames of its stacks.
 *
 *     #pragma D helper exec "python3*|libpython3*"      mapped files whose processes it applies to
 *     #pragma D helper symbol "_PyEval_EvalFrameDefault"  programs to whose processes it applies,
 *                                       whatever their names: those that have one of the symbols
 *     #pragma D helper registers        uregs[] of outer frames has the callee-saved registers
 *     #pragma D helper registers "x"    the same in processes where global variable x is not 0
 *     #pragma D helper fixed "x"        once global variable x is not 0, what attach clauses have
 *                                       read of the data of its files will stay, and is the same in
 *                                       all processes of these files (helper/constants.h)
 *     #pragma D helper generated        frames of the language stand only where a native frame is
 *                                       in code that no file has: other stacks have none
 *     dtrace:helper:attach:   { ... }   runs here, once when a process is met: its global variables
 *                                       have the values then that they have in the process's walks
 *     dtrace:helper:uthread:  { ... }   runs in the kernel when a walk begins
 *     dtrace:helper:ustack:   { ... }   runs in the kernel for each frame
 *
 * A file of the same name in the folder "values" beside it describes the values of the runtime to
 * debuggers (helper/values.h). It may use all names of the helper.
 *
 * A file without the pragma applies to all processes. A helper is compiled when the first process
 * to which it applies is met.
 *
 * Owns     a helper its compiled program.
 * Errors   struct err *: what the compiler reports, and what a helper may not do.
 */
#pragma once

#include "base/err.h"
#include "dif/prog.h"

struct compile_opts;
struct dof_prog; /* usdt/dof_prog.h */
struct dsession;
struct rt_control;

struct strbuf;

enum helper_probe {
	HELPER_ATTACH,
	HELPER_UTHREAD,
	HELPER_USTACK,
	/* of the file of values */
	HELPER_VALUE,
	HELPER_TYPE,
	HELPER_RAW,
	HELPER_CLOSURE,
	HELPER_LOCALS,
	HELPER_HEAP,
	HELPER_CLASS,
	HELPER_SHAPE,
	HELPER_TASKS,
	HELPER_TASK,
	HELPER_BACKTRACE,
	HELPER_FUNCTION,
	HELPER_CONSTRUCTOR,
	HELPER_BYTES,
	HELPER_FIBER,
	HELPER_HANDLES,
	HELPER_THREAD,
	HELPER_OWNER,
	HELPER_CONTEXT,
	HELPER_SITE,
};

struct helper {
	char *path;
	char *text;	/* of the file; NULL: a program has carried it */
	bool is_named;	/* by the option helper: the options of the command are for it, too */
	char *patterns; /* "a|b": names of mapped files; NULL: all processes */
	char *symbols;	/* "a|b": of programs; NULL: none */
	struct dsession *dsession;    /* NULL: the helper was carried by a program */
	const struct prog *prog;      /* NULL: not compiled yet */
	const struct prog *values;    /* NULL: helper_compile_values() has found none */
	const struct prog_vars *vars; /* what the clauses use, and maybe more */
	struct err *err;	      /* why it cannot be compiled */
	bool has_attach;
	bool saves;	   /* the pragma "registers": walks restore callee-saved registers, */
	char *saves_if;	   /* if this global variable is not 0 in a process; NULL: in all */
	char *fixed_if;	   /* the pragma "fixed": the global variable; NULL: there is none */
	bool is_generated; /* the pragma "generated" */
	/*
	 * A program has carried it (helper/carried.h): nothing in it is trusted. Spans are lines.
	 */
	bool is_foreign;
	/*
	 * Addresses are checked before they are used: of a foreign one, and where the session may
	 * not read the memory of the kernel, whose addresses a process may show it as its own.
	 */
	bool is_checked;
	struct arena *arena; /* what the program has carried; NULL: nothing */
	uint32_t number;     /* in the session */
};

/* Reads the pragma of the file. An error: the file cannot be read. */
MUST_CHECK struct err *helper_open(const char *path, struct helper **ret);
void helper_close(struct helper *h); /* NULL is allowed */
/*
 * Adds the names of files that the helper is for to those that walks look at, if there is room.
 * The text of a pattern is added up to its first special character only: walks then look at all
 * files whose names begin with it.
 */
void helper_add_names(const struct helper *h, struct rt_control *control);
/*
 * Compiles it, unless that was done before; h->err says why not. preludes: files whose names the
 * helper may use; NULL is behind the last.
 */
bool helper_compile(struct helper *h, const struct compile_opts *opts,
		    const char *const preludes[]);
/*
 * Compiles the file that describes the runtime's values, if there is one; the helper has been
 * compiled with the same options.
 */
MUST_CHECK struct err *helper_compile_values(struct helper *h, const struct compile_opts *opts);
/* Makes a helper of what the object `path` has carried; takes the arena, in which p lies. */
struct helper *helper_carried(const char *path, const struct dof_prog *p, struct arena *a);
/* Checks that a helper can run when a program carries it. */
MUST_CHECK struct err *helper_check_carried(const struct dof_prog *p);
bool helper_is_clause(const struct prog_clause *cl);
/* Writes FILE:LINE of a span. */
void helper_location(const struct helper *h, uint32_t span, struct strbuf *out);
/* Whether two files have the same name or the same text: then they are one helper. */
bool helper_is_same(const struct helper *a, const struct helper *b);
/* Which clauses they are; only clauses of the three probes were accepted. */
enum helper_probe helper_clause_probe(const struct prog_clause *cl);
/* Whether the helper applies to a process that maps a file of that name. */
bool helper_matches(const struct helper *h, const char *name);
