/*
 * Ustack helpers: D clauses on dtrace:helper:ustack:, which name the frames of user stacks that
 * have room for strings (jstack(), and ustack() with a size).
 *
 * A helper is a program of its own: its types, its variables and its constants are not those of the
 * scripts. When a session begins, its variables get the numbers after those of the scripts, so that
 * one layout holds all variables. Its code runs for each frame (bpf/gen_helper.c).
 *
 * Owns     the clauses, with the compiler's session that made them.
 * Errors   struct err *: the file cannot be read, or its text is not D, or it does what a helper
 *          may not do.
 */
#pragma once

#include "base/err.h"
#include "dif/prog.h"

struct compile_opts;
struct helpers;

/* Reads and checks the helpers of a file of D. */
MUST_CHECK struct err *helpers_create(const char *path, const struct compile_opts *opts,
				      struct helpers **ret);
void helpers_destroy(struct helpers *hs); /* NULL is allowed */
/*
 * Adds the helpers' variables after those of the scripts, and returns all of them. hs may be NULL.
 * Must be the first call after helpers_create().
 */
MUST_CHECK struct err *helpers_number(struct helpers *hs, const struct prog_vars *scripts,
				      const struct prog_vars **ret);
/* Returns the clauses in the order of the text; hs may be NULL. */
struct prog_clause *const *helpers_clauses(const struct helpers *hs, uint32_t *ret_n);
