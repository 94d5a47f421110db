/*
 * Function definitions of included C headers, taken out of preprocessed text.
 *
 *     static inline int f(int x) { return x + 1; }
 *
 * D has nothing that they could become. Headers have few: byteswap.h, for one. A '{' behind a ')'
 * outside of everything is such a body; in D text it occurs nowhere, and what is not included is
 * left alone. Lines keep their numbers.
 */
#include "d/cpp.h"

struct bodies {
	char *p, *end;
	uint32_t depth; /* of includes */
};

/* "# LINE "FILE" FLAG...": 1 enters a file, 2 comes back. Goes to the end of the line. */
static void skip_marker(struct bodies *b)
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

static void skip_literal(struct bodies *b)
{
	char quote = *b->p++;

	while (b->p < b->end && *b->p != quote && *b->p != '\n')
		b->p += *b->p == '\\' && b->p + 1 < b->end ? 2 : 1;
	if (b->p < b->end)
		b->p++;
}

/* One character, literal or marker line; what it begins with, or a blank. */
static char step(struct bodies *b, const char *start)
{
	char c = *b->p;

	if (c == '#' && (b->p == start || b->p[-1] == '\n')) {
		skip_marker(b);
		return ' ';
	}
	if (c == '"' || c == '\'')
		skip_literal(b);
	else
		b->p++;
	return c;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n';
}

/* Blanks out everything but newlines and markers. */
static void blank(char *from, const char *to, const char *start)
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
	char *decl = text, last = ' '; /* last: what is no blank */
	uint32_t level = 0, body = 0;  /* open braces; of a body: those around it and its own */

	while (b.p < b.end) {
		char c = step(&b, text);

		if (c == '{' && !level++ && last == ')' && b.depth)
			body = level;
		else if (c == '}' && level && level-- == body) {
			blank(decl, b.p, text);
			body = 0;
		}
		if (!level && (c == ';' || c == '}'))
			decl = b.p;
		if (!is_blank(c))
			last = c;
	}
}
