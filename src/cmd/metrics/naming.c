/*
 * Names: of metrics and labels, from the names of scripts and aggregations, or from comments of the
 * script:
 *
 *     @metric AGGREGATION [name=NAME] [type=counter|gauge] [labels=A,B,...] [help=TEXT...]
 *
 * anywhere in a comment; help is the rest of the line. A line of the form is no part of the D
 * language, so that the script stays one for every dtrace.
 */
#include <ctype.h>

#include "metrics.h"

char *name_clean(const char *text)
{
	char *name = mem_check(strdup(text));

	for (char *p = name; *p; p++)
		if (!isalnum((unsigned char)*p) || (unsigned char)*p >= 0x80)
			*p = '_';
	if (isdigit((unsigned char)*name))
		*name = '_';
	return name;
}

void name_cut(struct buf *name, size_t max, const struct series *s)
{
	size_t len = max - 17;

	if (name->len <= max)
		return;
	while (len && ((unsigned char)name->data[len] & 0xc0) == 0x80)
		len--; /* a character is not cut */
	name->len = len;
	buf_addf(name, "~%016llx", (unsigned long long)s->hash);
}

void label_escape(struct buf *b, const char *text, bool is_help)
{
	for (const char *p = text; *p; p++) {
		if (*p == '\n')
			buf_adds(b, "\\n");
		else if (*p == '\\' || (*p == '"' && !is_help))
			buf_addf(b, "\\%c", *p);
		else
			buf_addc(b, *p);
	}
}

static char *word_copy(const char *from, const char *to)
{
	return mem_check(strndup(from, (size_t)(to - from)));
}

static void labels_parse(struct directive *d, const char *from, const char *to)
{
	while (from < to && d->nlabels < KEYS_MAX) {
		const char *end = memchr(from, ',', (size_t)(to - from));
		char *word;

		if (!end)
			end = to;
		word = word_copy(from, end);
		d->labels[d->nlabels++] = name_clean(word);
		free(word);
		from = end + 1;
	}
}

/* One word behind the aggregation's name; false: it is not known. */
static bool word_parse(struct directive *d, const char *from, const char *to)
{
	static const char name[] = "name=", type[] = "type=", labels[] = "labels=";

	if (strncmp(from, name, strlen(name)) == 0) {
		char *word = word_copy(from + strlen(name), to);

		free(d->name);
		d->name = name_clean(word);
		free(word);
		return true;
	}
	if (strncmp(from, labels, strlen(labels)) == 0) {
		labels_parse(d, from + strlen(labels), to);
		return true;
	}
	if (strncmp(from, type, strlen(type)) == 0) {
		free(d->type);
		d->type = word_copy(from + strlen(type), to);
		return strcmp(d->type, "counter") == 0 || strcmp(d->type, "gauge") == 0;
	}
	return false;
}

static struct directive *directive_parse(const char *path, int line, const char *p, const char *end)
{
	struct directive *d = mem_check(calloc(1, sizeof(*d)));
	const char *word_end;

	p += strspn(p, " \t");
	p += *p == '@';
	word_end = p + strcspn(p, " \t\n*");
	d->agg = word_copy(p, word_end);
	for (p = word_end; p < end; p = word_end) {
		p += strspn(p, " \t");
		if (p >= end || (p[0] == '*' && p[1] == '/'))
			break;
		if (strncmp(p, "help=", 5) == 0) {
			const char *close = strstr(p, "*/");

			word_end = close && close < end ? close : end;
			while (word_end > p + 5 && isspace((unsigned char)word_end[-1]))
				word_end--;
			free(d->help);
			d->help = word_copy(p + 5, word_end);
			break;
		}
		word_end = p + strcspn(p, " \t\n");
		if (word_parse(d, p, word_end))
			continue;
		say("%s:%d: '%.*s' is no part of '@metric': it has name=, type=counter or type=gauge, "
		    "labels=, help=",
		    path, line, (int)(word_end - p), p);
	}
	return d;
}

struct directive *directives_parse(const char *path, const char *text)
{
	struct directive *first = NULL, **last = &first;
	int line = 1;

	for (const char *p = text; *p; line++) {
		const char *end = p + strcspn(p, "\n"), *at = strstr(p, "@metric ");

		if (at && at < end) {
			*last = directive_parse(path, line, at + strlen("@metric "), end);
			last = &(*last)->next;
		}
		p = *end ? end + 1 : end;
	}
	return first;
}

void directives_free(struct directive *d)
{
	while (d) {
		struct directive *next = d->next;

		for (uint32_t i = 0; i < d->nlabels; i++)
			free(d->labels[i]);
		free(d->agg);
		free(d->name);
		free(d->help);
		free(d->type);
		free(d);
		d = next;
	}
}

const struct directive *directive_find(const struct directive *d, const char *agg)
{
	while (d && strcmp(d->agg, agg) != 0)
		d = d->next;
	return d;
}
