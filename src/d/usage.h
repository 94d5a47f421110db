/*
 * What a script says of the arguments it takes, for whoever runs it without them.
 *
 * Owns     texts live in the arena that is given.
 * Errors   none.
 */
#pragma once

#include "d/source.h"

/* The highest n of $n and $$n outside comments and strings. */
uint32_t usage_args_taken(const struct source *src);
/*
 * One line of the comment at the top of the script: the one that begins with "usage", else the
 * first that names the script, else the first. NULL: there is no such comment.
 */
const char *usage_header(struct arena *a, const struct source *src);
