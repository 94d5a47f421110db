/*
 * Names of code that a compiler in the process has made: the file perf-PID.map.
 *
 * Facts    lines of "START SIZE NAME", numbers in hexadecimal, appended while the program runs; a
 *          later line is about newer code: Linux tools/perf/Documentation/jit-interface.txt.
 */
#pragma once

#include "base/base.h"

struct perfmap;

/* fd: taken over. The file is read when a name is asked for, and again when it has grown. */
struct perfmap *perfmap_create(int fd);
void perfmap_destroy(struct perfmap *m); /* NULL is allowed */
/* Name of the code at addr and where it begins; NULL when there is none. Valid until the next call.
 */
const char *perfmap_find(struct perfmap *m, taddr addr, taddr *ret_start);
