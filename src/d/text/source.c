/* SPDX-License-Identifier: MIT */
/* Source texts in one range of global offsets, with the marks of '#line'. */
#include "d/text/source.h"

#include "base/sorted.h"
#include "d/text/list.h"

struct mark {
	uint32_t off; /* start of the line that has number `line` */
	uint32_t line;
	const char *file; /* "" = the source's own name */
};

struct source_map {
	struct arena *arena;
	LIST(struct source *) sources;
	LIST(struct mark) marks; /* ascending by off */
	uint32_t next_base;
};

struct source_map *source_map_create(struct arena *a)
{
	struct source_map *m = ARENA_NEW(a, struct source_map);

	m->arena = a;
	m->next_base = SOURCE_NOWHERE + 1;
	return m;
}

const struct source *source_add(struct source_map *m, enum source_kind kind, const char *name,
				const char *text, size_t len, bool is_library)
{
	struct source *s = ARENA_NEW(m->arena, struct source);

	if (len > SOURCE_MAX || m->next_base > UINT32_MAX - len - 1)
		BUG("source text of %zu bytes", len);
	*s = (struct source){
		.kind = kind,
		.name = arena_strdup(m->arena, name ? name : ""),
		.text = arena_strndup(m->arena, text, len),
		.len = (uint32_t)len,
		.base = m->next_base,
		.is_library = is_library,
	};
	/*
	 * One more than the text has bytes, so that the end of the text has an offset of its own.
	 */
	m->next_base += (uint32_t)len + 1;
	list_push(m->arena, &m->sources, s);
	return s;
}

static const struct mark *mark_find(const struct source_map *m, uint32_t off)
{
	uint32_t lo = sorted_upto(m->marks.data, m->marks.len, off, off);

	return lo ? &m->marks.data[lo - 1] : NULL;
}

static const struct source *source_find(const struct source_map *m, uint32_t off)
{
	uint32_t lo = 0, hi = m->sources.len;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (m->sources.data[mid]->base <= off)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo || off > m->sources.data[lo - 1]->base + m->sources.data[lo - 1]->len)
		return NULL;
	return m->sources.data[lo - 1];
}

void source_line_mark(struct source_map *m, uint32_t off, uint32_t line, const char *file)
{
	const struct source *src = source_find(m, off);
	const struct mark *before = mark_find(m, off);
	struct mark mark = {.off = off, .line = line};
	uint32_t at = before ? (uint32_t)(before - m->marks.data) + 1 : 0;

	/* A text that is parsed a second time adds its marks again. */
	if (before && before->off == off)
		return;
	if (file)
		mark.file = arena_strdup(m->arena, file);
	else if (before && src && before->off >= src->base)
		mark.file = before->file;
	else
		mark.file = "";
	list_push(m->arena, &m->marks, mark);
	/* A mark nearly always goes to the end; not when an earlier text is parsed later. */
	memmove(&m->marks.data[at + 1], &m->marks.data[at], (m->marks.len - 1 - at) * sizeof(mark));
	m->marks.data[at] = mark;
}

struct source_loc source_locate(const struct source_map *m, uint32_t off)
{
	const struct source *src = source_find(m, off);
	const struct mark *mark = mark_find(m, off);
	struct source_loc loc = {.src = src, .file = "", .text = ""};
	const char *at, *end, *from;

	if (!src)
		return loc;
	at = src->text + (off - src->base);
	end = src->text + src->len;
	from = src->text;
	loc.file = src->name;
	loc.line = 1;
	if (mark && mark->off >= src->base) {
		from = src->text + (mark->off - src->base);
		loc.line = mark->line;
		loc.is_marked = mark->file[0] != '\0';
		if (loc.is_marked)
			loc.file = mark->file;
	}
	loc.text = src->text;
	for (const char *p = src->text; p < at && (p = memchr(p, '\n', (size_t)(at - p)));) {
		loc.text = ++p;
		if (p > from)
			loc.line++;
	}
	at = memchr(loc.text, '\n', (size_t)(end - loc.text));
	loc.text_len = (uint32_t)((at ? at : end) - loc.text);
	loc.col = (uint32_t)(src->text + (off - src->base) - loc.text) + 1;
	return loc;
}
