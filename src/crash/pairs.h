/* SPDX-License-Identifier: MIT */
/*
 * Lines of the form key=value: the files `capture`, `analysed`, `same` and `install` of the store,
 * and the configuration.
 *
 * In a value, "\xNN" stands for a byte that the line could not have: a control character, a
 * backslash, a byte that is no UTF-8. Values come from processes, so whoever prints one escapes it.
 *
 * Owns     a struct pairs owns keys and values; pairs_deinit() frees them.
 * Errors   none: a line without '=' is counted in nbad, and so is what exceeds the limits.
 */
#pragma once

#include "base/str.h"
#include "base/vec.h"

#define PAIRS_MAX      1000
#define PAIRS_TEXT_MAX (256u << 10) /* bytes of a file of pairs */

struct pair {
	char *key, *value; /* without escapes; a NUL of the value stays "\x00" */
};

struct pairs {
	VEC(struct pair) list;
	uint32_t nbad;
};

/* Lines that are empty or begin with '#' are left out. */
void pairs_parse(const char *text, size_t len, struct pairs *ret);
void pairs_deinit(struct pairs *p);
/* The value of the first pair with this key; NULL: there is none. */
const char *pairs_find(const struct pairs *p, const char *key);
/* The same; missing: there is none, or it is empty. */
const char *pairs_text(const struct pairs *p, const char *key, const char *missing);
/* The same as a number; missing: there is none, or the value is no number. */
int64_t pairs_int(const struct pairs *p, const char *key, int64_t missing);
/* Adds a line. */
void pair_write(struct strbuf *out, const char *key, const char *value);
void pair_write_int(struct strbuf *out, const char *key, int64_t value);
