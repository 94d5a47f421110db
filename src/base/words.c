/* SPDX-License-Identifier: MIT */
/* Splits a command line into words as a POSIX shell does. */
#include "base/words.h"

/*
 * Copies what stands between quotes; *at is behind the opening one, and is then behind the closing
 * one. False: nothing closes it.
 */
static bool quoted_copy(const char **at, char quote, char **out)
{
	const char *p = *at;

	for (; *p != quote; p++) {
		if (!*p)
			return false;
		if (quote == '"' && *p == '\\' && p[1] == '\n') {
			p++;
			continue;
		}
		if (quote == '"' && *p == '\\' && p[1] && strchr("$`\"\\", p[1]))
			p++;
		*(*out)++ = *p;
	}
	*at = p + 1;
	return true;
}

/* Copies the word at *at, which stands in text; words are never longer than their text. */
static struct err *word_copy(const char *text, const char **at, char **out)
{
	const char *p = *at;

	while (*p && !strchr(" \t\n", *p)) {
		char c = *p++;

		if (c == '\'' || c == '"') {
			long column = p - text;

			if (!quoted_copy(&p, c, out))
				return err_hint(err_new("the %c in column %ld is not closed", c,
							column),
						"the command is split into words as a shell does: "
						"write \\%c for the character itself",
						c);
		} else if (c != '\\') {
			*(*out)++ = c;
		} else if (!*p) {
			return err_hint(err_new("a backslash ends the command"),
					"the command is split into words as a shell does: write "
					"\\\\ for the character itself");
		} else if (*p++ != '\n') {
			*(*out)++ = p[-1];
		}
	}
	*(*out)++ = '\0';
	*at = p;
	return NULL;
}

struct err *words_split(const char *text, struct words *ret)
{
	const char *at = text;
	struct words w = {.text = xmalloc(strlen(text) + 1)};
	char *out = w.text;
	struct err *e = NULL;

	for (;;) {
		while (*at && (strchr(" \t\n", *at) || (at[0] == '\\' && at[1] == '\n')))
			at += 1 + (*at == '\\');
		if (!*at || e)
			break;
		vec_push(&w.list, out);
		e = word_copy(text, &at, &out);
	}
	vec_push(&w.list, NULL);
	if (e) {
		words_deinit(&w);
		return e;
	}
	*ret = w;
	return NULL;
}

void words_deinit(struct words *w)
{
	vec_deinit(&w->list);
	free(w->text);
}
