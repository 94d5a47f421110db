/*
 * Subroutine json(): one element out of JSON text. Semantics: top of interp_subr.c.
 *
 * No tree and no recursion: a value is skipped by counting brackets, and each step of the path
 * narrows the text to the value it names. The kernel can do the same in one bounded loop.
 */
#include "dif/interp_impl.h"

#define SPACE	  " \t\n\r"
#define WORD_END  SPACE ",:]}[{\""
#define STEP_SEPS ".[]"

/* Past the string at s, which is at its opening quote; NULL when it has no end. */
static const char *skip_string(const char *s)
{
	for (s++; *s && *s != '"'; s++)
		if (*s == '\\' && *++s == '\0')
			return NULL;
	return *s ? s + 1 : NULL;
}

/* Past the object or array at s. */
static const char *skip_brackets(const char *s)
{
	uint32_t depth = 0;

	while (*s) {
		if (*s == '"') {
			s = skip_string(s);
			if (!s)
				return NULL;
			continue;
		}
		if (*s == '{' || *s == '[')
			depth++;
		else if ((*s == '}' || *s == ']') && --depth == 0)
			return s + 1;
		s++;
	}
	return NULL;
}

static const char *skip_space(const char *s)
{
	return s + strspn(s, SPACE);
}

/* Past the value at s (no space before it); NULL: malformed. */
static const char *skip_value(const char *s)
{
	size_t len;

	if (*s == '"')
		return skip_string(s);
	if (*s == '{' || *s == '[')
		return skip_brackets(s);
	len = strcspn(s, WORD_END);
	return len ? s + len : NULL;
}

/* Past the value at s and the comma after it; NULL: malformed, or it was the last one. */
static const char *next_item(const char *s)
{
	s = skip_value(s);
	if (!s)
		return NULL;
	s = skip_space(s);
	return *s == ',' ? skip_space(s + 1) : NULL;
}

/* The value of the member of the object at s; NULL: malformed or missing. */
static const char *find_member(const char *s, const char *step, size_t len)
{
	s = skip_space(s + 1);
	while (s && *s == '"') {
		const char *key = s + 1, *end = skip_string(s);

		if (!end)
			return NULL;
		s = skip_space(end);
		if (*s != ':')
			return NULL;
		s = skip_space(s + 1);
		if ((size_t)(end - 1 - key) == len && memcmp(key, step, len) == 0)
			return s;
		s = next_item(s);
	}
	return NULL;
}

static const char *find_element(const char *s, const char *step, size_t len)
{
	uint32_t index = 0;

	if (len > 9)
		return NULL;
	for (size_t i = 0; i < len; i++) {
		if (step[i] < '0' || step[i] > '9')
			return NULL;
		index = index * 10 + (uint32_t)(step[i] - '0');
	}
	s = skip_space(s + 1);
	while (s && index--)
		s = next_item(s);
	return s;
}

/* Follows the path from the value at s; NULL: malformed, missing, or an empty path. */
static const char *find_value(const char *s, const char *path)
{
	bool any = false;

	while (s) {
		size_t len;

		path += strspn(path, STEP_SEPS);
		if (!*path)
			return any ? s : NULL;
		len = strcspn(path, STEP_SEPS);
		s = *s == '{'	? find_member(s, path, len)
		    : *s == '[' ? find_element(s, path, len)
				: NULL;
		path += len;
		any = true;
	}
	return NULL;
}

uint64_t subr_json(struct dif_machine *m, const uint64_t *v)
{
	const char *s, *end;
	uint32_t n;

	if (!subr_text(m, v[0], 0, &n) || !subr_text(m, v[1], 1, &n))
		return 0;
	s = find_value(skip_space(m->text[0]), m->text[1]);
	end = s ? skip_value(s) : NULL;
	if (!end)
		return 0;
	return *s == '"' ? subr_result(m, s + 1, (size_t)(end - s - 2))
			 : subr_result(m, s, (size_t)(end - s));
}
