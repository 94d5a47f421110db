/* SPDX-License-Identifier: MIT */
/*
 * Subroutine json(): selects one element of JSON text. Semantics: top of interp_subr.c.
 *
 * It makes no tree and does not recurse: it skips a value by counting brackets, and each step of
 * the path narrows the text to the value that the step names. The kernel can do that in one bounded
 * loop.
 */
#include "dif/interp_impl.h"

#define SPACE	  " \t\n\r"
#define WORD_END  SPACE ",]}"
#define STEP_SEPS ".[]"
#define DIGITS	  "0123456789"
#define DEPTH_MAX 64u /* open brackets */

/* The end of the string at s, which is at its opening quote; NULL when it has no end. */
static const char *string_end(const char *s)
{
	for (s++; *s && *s != '"'; s++)
		if (*s == '\\' && *++s == '\0')
			return NULL;
	return *s ? s + 1 : NULL;
}

/* The end of the object or array at s; NULL when it has no end. */
static const char *brackets_end(const char *s)
{
	char closing[DEPTH_MAX];
	uint32_t depth = 0;

	while (*s) {
		if (*s == '"') {
			s = string_end(s);
			if (!s)
				return NULL;
			continue;
		}
		if (*s == '{' || *s == '[') {
			if (depth == DEPTH_MAX)
				return NULL;
			closing[depth++] = *s == '{' ? '}' : ']';
		} else if (*s == '}' || *s == ']') {
			if (*s != closing[--depth])
				return NULL;
			if (!depth)
				return s + 1;
		}
		s++;
	}
	return NULL;
}

static const char *space_end(const char *s)
{
	return s + strspn(s, SPACE);
}

/* The end of the digits at s, of which there is at least one; NULL: there is none. */
static const char *digits_end(const char *s)
{
	size_t n = strspn(s, DIGITS);

	return n ? s + n : NULL;
}

/* number = [ "-" ] ( "0" | digits ) [ "." digits ] [ ( "e" | "E" ) [ "+" | "-" ] digits ] */
static const char *number_end(const char *s)
{
	s += *s == '-';
	s = *s == '0' ? s + 1 : digits_end(s);
	if (s && *s == '.')
		s = digits_end(s + 1);
	if (s && (*s == 'e' || *s == 'E')) {
		s++;
		s = digits_end(s + (*s == '+' || *s == '-'));
	}
	return s;
}

/* The end of the number, true, false or null at s; NULL: it is none of them, or may be cut. */
static const char *word_end(const char *s)
{
	static const char *const words[] = {"true", "false", "null"};
	const char *end = NULL;

	for (size_t i = 0; !end && i < ARRAY_LEN(words); i++)
		if (strncmp(s, words[i], strlen(words[i])) == 0)
			end = s + strlen(words[i]);
	if (!end)
		end = number_end(s);
	return end && *end && strchr(WORD_END, *end) ? end : NULL;
}

/* The end of the value at s, before which there is no space; NULL: malformed. */
static const char *value_end(const char *s)
{
	if (*s == '"')
		return string_end(s);
	if (*s == '{' || *s == '[')
		return brackets_end(s);
	return word_end(s);
}

/* Skips the value at s and the comma behind it; NULL: malformed, or it was the last one. */
static const char *item_next(const char *s)
{
	s = value_end(s);
	if (!s)
		return NULL;
	s = space_end(s);
	return *s == ',' ? space_end(s + 1) : NULL;
}

/* The value of a member of the object at s; NULL: malformed or missing. */
static const char *member_find(const char *s, const char *step, size_t len)
{
	s = space_end(s + 1);
	while (s && *s == '"') {
		const char *key = s + 1, *end = string_end(s);

		if (!end)
			return NULL;
		s = space_end(end);
		if (*s != ':')
			return NULL;
		s = space_end(s + 1);
		if ((size_t)(end - 1 - key) == len && memcmp(key, step, len) == 0)
			return s;
		s = item_next(s);
	}
	return NULL;
}

static const char *element_find(const char *s, const char *step, size_t len)
{
	uint32_t index = 0;

	if (len > 9)
		return NULL;
	for (size_t i = 0; i < len; i++) {
		if (step[i] < '0' || step[i] > '9')
			return NULL;
		index = index * 10 + (uint32_t)(step[i] - '0');
	}
	s = space_end(s + 1);
	while (s && index--)
		s = item_next(s);
	return s;
}

/*
 * The value to which the path leads from s; NULL: malformed, missing, or an empty path.
 * ret_closing: the bracket that closes what the value is in.
 */
static const char *value_find(const char *s, const char *path, char *ret_closing)
{
	bool any = false;

	while (s) {
		size_t len;

		path += strspn(path, STEP_SEPS);
		if (!*path)
			return any ? s : NULL;
		len = strcspn(path, STEP_SEPS);
		*ret_closing = *s == '{' ? '}' : ']';
		s = *s == '{'	? member_find(s, path, len)
		    : *s == '[' ? element_find(s, path, len)
				: NULL;
		path += len;
		any = true;
	}
	return NULL;
}

uint64_t subr_json(struct dif_machine *m, const uint64_t *v)
{
	const char *s, *end, *next;
	char closing = '\0';
	uint32_t n;

	if (!subr_text(m, v[0], 0, &n) || !subr_text(m, v[1], 1, &n))
		return 0;
	s = value_find(space_end(m->text[0]), m->text[1], &closing);
	end = s ? value_end(s) : NULL;
	next = end ? space_end(end) : NULL;
	if (!next || (*next && *next != ',' && *next != closing))
		return 0;
	return *s == '"' ? subr_result(m, s + 1, (size_t)(end - s - 2))
			 : subr_result(m, s, (size_t)(end - s));
}
