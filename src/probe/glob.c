/* SPDX-License-Identifier: MIT */
/* Globbing of probe descriptions (d-language.md 1.7). */
#include "probe/probe.h"

bool glob_is_literal(const char *pattern)
{
	return !strpbrk(pattern, "*?[\\");
}

/*
 * Matches one character against the class whose text begins at p. Returns the pattern behind the
 * ']', or NULL when the class is not closed; such a pattern matches nothing.
 */
static const char *class_match(const char *p, unsigned char c, bool *ret_matches)
{
	bool negated = *p == '!', hit = false;
	const char *first = p += negated;

	for (; *p && (*p != ']' || p == first); p++) {
		unsigned char lo, hi;

		if (*p == '\\' && p[1])
			p++;
		lo = hi = (unsigned char)*p;
		if (p[1] == '-' && p[2] && p[2] != ']') {
			p += 2;
			if (*p == '\\' && p[1])
				p++;
			hi = (unsigned char)*p;
		}
		hit |= lo <= c && c <= hi;
	}
	*ret_matches = hit != negated;
	return *p ? p + 1 : NULL;
}

/* Matches a character against one element of a pattern, not '*'; the pattern behind it, or NULL. */
static const char *element_match(const char *p, char c)
{
	bool matches;

	if (!c)
		return NULL;
	switch (*p) {
	case '?': return p + 1;
	case '[': p = class_match(p + 1, (unsigned char)c, &matches); return matches ? p : NULL;
	case '\\':
		if (p[1])
			p++;
		break;
	default: break;
	}
	return *p == c ? p + 1 : NULL;
}

bool glob_match(const char *pattern, const char *text)
{
	const char *star = NULL, *retry = NULL; /* the latest '*', and the text it was tried at */

	if (!*pattern)
		return true;
	while (*text || *pattern) {
		const char *next;

		if (*pattern == '*') {
			star = ++pattern;
			retry = text;
			continue;
		}
		next = *pattern ? element_match(pattern, *text) : NULL;
		if (next) {
			pattern = next;
			text++;
			continue;
		}
		/* The latest '*' takes one more character; earlier ones need not be tried again. */
		if (!star || !*retry)
			return false;
		pattern = star;
		text = ++retry;
	}
	return true;
}
