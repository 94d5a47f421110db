/*
 * An engine over the interpreter of DIF: clauses run in the test's own process.
 *
 * It has code for BEGIN and END, and for raw tracepoints, at which nothing stops: interp_fire()
 * says that one was passed. Consecutive firings are on different CPUs. It executes actions that
 * record integers, strings and names, branches, exit(), and the aggregating functions count, sum,
 * avg, min and max; load() refuses clauses that need more.
 */
#pragma once

#include "probe/engine.h"

extern const struct engine engine_interp;

/* The tracepoint is passed with these ten parameters. */
void interp_fire(struct engine_run *r, const char *tracepoint, const uint64_t args[10]);
