/* SPDX-License-Identifier: MIT */
/*
 * Splits a command line into words as a POSIX shell does, but expands nothing.
 *
 * Owns     a struct words owns its words; words_deinit() frees them.
 * Errors   a quote that is not closed, a backslash that ends the text.
 * Facts    POSIX.1-2017, Shell Command Language, 2.2 Quoting.
 */
#pragma once

#include "base/err.h"
#include "base/vec.h"

struct words {
	VEC(char *) list; /* NULL-terminated */
	char *text;
};

/*
 * Words are separated by blanks, tabs and newlines. Between single quotes every character stands
 * for itself; between double quotes a backslash quotes one of $ ` " \ and elsewhere stays; outside
 * of quotes it quotes any character. A backslash and a newline behind it vanish. "" is an empty
 * word. Variables, patterns, comments and operators of the shell are plain text. On error *ret
 * needs no words_deinit().
 */
MUST_CHECK struct err *words_split(const char *text, struct words *ret);
void words_deinit(struct words *w);
