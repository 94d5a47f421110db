/* SPDX-License-Identifier: MIT */
/* Counts what memory is used for, by type (survey.h). */
#include "mdb/survey.h"

#include <inttypes.h>

#include "base/hashmap.h"
#include "base/text.h"
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

static void heap_notes_add(struct survey *s, const struct heap *h)
{
	uint64_t nmapped = 0;

	for (uint32_t i = 0; i < h->chunks.len; i++)
		nmapped += h->chunks.data[i].state == CHUNK_MMAPPED;
	if (h->damages.len)
		note_add(s,
			 "the heap is damaged at %" PRIu64 " place%s, the first of which is at "
			 "0x%" PRIx64 " (%s): some blocks are not known",
			 h->damages.len + h->nhidden, PLURAL(h->damages.len + h->nhidden),
			 h->damages.data[0].at, h->damages.data[0].what);
	if (h->is_cut)
		note_add(s, "there are more than %u blocks: the others were not looked at",
			 h->chunks.len);
	if (h->has_counts && nmapped != h->nmapped)
		note_add(s,
			 "%" PRIu64 " block%s found with a mapping of %s own, malloc has "
			 "counted %u",
			 nmapped, WORD_FOR(nmapped, " was", "s were"),
			 WORD_FOR(nmapped, "its", "their"), h->nmapped);
}

