/*
 * Compares output with what is expected, as tests/run.py does, where there is no Python: outmatch WANT GOT.
 * A line of WANT that begins with '~' is a regular expression for the whole line, '~*' alone any lines.
 */
#include <regex.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct lines {
	char **line;
	size_t n;
};

static bool lines_read(const char *path, struct lines *ret)
{
	FILE *f = fopen(path, "r");
	char *line = NULL;
	size_t cap = 0;
	ssize_t len;

	if (!f)
		return false;
	while ((len = getline(&line, &cap, f)) >= 0) {
		char **more = realloc(ret->line, (ret->n + 1) * sizeof(*more));

		if (!more)
			return false;
		if (len && line[len - 1] == '\n')
			line[len - 1] = '\0';
		ret->line = more;
		ret->line[ret->n++] = strdup(line);
	}
	free(line);
	(void)fclose(f);
	return true;
}

/* POSIX knows no \d: what Python's expressions in the tests use is translated. */
static bool line_matches(const char *want, const char *got)
{
	char text[8192];
	size_t n = 0;
	regex_t re;
	bool is_match;

	if (want[0] != '~')
		return strcmp(want, got) == 0;
	n += (size_t)snprintf(text, sizeof(text), "^(");
	for (const char *p = want + 1; *p && n < sizeof(text) - 16; p++) {
		if (p[0] == '\\' && p[1] == 'd') {
			n += (size_t)snprintf(text + n, sizeof(text) - n, "[0-9]");
			p++;
		} else if (p[0] == '(' && p[1] == '?' && p[2] == ':') {
			text[n++] = '(';
			p += 2;
		} else {
			text[n++] = *p;
		}
	}
	(void)snprintf(text + n, sizeof(text) - n, ")$");
	if (regcomp(&re, text, REG_EXTENDED | REG_NOSUB) != 0)
		return false;
	is_match = regexec(&re, got, 0, NULL, 0) == 0;
	regfree(&re);
	return is_match;
}

static bool match(const struct lines *w, size_t i, const struct lines *g, size_t j)
{
	for (; i < w->n; i++, j++) {
		if (strcmp(w->line[i], "~*") == 0) {
			for (size_t k = j; k <= g->n; k++)
				if (match(w, i + 1, g, k))
					return true;
			return false;
		}
		if (j >= g->n || !line_matches(w->line[i], g->line[j]))
			return false;
	}
	return j == g->n;
}

int main(int argc, char **argv)
{
	struct lines want = {0}, got = {0};

	if (argc != 3 || !lines_read(argv[1], &want) || !lines_read(argv[2], &got)) {
		fprintf(stderr, "usage: outmatch WANT GOT\n");
		return 2;
	}
	return match(&want, 0, &got, 0) ? 0 : 1;
}
