/* SPDX-License-Identifier: MIT */
/*
 * D scripts over each core: what they print are sections of the report.
 *
 * Root writes them into a folder, and reads them; they run where the report is made, without any
 * right, as "dtrace --core" runs them.
 *
 * Owns     names and texts, until crash_scripts_free().
 * Errors   none: what went wrong with a script is the text of its section.
 */
#pragma once

#include "base/vec.h"

#define CRASH_SCRIPTS "/etc/fathom/crash.d"

struct crash_scripts {
	VEC(char *) list; /* names and texts, alternating */
};

/* Reads those of a folder, sorted by name; it must be of its reader, and writable for no other. */
void crash_scripts_read(const char *folder, struct crash_scripts *ret);
/* Replaces each text by what it prints about the core; NULL is behind the last. */
void crash_scripts_run(struct crash_scripts *s, int core);
void crash_scripts_free(struct crash_scripts *s);
