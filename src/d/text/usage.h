/* SPDX-License-Identifier: MIT */
/*
 * Finds out which arguments a script takes, for the message when they are missing.
 *
 * Owns     texts live in the caller's arena.
 * Errors   none.
 */
#pragma once

#include "d/text/source.h"

/* The highest n of $n and $$n outside comments and strings. */
uint32_t usage_args_taken(const struct source *src);
/*
 * One line of the comment at the top of the script: the line that begins with "usage", else the
 * first line that names the script, else the first line. A line with the licence's identifier
 * (SPDX) above the comment is passed over. NULL: the script has no such comment.
 */
const char *usage_header(struct arena *a, const struct source *src);
