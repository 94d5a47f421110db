/* SPDX-License-Identifier: MIT */
/*
 * What processes map between the match of a pattern and the start of tracing.
 *
 * Owns     the watch a->prewatch, until prewatch_report() or prewatch_end().
 * Errors   none: without the watch, prewatch_report() returns false.
 */
#pragma once

#include <stdbool.h>

struct arrivals;

/* Before programs are compiled: lets the watch begin when a pattern is matched. */
void prewatch_enable(struct arrivals *a);
/*
 * Reports to system.c what was recorded since the pattern was matched, and ends the watch. Returns
 * false if records may be missing: then the mappings of all processes have to be read.
 */
bool prewatch_report(struct arrivals *a);
void prewatch_end(struct arrivals *a);
