/* SPDX-License-Identifier: MIT */
/*
 * An engine over the interpreter of DIF: clauses run in the test's own process.
 *
 * It has places for BEGIN and END, and for raw tracepoints, which only interp_fire() makes fire.
 * Consecutive firings are on different CPUs. It executes actions that
 * record integers, strings and names, branches, exit(), and the aggregating functions count, sum,
 * avg, min and max; load() refuses clauses that need more.
 */
#pragma once

#include "probe/engine.h"

extern const struct engine engine_interp;

/* Makes a tracepoint fire with these ten parameters. */
void interp_fire(struct engine_run *r, const char *tracepoint, const uint64_t args[10]);
