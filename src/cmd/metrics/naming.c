/* SPDX-License-Identifier: MIT */
/*
 * Names: of metrics and labels, from the names of scripts and aggregations, or from comments of the
 * script:
 *
 *     @metric AGGREGATION [name=NAME] [type=counter|gauge] [labels=A,B,...] [help=TEXT...]
 *
 * anywhere in a comment; help is the rest of the line. A line of the form is no part of the D
 * language, so that the script stays one for every dtrace. A wrong one is an error: a metric that
 * silently has another name than its author believes is missing in a graph months later.
 */
#include <ctype.h>

#include "base/text.h"
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

void utf8_clean(char *text)
{
	for (size_t left = strlen(text); left;) {
		size_t n = utf8_get(text, left, NULL);

		if (!n)
			*text = '?';
		text += MAX(n, 1u);
		left -= MAX(n, 1u);
	}
}

void name_cut(struct strbuf *name, size_t max, const struct series *s)
{
	size_t len = max - 17;

	if (name->len <= max)
		return;
	while (len && ((unsigned char)name->data[len] & 0xc0) == 0x80)
		len--; /* a character is not cut */
	name->len = len;
	strbuf_addf(name, "~%016llx", (unsigned long long)s->hash);
}

void label_escape(struct strbuf *b, const char *text, bool is_help)
{
	for (const char *p = text; *p; p++) {
		if (*p == '\n')
			strbuf_adds(b, "\\n");
		else if (*p == '\\' || (*p == '"' && !is_help))
			strbuf_addf(b, "\\%c", *p);
		else
			strbuf_addc(b, *p);
	}
}

struct directive *directive_find(struct directive *d, const char *agg)
{
	while (d && strcmp(d->agg, agg) != 0)
		d = d->next;
	return d;
}

/* ---- parsing --------------------------------------------------------------------------------- */

#define ITEMS                                                                                      \
	"name=NAME, type=counter, type=gauge, labels=NAME,NAME..., and, as the last one, help=TEXT"

/* A comment of a script that is parsed, and what was found so far. */
struct parse {
	const char *path;
	int line;
	struct directive *first, **last;
	uint32_t nwrong; /* messages that were printed */
};

static __attribute__((format(printf, 2, 3))) void refuse(struct parse *p, const char *fmt, ...)
{
	struct strbuf why = {0};
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	strbuf_addf(&why, "%s:%d: %s", p->path, p->line, text);
	say("%s", why.data);
	strbuf_deinit(&why);
	p->nwrong++;
}

static char *word_copy(const char *from, const char *to)
{
	return mem_check(strndup(from, (size_t)(to - from)));
}

/* A name that is written as it is to be; what: "metric" or "label". */
static char *name_parse(struct parse *p, const char *from, const char *to, const char *what)
{
	char *name = word_copy(from, to), *clean = name_clean(name);

	if (!*name || strcmp(name, clean) != 0)
		refuse(p,
		       "'%s' in '@metric' cannot be the name of a %s, which has letters, digits "
		       "and '_', and begins with no digit",
		       name, what);
	free(clean);
	return name;
}

static void labels_parse(struct parse *p, struct directive *d, const char *from, const char *to)
{
	static const char *const reserved[] = {"le", "quantile", "otel_metric_overflow"};

	for (const char *end; from <= to; from = end + 1) {
		char *name;

		end = memchr(from, ',', (size_t)(to - from));
		if (!end)
			end = to;
		name = name_parse(p, from, end, "label");
		for (size_t i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++)
			if (strcmp(name, reserved[i]) == 0)
				refuse(p,
				       "the label '%s' in '@metric' has a meaning of its own for "
				       "receivers: choose another name",
				       name);
		for (uint32_t i = 0; i < d->nlabels; i++)
			if (strcmp(name, d->labels[i]) == 0)
				refuse(p, "the label '%s' stands twice in '@metric'", name);
		if (d->nlabels == KEYS_MAX) {
			refuse(p, "more than %d labels in '@metric'", KEYS_MAX);
			free(name);
			return;
		}
		d->labels[d->nlabels++] = name;
	}
}

static bool item_is(const char *from, const char *to, const char *name)
{
	return (size_t)(to - from) >= strlen(name) && strncmp(from, name, strlen(name)) == 0;
}

