/* SPDX-License-Identifier: MIT */
/*
 * Which file and line a code object and a position are, for clauses that count under them in a
 * process (sites.c).
 *
 * Owns     what it knows of processes, and the names of places.
 * Errors   none: a place that cannot be read has no line, which sites_tell() says.
 * Threads  the consumer's.
 */
#pragma once

#include "inproc/inproc.h"

struct live;
struct sites;

struct sites *sites_create(struct live *live); /* live outlives it */
void sites_destroy(struct sites *s);	       /* NULL is allowed */
/* The functions that the engine in the process asks; they are used as long as s lives. */
struct inproc_sites sites_hooks(struct sites *s);
/* Tables are going to be read: what is known of memory is too old. NULL is allowed. */
void sites_begin(struct sites *s);
/* Whether some process may have places. NULL is allowed. */
bool sites_has_processes(const struct sites *s);
/* Says how many places could not be read since the last call. NULL is allowed. */
void sites_tell(const struct sites *s);
