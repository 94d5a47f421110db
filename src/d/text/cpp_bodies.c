/* SPDX-License-Identifier: MIT */
/*
 * Takes the function definitions of included C headers out of preprocessed text.
 *
 *     static inline int f(int x) { return x + 1; }
 *
 * D has nothing into which a function definition could be made. Few headers have any (byteswap.h
 * does). A '{' behind a ')' outside all braces begins such a body, and occurs nowhere in D text;
 * text outside included files is left alone. Lines keep their numbers.
 */
#include "d/text/cpp.h"

struct bodies {
	char *p, *end;
	uint32_t depth; /* of includes */
};

/*
 * Skips "# LINE "FILE" FLAG..." to the end of the line. Flag 1 enters a file, 2 returns from one.
 */
static void marker_skip(struct bodies *b)
{
	char *eol = memchr(b->p, '\n', (size_t)(b->end - b->p)), *q;

	eol = eol ? eol : b->end;
	q = memrchr(b->p, '"', (size_t)(eol - b->p));
	for (; q && q < eol; q++) {
		if (*q == '1' && q[-1] == ' ')
			b->depth++;
		else if (*q == '2' && q[-1] == ' ' && b->depth)
			b->depth--;
	}
	b->p = eol;
}

static void literal_skip(struct bodies *b)
{
	char quote = *b->p++;

	while (b->p < b->end && *b->p != quote && *b->p != '\n')
		b->p += *b->p == '\\' && b->p + 1 < b->end ? 2 : 1;
	if (b->p < b->end)
		b->p++;
}

/* Skips a character, literal or marker; returns its first character, a blank for a marker. */
static char text_step(struct bodies *b, const char *start)
{
	char c = *b->p;

	if (c == '#' && (b->p == start || b->p[-1] == '\n')) {
		marker_skip(b);
		return ' ';
	}
	if (c == '"' || c == '\'')
		literal_skip(b);
	else
		b->p++;
	return c;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n';
}

/* Overwrites text with blanks, except newlines and markers. */
static void text_blank(char *from, const char *to, const char *start)
{
	bool is_marker = false;

	for (char *p = from; p < to; p++) {
		if (p == start || p[-1] == '\n')
			is_marker = *p == '#';
		if (!is_marker && *p != '\n')
			*p = ' ';
	}
}

void cpp_drop_functions(char *text, size_t len)
{
	struct bodies b = {.p = text, .end = text + len};
	char *decl = text, last = ' '; /* last: the last character that is not a blank */
	uint32_t level = 0;	       /* number of open braces */
	uint32_t body = 0;	       /* level inside the body of a function; 0: outside */

	while (b.p < b.end) {
		char c = text_step(&b, text);

		if (c == '{' && !level++ && last == ')' && b.depth)
			body = level;
		else if (c == '}' && level && level-- == body) {
			text_blank(decl, b.p, text);
			body = 0;
		}
		if (!level && (c == ';' || c == '}'))
			decl = b.p;
		if (!is_blank(c))
			last = c;
	}
}
