/* SPDX-License-Identifier: MIT */
/* Diagnostics of a D program: kept in the order of the reports, shown in the order of the text. */
#include "d/text/diag.h"

#include "base/text.h"

#define LINE_SHOWN_MAX 160u /* bytes of a source line */
#define NAME_MAX_NEAR  64u  /* longer names are not compared */

struct diag {
	enum dtag tag;
	enum diag_where where;
	struct span at;
	const char *text, *hint;
};

struct diags {
	struct arena *arena;
	struct source_map *map;
	enum diag_where where;
	uint32_t len;
	bool has_more;	  /* more than DIAG_MAX errors were reported */
	bool latest_kept; /* the latest report is list[len - 1] */
	bool are_dropped;
	struct diag list[DIAG_MAX];
	struct diag warnings[DIAG_MAX];
	uint32_t nwarnings;
	bool has_more_warnings;
};

static const char *const tag_names[] = {
#define D_TAG(name) "D_" #name,
#include "d/text/tags.def"
#undef D_TAG
};

static const char *const remedies[] = {
#define D_REMEDY(name, text) [D_##name] = text,
#include "d/text/remedies.def"
#undef D_REMEDY
};

const char *dtag_name(enum dtag tag)
{
	return tag < D_NTAGS ? tag_names[tag] : "D_UNKNOWN";
}

const char *dtag_remedy(enum dtag tag)
{
	return tag < ARRAY_LEN(remedies) ? remedies[tag] : NULL;
}

struct diags *diags_create(struct arena *a, struct source_map *map)
{
	struct diags *d = ARENA_NEW(a, struct diags);

	d->arena = a;
	d->map = map;
	return d;
}

/*
 * Whether the same error was reported before: the checker visits a clause once for each of its
 * descriptions.
 */
static bool diag_is_known(const struct diag *list, uint32_t n, enum dtag tag, struct span at,
			  const char *text)
{
	for (uint32_t i = 0; i < n; i++)
		if (list[i].tag == tag && list[i].at.off == at.off &&
		    strcmp(list[i].text, text) == 0)
			return true;
	return false;
}

void diag_error(struct diags *d, enum dtag tag, struct span at, const char *fmt, ...)
{
	const char *text;
	va_list ap;

	va_start(ap, fmt);
	text = arena_vprintf(d->arena, fmt, ap);
	va_end(ap);
	d->latest_kept = false;
	if (diag_is_known(d->list, d->len, tag, at, text))
		return;
	if (d->len == DIAG_MAX) {
		d->has_more = true;
		return;
	}
	d->list[d->len++] = (struct diag){.tag = tag, .where = d->where, .at = at, .text = text};
	d->latest_kept = true;
}

void diag_warn(struct diags *d, enum dtag tag, struct span at, const char *fmt, ...)
{
	const char *text;
	va_list ap;

	va_start(ap, fmt);
	text = arena_vprintf(d->arena, fmt, ap);
	va_end(ap);
	if (diag_is_known(d->warnings, d->nwarnings, tag, at, text))
		return;
	if (d->nwarnings == DIAG_MAX) {
		d->has_more_warnings = true;
		return;
	}
	d->warnings[d->nwarnings++] = (struct diag){.tag = tag,
						    .where = d->where,
						    .at = at,
						    .text = text,
						    .hint = dtag_remedy(tag)};
}

void diag_hint(struct diags *d, const char *fmt, ...)
{
	va_list ap;

	if (!d->latest_kept)
		return;
	va_start(ap, fmt);
	d->list[d->len - 1].hint = arena_vprintf(d->arena, fmt, ap);
	va_end(ap);
}

bool diags_drop(struct diags *d, bool are_dropped)
{
	bool before = d->are_dropped;

	d->are_dropped = are_dropped;
	return before;
}

bool diags_are_dropped(const struct diags *d)
{
	return d->are_dropped;
}

void diags_add_remedies(struct diags *d)
{
	for (uint32_t i = 0; i < d->len; i++)
		if (!d->list[i].hint)
			d->list[i].hint = dtag_remedy(d->list[i].tag);
}

void diag_set_where(struct diags *d, enum diag_where where)
{
	d->where = where;
}

uint32_t diags_count(const struct diags *d)
{
	return d->len;
}

const char *diags_first_text(const struct diags *d, uint32_t n)
{
	return n < d->len ? d->list[n].text : "";
}

void diags_truncate(struct diags *d, uint32_t n)
{
	if (n < d->len)
		d->len = n;
	d->has_more = false;
	d->latest_kept = false;
}

/* Fills in indices in the order of the text; errors at one location keep their order. */
static void diags_sort(const struct diags *d, uint32_t order[DIAG_MAX])
{
	for (uint32_t i = 0; i < d->len; i++) {
		uint32_t j = i;

		for (; j > 0 && d->list[order[j - 1]].at.off > d->list[i].at.off; j--)
			order[j] = order[j - 1];
		order[j] = i;
	}
}

enum dtag diags_first_tag(const struct diags *d)
{
	uint32_t order[DIAG_MAX];

	if (!d->len)
		return D_UNKNOWN;
	diags_sort(d, order);
	return d->list[order[0]].tag;
}