/* One word behind the aggregation's name. */
static void item_parse(struct parse *p, struct directive *d, const char *from, const char *to)
{
	static const char name[] = "name=", type[] = "type=", labels[] = "labels=";
	bool is_twice = false;

	if (item_is(from, to, name) && !(is_twice = d->name != NULL)) {
		d->name = name_parse(p, from + strlen(name), to, "metric");
		return;
	}
	if (item_is(from, to, labels) && !(is_twice = d->nlabels > 0)) {
		labels_parse(p, d, from + strlen(labels), to);
		return;
	}
	if (item_is(from, to, type) && !(is_twice = d->type != NULL)) {
		d->type = word_copy(from + strlen(type), to);
		if (strcmp(d->type, "counter") == 0 || strcmp(d->type, "gauge") == 0)
			return;
	}
	if (is_twice)
		refuse(p, "'%.*s' is the second item of its kind in '@metric'", (int)(to - from),
		       from);
	else
		refuse(p, "unknown item '%.*s' in '@metric'; allowed: " ITEMS, (int)(to - from),
		       from);
}

/* Parses the items that follow "@metric" in one line of a comment. */
static void directive_parse(struct parse *p, const char *at, const char *end)
{
	struct directive *d = mem_check(calloc(1, sizeof(*d)));
	uint32_t nwrong = p->nwrong;
	const char *word;

	d->line = p->line;
	*p->last = d;
	p->last = &d->next;
	while (end > at && isspace((unsigned char)end[-1]))
		end--;
	at += strspn(at, " \t");
	at += at < end && *at == '@';
	for (word = at; word < end && !isspace((unsigned char)*word);)
		word++;
	d->agg = word > at ? word_copy(at, word) : mem_check(strdup("_"));
	if (word == at && (at >= end || at[-1] != '@'))
		refuse(p, "'@metric' names no aggregation: '@metric AGGREGATION' comes first, then "
			  "any of " ITEMS);
	if (directive_find(p->first, d->agg) != d)
		refuse(p, "'@%s' has a '@metric' in line %d already", d->agg,
		       directive_find(p->first, d->agg)->line);
	/* one message a line: behind the first wrong item, others are guesses */
	for (at = word; at < end && p->nwrong == nwrong; at = word) {
		while (at < end && isspace((unsigned char)*at))
			at++;
		if (item_is(at, end, "help=")) {
			d->help = word_copy(at + strlen("help="), end);
			return;
		}
		for (word = at; word < end && !isspace((unsigned char)*word);)
			word++;
		if (word > at)
			item_parse(p, d, at, word);
	}
}

/* A line of a comment, or what the comment has of it. */
static void line_parse(struct parse *p, const char *from, const char *to)
{
	static const char mark[] = "@metric";
	size_t len = strlen(mark);

	for (const char *at = from; at + len <= to; at++) {
		bool begins = at == from || !strchr("'\"@_", at[-1]),
		     ends = at + len == to || isspace((unsigned char)at[len]);

		if (begins && ends && (at == from || !isalnum((unsigned char)at[-1])) &&
		    strncmp(at, mark, len) == 0) {
			directive_parse(p, at + len, to);
			return;
		}
	}
}

/* Parses a comment up to its end, which it returns. */
static const char *comment_parse(struct parse *p, const char *at)
{
	const char *close = strstr(at, "*/"), *end = close ? close : at + strlen(at);

	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));

		line_parse(p, at, newline ? newline : end);
		p->line += newline != NULL;
		at = newline ? newline + 1 : end;
	}
	return close ? close + 2 : end;
}

/* Passes over a string or a character, which a newline ends in any case. */
static const char *literal_skip(const char *at)
{
	char quote = *at++;

	while (*at && *at != quote && *at != '\n')
		at += *at == '\\' && at[1] && at[1] != '\n' ? 2 : 1;
	return at + (*at == quote);
}

bool directives_parse(const char *path, const char *text, struct directive **ret)
{
	struct parse p = {.path = path, .line = 1};

	p.last = &p.first;
	for (const char *at = text; *at;) {
		if (at[0] == '/' && at[1] == '*') {
			at = comment_parse(&p, at + 2);
		} else if (*at == '"' || *at == '\'') {
			at = literal_skip(at);
		} else {
			p.line += *at == '\n';
			at++;
		}
	}
	*ret = p.first;
	return !p.nwrong;
}

bool directives_check(const char *path, const struct directive *d, dtrace_hdl_t *hdl)
{
	struct parse p = {.path = path};

	for (; d; d = d->next) {
		p.line = d->line;
		if (!dtrace_aggregate_lookup(hdl, d->agg))
			refuse(&p, "'@metric %s': the script has no aggregation '@%s'", d->agg,
			       strcmp(d->agg, "_") == 0 ? "" : d->agg);
	}
	return !p.nwrong;
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
