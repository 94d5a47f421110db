/* SPDX-License-Identifier: MIT */
/* Counts what memory is used for, by type (survey.h). */
#include "mdb/survey.h"

#include <inttypes.h>

#include "base/hashmap.h"
#include "mdb/blocktype.h"
#include "mdb/census.h"
#include "mdb/impl.h"
#include "mdb/leaks.h"

PRINTF_LIKE(2, 3) static void note_add(struct survey *s, const char *fmt, ...)
{
	struct strbuf text = {0};
	va_list ap;

	va_start(ap, fmt);
	strbuf_vaddf(&text, fmt, ap);
	va_end(ap);
	vec_push(&s->notes, text.data);
}

/* ---- types ----------------------------------------------------------------------------------- */

static int type_compare(const void *a, const void *b)
{
	const struct survey_type *x = a, *y = b;
	uint64_t n = x->held ? x->held : x->bytes, k = y->held ? y->held : y->bytes;

	if (n != k)
		return n > k ? -1 : 1;
	return strcmp(x->name, y->name);
}

static void types_sort(struct survey *s)
{
	if (s->types.len)
		qsort(s->types.data, s->types.len, sizeof(*s->types.data), type_compare);
}

/* Counts a block of malloc. Blocks are the first types of a survey, in the order of numbers. */
static void block_count(struct survey *s, struct blocktypes *types, const struct chunk *c,
			uint64_t held)
{
	const struct blocktype *t = blocktype_get(types, c);
	struct survey_type *to;

	if (t->number == s->types.len)
		vec_push(&s->types, (struct survey_type){.name = xstrdup(t->name),
							 .kind = t->is_class ? "c++" : "block",
							 .example = chunk_memory(c)});
	to = &s->types.data[t->number];
	to->count++;
	to->bytes += c->size;
	to->held += held;
}

/* ---- what is missing ------------------------------------------------------------------------- */

/* An error if blocks of malloc are those of an allocator that is not known. */
static struct err *allocator_check(const struct heap *h)
{
	if (!h->other)
		return NULL;
	return err_hint(err_new("blocks of malloc are those of '%s', whose memory cannot be walked",
				h->other),
			"memprof malloc follows the blocks of every allocator from its start on");
}

static void heap_notes_add(struct survey *s, const struct heap *h)
{
	uint64_t nmapped = 0;

	for (uint32_t i = 0; i < h->chunks.len; i++)
		nmapped += h->chunks.data[i].state == CHUNK_MMAPPED;
	if (h->damages.len)
		note_add(s,
			 "the heap is damaged at %" PRIu64 " place%s, the first of which is at "
			 "0x%" PRIx64 " (%s): some blocks are not known",
			 h->damages.len + h->nhidden, h->damages.len + h->nhidden == 1 ? "" : "s",
			 h->damages.data[0].at, h->damages.data[0].what);
	if (h->is_cut)
		note_add(s, "there are more than %u blocks: the others were not looked at",
			 h->chunks.len);
	if (h->has_counts && nmapped != h->nmapped)
		note_add(s,
			 "%" PRIu64 " blocks with a mapping of their own were found, malloc has "
			 "counted %u",
			 nmapped, h->nmapped);
}

static void missing_note_add(struct survey *s, const struct reach *r)
{
	if (r->missing)
		note_add(s,
			 "%" PRIu64 " bytes cannot be read: what is held only from there is shown "
			 "as leaked",
			 r->missing);
}

/* ---- leaks ----------------------------------------------------------------------------------- */

/* Objects of a runtime are in memory of its own, of which all words count. */
static void language_note_add(struct survey *s, struct mdb *m)
{
	const char *language = census_language(m, 0);

	if (language)
		note_add(s,
			 "memory of %s that is no block of malloc counts as in use: freed objects "
			 "in it may hide leaks",
			 language);
}

struct err *survey_leaks(struct mdb *m, struct survey *s)
{
	struct blocktypes *types;
	struct leaks l;
	struct err *e;

	*s = (struct survey){0};
	e = leaks_make(m, &l);
	e = e ? err_wrap(e, "blocks of malloc are not known") : allocator_check(l.reach.h);
	if (e) {
		leaks_deinit(&l);
		return e;
	}
	types = blocktypes_create(&l.reach);
	for (uint32_t i = 0; i < l.list.len; i++)
		block_count(s, types, &l.reach.h->chunks.data[l.list.data[i].chunk],
			    l.list.data[i].held);
	blocktypes_destroy(types);
	s->nblocks = l.nbusy;
	s->nbytes = l.nbusy_bytes;
	s->nlost = l.nchunks;
	s->nlost_bytes = l.nbytes;
	heap_notes_add(s, l.reach.h);
	missing_note_add(s, &l.reach);
	language_note_add(s, m);
	leaks_deinit(&l);
	types_sort(s);
	return NULL;
}

void survey_deinit(struct survey *s)
{
	for (uint32_t i = 0; i < s->types.len; i++)
		free(s->types.data[i].name);
	for (uint32_t i = 0; i < s->notes.len; i++)
		free(s->notes.data[i]);
	vec_deinit(&s->types);
	vec_deinit(&s->notes);
}
