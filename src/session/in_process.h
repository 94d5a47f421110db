/* SPDX-License-Identifier: MIT */
/*
 * Where the clauses of a session run, for commands that are linked with the library's parts.
 *
 * Threads  that of the session.
 */
#pragma once

#include <dtrace.h>
#include <stdbool.h>

/*
 * Whether all clauses on code run in processes themselves, so that no firing of theirs costs a trap
 * or a way into the kernel; false if there is none, or no longer any (exec). agg: only clauses are
 * meant that use the aggregation of that name, without "@"; NULL: all.
 */
bool session_is_all_inproc(const dtrace_hdl_t *dtp, const char *agg);