/* Adds the location in the words of other DTraces (d-language.md 3.7). */
static void location_add(const struct diag *g, const struct source_loc *loc, struct strbuf *out)
{
	static const char *const where_text[] = {
		[DIAG_NOWHERE] = "",
		[DIAG_IN_PREDICATE] = "in predicate: ",
		[DIAG_IN_ACTIONS] = "in action list: ",
	};

	if (!loc->src)
		return;
	if (loc->is_marked || loc->src->is_library)
		strbuf_addf(out, "\"%s\", line %u: ", loc->file, loc->line);
	else if (loc->src->kind == SOURCE_FILE)
		strbuf_addf(out, "line %u: ", loc->line);
	else
		strbuf_adds(out, where_text[g->where]);
}

static bool is_utf8_tail(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

static void underline_add(const char *text, uint32_t from, uint32_t at, uint32_t to,
			  struct strbuf *out)
{
	strbuf_adds(out, "\n      | ");
	for (uint32_t i = from; i < at; i++)
		if (!is_utf8_tail(text[i]))
			strbuf_addc(out, text[i] == '\t' ? '\t' : ' ');
	strbuf_addc(out, '^');
	for (uint32_t i = at + 1; i < to; i++)
		if (!is_utf8_tail(text[i]))
			strbuf_addc(out, '~');
}

/* Adds the source line with its number, and a line that underlines the span. */
static void excerpt_add(const struct diag *g, const struct source_loc *loc, struct strbuf *out)
{
	uint32_t at = loc->col - 1, len = loc->text_len, from = 0, to;
	size_t start;

	if (len && loc->text[len - 1] == '\r')
		len--;
	at = MIN(at, len);
	to = (uint32_t)MIN((uint64_t)at + g->at.len, (uint64_t)len);
	if (len > LINE_SHOWN_MAX) {
		from = at > LINE_SHOWN_MAX / 2 ? at - LINE_SHOWN_MAX / 2 : 0;
		while (from < at && is_utf8_tail(loc->text[from]))
			from++;
		len = MIN(len, from + LINE_SHOWN_MAX);
		to = MIN(to, len);
	}
	strbuf_addf(out, "\n%5u | ", loc->line);
	start = out->len;
	strbuf_add(out, loc->text + from, len - from);
	/* a script could control the terminal */
	text_clean_bytes(out->data + start, len - from, "\t", '?');
	underline_add(loc->text, from, at, to, out);
}

static void diag_add(const struct diags *d, const struct diag *g, bool errtags, struct strbuf *out)
{
	struct source_loc loc = source_locate(d->map, g->at.off);

	if (errtags)
		strbuf_addf(out, "[%s] ", dtag_name(g->tag));
	location_add(g, &loc, out);
	strbuf_adds(out, g->text);
	strbuf_addf(out, "\n  --> %s", loc.src && loc.file[0] ? loc.file : "<command line>");
	if (loc.src)
		strbuf_addf(out, ":%u:%u", loc.line, loc.col);
	strbuf_addf(out, " [%s]", dtag_name(g->tag));
	if (loc.src)
		excerpt_add(g, &loc, out);
	if (g->hint)
		strbuf_addf(out, "\n  hint: %s", g->hint);
}

void diags_format(const struct diags *d, bool errtags, struct strbuf *out)
{
	uint32_t order[DIAG_MAX];

	diags_sort(d, order);
	for (uint32_t i = 0; i < d->len; i++) {
		if (i)
			strbuf_addc(out, '\n');
		diag_add(d, &d->list[order[i]], errtags, out);
	}
	if (d->has_more)
		strbuf_adds(out, "\nmore errors are not shown");
}

bool diags_format_warning(const struct diags *d, uint32_t i, bool errtags, struct strbuf *out)
{
	if (i >= d->nwarnings)
		return false;
	strbuf_adds(out, "warning: ");
	diag_add(d, &d->warnings[i], errtags, out);
	if (i + 1 == DIAG_MAX && d->has_more_warnings)
		strbuf_adds(out, "\nmore warnings are not shown");
	return true;
}

/* Optimal string alignment distance: insert, delete, replace, swap neighbours. */
static uint32_t edit_distance(const char *a, uint32_t alen, const char *b, uint32_t blen)
{
	uint32_t rows[3][NAME_MAX_NEAR + 1];
	uint32_t *prev2 = rows[0], *prev = rows[1], *cur = rows[2];

	for (uint32_t j = 0; j <= blen; j++)
		prev[j] = j;
	for (uint32_t i = 1; i <= alen; i++) {
		uint32_t *spare = prev2;

		cur[0] = i;
		for (uint32_t j = 1; j <= blen; j++) {
			uint32_t best = prev[j - 1] + (a[i - 1] != b[j - 1]);

			best = MIN(best, prev[j] + 1);
			best = MIN(best, cur[j - 1] + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				best = MIN(best, prev2[j - 2] + 1);
			cur[j] = best;
		}
		prev2 = prev;
		prev = cur;
		cur = spare;
	}
	return prev[blen];
}

const char *diag_nearest(const char *name, const char *const *candidates, uint32_t n)
{
	size_t len = strlen(name);
	/* one typing mistake is allowed in a short name, more in longer ones; none in 'ab' */
	uint32_t best = len < 3 ? 0 : len < 6 ? 1 : len < 12 ? 2 : 3;
	const char *found = NULL;

	if (len > NAME_MAX_NEAR)
		return NULL;
	for (uint32_t i = 0; i < n; i++) {
		size_t clen = strlen(candidates[i]);
		uint32_t dist;

		if (clen > NAME_MAX_NEAR || (clen > len ? clen - len : len - clen) > best)
			continue;
		dist = edit_distance(name, (uint32_t)len, candidates[i], (uint32_t)clen);
		if (dist > best || (dist == best && found))
			continue;
		best = dist;
		found = candidates[i];
	}
	return found;
}