static void missing_note_add(struct survey *s, const struct reach *r)
{
	if (r->missing)
		note_add(s,
			 "%" PRIu64 " byte%s cannot be read: what is held only from there is shown "
			 "as leaked",
			 r->missing, PLURAL(r->missing));
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

struct typed { /* a type of blocks from one place: the key of a row */
	uint64_t type, place;
};

/* Counts a block that has leaked, by its type and place; rows: struct typed -> index + 1. */
static void leak_count(struct survey *s, struct hashmap *rows, const struct blocktype *t,
		       const struct chunk *c, const char *place, uint64_t held)
{
	const struct typed key = {t->number, (uint64_t)(uintptr_t)place};
	uintptr_t at = (uintptr_t)hashmap_find(rows, &key, sizeof(key));
	struct survey_type *to;

	if (!at) {
		vec_push(&s->types, (struct survey_type){.name = xstrdup(t->name),
							 .kind = t->is_class ? "c++" : "block",
							 .example = chunk_memory(c),
							 .place = place});
		at = s->types.len;
		hashmap_set(rows, &key, sizeof(key), (void *)at);
	}
	to = &s->types.data[at - 1];
	to->count++;
	to->bytes += c->size;
	to->held += held;
	s->nplaced += place != NULL;
}

static void leaks_count(struct survey *s, struct leaks *l, survey_place_f *place, void *arg)
{
	struct blocktypes *types = blocktypes_create(&l->reach);
	struct hashmap *rows = hashmap_create();

	for (uint32_t i = 0; i < l->list.len; i++) {
		const struct chunk *c = &l->reach.h->chunks.data[l->list.data[i].chunk];

		leak_count(s, rows, blocktype_get(types, c), c,
			   place ? place(arg, chunk_memory(c)) : NULL, l->list.data[i].held);
	}
	hashmap_destroy(rows);
	blocktypes_destroy(types);
}

struct err *survey_leaks(struct mdb *m, survey_place_f *place, void *arg, struct survey *s)
{
	struct leaks l;
	struct err *e;

	*s = (struct survey){0};
	e = leaks_make(m, &l);
	e = e ? err_wrap(e, "blocks of malloc are not known") : heap_check(l.reach.h);
	if (e) {
		leaks_deinit(&l);
		return e;
	}
	leaks_count(s, &l, place, arg);
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

/* ---- what is alive --------------------------------------------------------------------------- */

/* Adds the classes of a census; objects of one class may have several shapes. */
static void census_count(struct survey *s, const struct census *c)
{
	struct hashmap *known = hashmap_create(); /* index + 1, by name */
	struct strbuf name = {0};

	s->language = lang_name(&c->lang);
	for (uint32_t i = 0; i < c->groups.len; i++) {
		const struct group *g = &c->groups.data[i];
		struct survey_type *to;
		uintptr_t at;

		if (!g->n)
			continue;
		strbuf_clear(&name);
		census_class_add(c, g, g->first, &name);
		at = (uintptr_t)hashmap_finds(known, name.data);
		if (!at) {
			vec_push(&s->types, (struct survey_type){.name = xstrdup(name.data),
								 .kind = s->language,
								 .example = g->first});
			at = s->types.len;
			hashmap_sets(known, name.data, (void *)at);
		}
		to = &s->types.data[at - 1];
		to->count += g->n;
		to->bytes += g->bytes;
		s->nobjects += g->n;
		s->nobject_bytes += g->bytes;
	}
	strbuf_deinit(&name);
	hashmap_destroy(known);
}

/* Counts the blocks of malloc; c: NULL, or the objects that some of them have. */
static void blocks_count(struct survey *s, struct mdb *m, struct reach *r, const struct census *c)
{
	struct blocktypes *types = blocktypes_create(r);
	uint64_t nothers = 0, nother_bytes = 0;

	for (uint32_t i = 0; i < r->h->chunks.len && !m->is_interrupted; i++) {
		const struct chunk *k = &r->h->chunks.data[i];

		if (!chunk_is_busy(k))
			continue;
		if (c && census_has_objects(c, chunk_memory(k), chunk_usable(k))) {
			nothers++;
			nother_bytes += k->size;
			continue;
		}
		block_count(s, types, k, 0);
		s->nblocks++;
		s->nbytes += k->size;
	}
	blocktypes_destroy(types);
	if (nothers)
		note_add(s,
			 "%" PRIu64 " block%s of malloc, %" PRIu64 " bytes, %s objects of %s in "
			 "%s, and %s not among the blocks",
			 nothers, PLURAL(nothers), nother_bytes, WORD_FOR(nothers, "has", "have"),
			 lang_name(&c->lang), WORD_FOR(nothers, "it", "them"),
			 WORD_FOR(nothers, "is", "are"));
}

/* Makes one type of all blocks of which nothing but the size is known. */
static void sizes_merge(struct survey *s)
{
	struct survey_type sum = {.name = xstrdup("blocks of malloc"), .kind = "block"};
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->types.len; i++) {
		struct survey_type *t = &s->types.data[i];

		if (strcmp(t->kind, "block") != 0) {
			s->types.data[n++] = *t;
			continue;
		}
		sum.count += t->count;
		sum.bytes += t->bytes;
		sum.example = t->example;
		free(t->name);
	}
	s->types.len = n;
	if (sum.count)
		vec_push(&s->types, sum);
	else
		free(sum.name);
}

/* The objects of a language; NULL: there are none, or they are not known, which is noted. */
static struct census *census_try(struct survey *s, struct mdb *m)
{
	struct census *c = NULL;
	struct err *e = census_get(m, &c);
	bool is_there = m->declined;

	for (uint32_t i = 0; i < m->replay.nhelpers; i++)
		is_there |= replay_values(&m->replay, i) != NULL;
	if (e && is_there)
		note_add(s, "objects of the language are not known: %s", err_text(e));
	err_destroy(e);
	return c;
}

struct err *survey_alive(struct mdb *m, bool with_sizes, struct survey *s)
{
	struct census *c;
	struct reach r;
	struct err *e;

	*s = (struct survey){0};
	c = census_try(s, m);
	e = reach_make(m, REACH_NOTHING, &r);
	e = e ? err_wrap(e, "blocks of malloc are not known") : heap_check(r.h);
	if (!e) {
		blocks_count(s, m, &r, c);
		heap_notes_add(s, r.h);
	}
	if (e && c) {
		note_add(s, "%s", err_text(e));
		err_destroy(e);
		e = NULL;
	}
	if (e && s->notes.len)
		e = err_wrap(e, "%s", s->notes.data[0]);
	if (c && !with_sizes)
		sizes_merge(s);
	if (c)
		census_count(s, c);
	reach_deinit(&r);
	types_sort(s);
	if (e)
		survey_deinit(s);
	return e;
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
