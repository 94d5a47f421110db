/*
 * Hints at descriptions that D reads in another way than they were meant.
 *
 * Owns     hints live in the arena that is given.
 * Errors   none: NULL is "no hint".
 */
#pragma once

#include "base/arena.h"

/* Of one that another tracer takes ("kprobe:vfs_read"): what it is in D. */
const char *desc_foreign_hint(struct arena *a, const char *text);
/* Whether text is how such a tracer begins a description that goes on with a path: "uprobe:". */
bool desc_has_path(const char *text);
/*
 * Of one with too many fields: how the name of a function that holds "::" is written. has_name: the
 * last field is a probe's name, as it is with -n.
 */
const char *desc_colons_hint(struct arena *a, const char *text, bool has_name);
