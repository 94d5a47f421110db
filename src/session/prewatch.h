/* SPDX-License-Identifier: MIT */
/*
 * What processes map between the match of a pattern and the start of tracing.
 *
 * Owns     the watch run->early, until early_report() or early_end().
 * Errors   none: without the watch, early_report() returns false.
 */
#pragma once

#include "session/run.h"

/* Before programs are compiled: lets the watch begin when a pattern is matched. */
void early_enable(struct run *run);
/*
 * Reports to later.c what was recorded since the pattern was matched, and ends the watch. Returns
 * false if records may be missing: then the mappings of all processes have to be read.
 */
bool early_report(struct run *run);
void early_end(struct run *run);
