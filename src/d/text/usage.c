/* SPDX-License-Identifier: MIT */
/* Finds out how many arguments a script takes, and what its header comment says of them. */
#include "d/text/usage.h"

#include <strings.h>

#include "base/str.h"
#include "base/text.h"

#define LINE_MAX_SHOWN 160u

/* ---- how many -------------------------------------------------------------------------------- */

/* The end of the comment or string that begins at p; p itself when none begins there. */
static const char *passive_skip(const char *p, const char *end)
{
	const char *q = p;

	if (end - p > 1 && p[0] == '/' && p[1] == '*') {
		q = memmem(p + 2, (size_t)(end - p - 2), "*/", 2);
		return q ? q + 2 : end;
	}
	if (*p != '"')
		return p;
	for (q++; q < end && *q != '"' && *q != '\n'; q++)
		q += *q == '\\' && q + 1 < end;
	return q < end ? q + 1 : end;
}

uint32_t usage_args_taken(const struct source *src)
{
	const char *p = src->text, *end = src->text + src->len;
	uint32_t most = 0;

	while (p < end) {
		const char *behind = passive_skip(p, end);
		uint32_t n = 0;

		if (behind != p) {
			p = behind;
			continue;
		}
		if (*p++ != '$')
			continue;
		if (p < end && *p == '$')
			p++;
		for (; p < end && *p >= '0' && *p <= '9'; p++)
			n = MIN(n * 10 + (uint32_t)(*p - '0'), 1000000u);
		most = MAX(most, n);
	}
	return most;
}

/* ---- the header ------------------------------------------------------------------------------ */

struct line {
	const char *text;
	uint32_t len;
};

/*
 * Finds the comment at the top, before which only '#' lines and a comment with the licence's
 * identifier stand; false when there is none.
 */
static bool header_find(const struct source *src, const char **ret_from, const char **ret_to)
{
	static const char licence[] = "/* SPDX-License-Identifier:";
	const char *p = src->text, *end = src->text + src->len, *to;

	for (;;) {
		while (p < end && strchr(" \t\r\n", *p))
			p++;
		if (p == end || (*p != '#' && ((size_t)(end - p) < sizeof(licence) - 1 ||
					       memcmp(p, licence, sizeof(licence) - 1) != 0)))
			break;
		p = memchr(p, '\n', (size_t)(end - p));
		if (!p)
			return false;
	}
	if (end - p < 4 || p[0] != '/' || p[1] != '*')
		return false;
	to = memmem(p + 2, (size_t)(end - p - 2), "*/", 2);
	*ret_from = p + 2;
	*ret_to = to ? to : end;
	return true;
}

/* Reads the next line without its frame of blanks and stars; false at the end. */
static bool line_next(const char **p, const char *to, struct line *ret)
{
	const char *from = *p, *nl, *end;

	if (from >= to)
		return false;
	nl = memchr(from, '\n', (size_t)(to - from));
	end = nl ? nl : to;
	*p = nl ? nl + 1 : to;
	while (from < end && strchr(" \t*", *from))
		from++;
	while (end > from && strchr(" \t\r*", end[-1]))
		end--;
	*ret = (struct line){from, (uint32_t)(end - from)};
	return true;
}

static bool line_has(const struct line *l, const char *word)
{
	size_t len = strlen(word);

	for (uint32_t i = 0; len && i + len <= l->len; i++)
		if (strncasecmp(l->text + i, word, len) == 0)
			return true;
	return false;
}

/* The line that says "usage:", or the next one when only "usage:" stands in it. */
static bool line_usage(const char *from, const char *to, struct line *ret)
{
	struct line l;

	while (line_next(&from, to, &l)) {
		if (l.len < 5 || strncasecmp(l.text, "usage", 5) != 0)
			continue;
		*ret = l;
		if (l.len > 6)
			return true;
		while (line_next(&from, to, ret))
			if (ret->len)
				return true;
	}
	return false;
}

static bool line_naming(const char *from, const char *to, const char *name, struct line *ret)
{
	while (line_next(&from, to, ret))
		if (line_has(ret, name))
			return true;
	return false;
}

static bool line_first(const char *from, const char *to, struct line *ret)
{
	while (line_next(&from, to, ret))
		if (ret->len)
			return true;
	return false;
}

const char *usage_header(struct arena *a, const struct source *src)
{
	const char *from, *to, *name = basename(src->name);
	struct line l;
	char *text;

	if (!header_find(src, &from, &to) ||
	    (!line_usage(from, to, &l) && !line_naming(from, to, name, &l) &&
	     !line_first(from, to, &l)))
		return NULL;
	/* a control character in the script could control the terminal */
	text = arena_strndup(a, l.text, MIN(l.len, LINE_MAX_SHOWN));
	text_clean_bytes(text, strlen(text), "", ' ');
	return text;
}
