/* SPDX-License-Identifier: MIT */
/*
 * Names of code that a just-in-time compiler has generated in its process: the file perf-PID.map.
 *
 * Facts    lines of "START SIZE NAME", numbers in hexadecimal, appended while the program runs; a
 *          later line is about newer code: Linux tools/perf/Documentation/jit-interface.txt.
 */
#pragma once

#include "base/base.h"

struct gate_file;
struct perfmap;

/* Takes the file over. It is read at the first lookup, and again at a lookup when it has grown. */
struct perfmap *perfmap_create(struct gate_file *file);
void perfmap_destroy(struct perfmap *m); /* NULL is allowed */
/*
 * Returns the name of the code at addr and where the code begins; NULL: none. The name is valid
 * until the next call.
 */
const char *perfmap_find(struct perfmap *m, taddr addr, taddr *ret_start);

/* Returns the bytes of memory that perfmap_shed() gives back. */
uint64_t perfmap_size(const struct perfmap *m);
uint64_t perfmap_used(const struct perfmap *m); /* when a name was last searched for */
/* Frees what was read: the file is read again at the next lookup. */
void perfmap_shed(struct perfmap *m);
