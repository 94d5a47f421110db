/*
 * Ustack helpers: files of D that know a runtime, and name the frames of its stacks.
 *
 *     #pragma D helper exec "python3*|libpython3*"      mapped files whose processes it applies to
 *     dtrace:helper:attach:   { ... }   runs here, once when a process is met: its global variables
 *                                       have the values then that they have in the process's walks
 *     dtrace:helper:uthread:  { ... }   runs in the kernel when a walk begins
 *     dtrace:helper:ustack:   { ... }   runs in the kernel for each frame
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
struct dsession;

enum helper_probe { HELPER_ATTACH, HELPER_UTHREAD, HELPER_USTACK };

struct helper {
	char *path;
	char *patterns; /* "a|b": names of mapped files; NULL: all processes */
	struct dsession *dsession;
	struct prog *prog; /* NULL: not compiled yet */
	struct err *err;   /* why it cannot be compiled */
	bool has_attach;
};

/* Reads the pragma of the file. An error: the file cannot be read. */
MUST_CHECK struct err *helper_open(const char *path, struct helper **ret);
void helper_close(struct helper *h); /* NULL is allowed */
/*
 * Compiles it, unless that was done before; h->err says why not. prelude: a file of the D library
 * whose names the helper may use; NULL: none.
 */
bool helper_compile(struct helper *h, const struct compile_opts *opts, const char *prelude);
/* Which clauses they are; only clauses of the three probes were accepted. */
enum helper_probe helper_clause_probe(const struct prog_clause *cl);
/* Whether the helper applies to a process that maps a file of that name. */
bool helper_matches(const struct helper *h, const char *name);
