/* SPDX-License-Identifier: MIT */
/*
 * Takes the enabled clauses of a session through the phases match, load and go, until tracing is
 * stopped: what needs the match, what is alive, and the arrivals together.
 *
 *     match    clauses -> probes -> numbers; all that they ask for is allowed
 *     load     layout -> units -> engine: loaded into it
 *     go       BEGIN -> watch and attach -> state ON
 *     stop     state OFF; END fires when the consumer has read what was recorded before
 *
 * Errors   struct err *, to the caller of the phase. What goes wrong later is reported.
 */
#pragma once

#include "session/arrivals/arrivals.h"

/* Finds the probes of the enabled clauses, and checks that all they ask for is allowed. */
MUST_CHECK struct err *tracing_match(struct arrivals *a);
/* Generates and loads the programs; nothing fires yet. */
MUST_CHECK struct err *tracing_load(struct arrivals *a);
/* Fires BEGIN, attaches the other units, and lets their probes fire. */
MUST_CHECK struct err *tracing_start(struct arrivals *a);
/* While it runs: handles events of the watch, and requests of the stack walker. */
void tracing_tend(struct arrivals *a);
/* Sleeps until due (now_ns()) or until there is work; handles events of the watch meanwhile. */
void tracing_sleep(struct arrivals *a, uint64_t due);
/* Lets nothing fire any more. Closes the links that close fast; tracing_undo() closes the rest. */
void tracing_stop(struct arrivals *a);
/* Detaches and frees everything; the handle can only be closed afterwards. */
void tracing_undo(struct arrivals *a);
