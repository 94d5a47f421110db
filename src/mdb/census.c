/* SPDX-License-Identifier: MIT */
/*
 * The objects of languages in memory: how many of which kind there are.
 *
 * A helper says how objects are recognised (dtrace:helper:heap:), and what each class is: it is
 * asked once for a class, never for an object. Memory is read from one end to the other; the size
 * of an object says where the next one may begin. Where a runtime says where its objects are (in
 * lists, or in spans in which they follow each other), only these are looked at.
 */
#include "mdb/census.h"

#include <inttypes.h>

#include "base/hashmap.h"
#include "base/sorted.h"
#include "base/text.h"
#include "mdb/heap.h"
#include "mdb/roots.h"

#define CHUNK	    (1u << 20)
#define AHEAD	    64u /* bytes behind a chunk that are there, too */
#define CLASSES_MAX 1000000u
#define NONE_MAX    10000u /* of what spans have in the place of classes, and is none */
#define OBJECTS_MAX 200000000u
#define ROUNDS_MAX  4u
#define KEY_MAX	    1000u
#define PAGE	    4096u

/* ---- memory ---------------------------------------------------------------------------------- */

/* Memory in which a runtime may have objects: what no file has. */
static bool map_may_have_objects(const struct mdb *m, const struct proc_map *map)
{
	return !map->is_exec && !map->is_shared && !proc_map_has_file(map) && *map->path != '[' &&
	       (map->in_core || !m->opts.core);
}

typedef bool words_visit(struct census *s, uint64_t addr, const uint64_t *words, uint32_t n,
			 uint32_t nbehind);

static bool words_are_zero(const uint64_t *words, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (words[i])
			return false;
	return true;
}

/*
 * Calls f for each piece of such memory: n words, and nbehind that follow them. False: it was
 * interrupted.
 */
static bool memory_walk(struct mdb *m, struct census *s, words_visit *f)
{
	const struct proc_maps *maps = target_maps(m->t);
	CLEANUP(free) uint64_t *buf = xmalloc(CHUNK + AHEAD);

	for (uint32_t i = 0; i < maps->maps.len; i++) {
		const struct proc_map *map = &maps->maps.data[i];

		if (!map_may_have_objects(m, map) && strcmp(map->path, "[heap]") != 0)
			continue;
		for (uint64_t at = map->start, step;
		     (at = target_touched(m->t, at, map->end)) < map->end; at += step) {
			uint64_t want = MIN(map->end - at, (uint64_t)CHUNK + AHEAD);
			uint64_t got = memory_some(m, at, buf, want), n = MIN(got, (uint64_t)CHUNK);

			if (m->is_interrupted)
				return false;
			/* of a mapping of which a copy has a part, that part is read */
			step = n >= 8 ? n / 8 * 8 : MIN(memory_skip(m, at), map->end) - at;
			if (n < 8 || words_are_zero(buf, (uint32_t)(n / 8)))
				continue;
			s->end = map->end;
			if (!f(s, at, buf, (uint32_t)(n / 8), (uint32_t)((got - n) / 8)))
				return true;
		}
	}
	return true;
}

/* ---- classes --------------------------------------------------------------------------------- */

static uint32_t slot_of(const struct census *s, uint64_t addr, uint64_t kind)
{
	uint64_t hash = ((addr >> 3) + kind * 0xff51afd7ed558ccdull) * 0x9e3779b97f4a7c15ull;

	return (uint32_t)(hash >> 32) & s->mask;
}

static struct class *class_find(const struct census *s, uint64_t addr, uint64_t kind)
{
	for (uint32_t i = slot_of(s, addr, kind); s->slots && s->slots[i]; i = (i + 1) & s->mask) {
		struct class *c = &s->classes.data[s->slots[i] - 1];

		if (c->addr == addr && c->kind == kind)
			return c;
	}
	return NULL;
}

static void classes_index(struct census *s)
{
	free(s->slots);
	s->mask = 1023;
	while (s->mask < 4 * s->classes.len)
		s->mask = 2 * s->mask + 1;
	s->slots = xcalloc(s->mask + 1, sizeof(*s->slots));
	for (uint32_t i = 0; i < s->classes.len; i++) {
		uint32_t at = slot_of(s, s->classes.data[i].addr, s->classes.data[i].kind);

		while (s->slots[at])
			at = (at + 1) & s->mask;
		s->slots[at] = i + 1;
	}
}

/* Asks the helper about a class, unless that was done before. */
static struct class *class_add(struct census *s, uint64_t addr, uint64_t kind)
{
	struct class c = {.addr = addr, .kind = kind}, *found = class_find(s, addr, kind);

	if (found || s->classes.len >= CLASSES_MAX)
		return found;
	if (!value_class_read(s->lang.p, s->lang.h, addr, kind, &c.is)) {
		value_class_free(&c.is);
		c.is = (struct value_class){0};
		s->nnone++;
	}
	vec_push(&s->classes, c);
	s->low = MIN(s->low, addr);
	s->high = MAX(s->high, addr);
	if (4 * s->classes.len > s->mask) {
		classes_index(s);
	} else {
		uint32_t at = slot_of(s, addr, kind);

		while (s->slots[at])
			at = (at + 1) & s->mask;
		s->slots[at] = (uint32_t)s->classes.len;
	}
	return vec_last(&s->classes);
}

static bool word_is_class(const struct census *s, uint64_t word)
{
	return (word & s->heap.mask) == s->heap.tag;
}

static bool is_meta(const struct census *s, uint64_t word)
{
	for (uint32_t i = 0; i < s->nmetas; i++)
		if (s->metas[i] == word)
			return true;
	return false;
}

static void meta_note(struct census *s, const struct class *c)
{
	uint64_t word = c->addr + s->heap.tag;

	if (c->is.kinds & META_KIND && s->nmetas < METAS_MAX && !is_meta(s, word))
		s->metas[s->nmetas++] = word;
}

/* Notes classes that are their own class. */
static bool metas_find(struct census *s, uint64_t addr, const uint64_t *words, uint32_t n,
		       uint32_t nbehind)
{
	(void)nbehind;
	for (uint32_t i = 0; i < n; i++) {
		const struct class *c;

		if (words[i] != addr + 8ull * i + s->heap.tag)
			continue;
		c = class_add(s, addr + 8ull * i, 0);
		if (c)
			meta_note(s, c);
	}
	return true;
}

/* Notes the objects of those classes, which are classes. */
static bool classes_find(struct census *s, uint64_t addr, const uint64_t *words, uint32_t n,
			 uint32_t nbehind)
{
	(void)nbehind;
	for (uint32_t i = 0; i < n; i++) {
		const struct class *c;

		if (!word_is_class(s, words[i]) || !is_meta(s, words[i]))
			continue;
		c = class_add(s, addr + 8ull * i, 0);
		if (c)
			meta_note(s, c);
	}
	return true;
}

/* ---- objects --------------------------------------------------------------------------------- */

/* The class to which a word leads as the first one of an object. */
static const struct class *class_of_word(const struct census *s, uint64_t word)
{
	uint64_t addr = word - s->heap.tag;
	const struct class *c;

	if (!word_is_class(s, word) || addr < s->low || addr > s->high)
		return NULL;
	c = class_find(s, addr, 0);
	return c && c->is.kinds ? c : NULL;
}

/* Reads a word of the piece of memory that is walked over, or of another one. */
static bool word_read(const struct census *s, uint64_t addr, uint64_t *ret)
{
	uint64_t off = addr - s->piece_addr;

	if (off % 8 == 0 && off / 8 < s->piece_words) {
		*ret = s->piece[off / 8];
		return true;
	}
	return process_memory(s->lang.p, addr, ret, sizeof(*ret));
}

/* Many objects have the same empty array there: the last word that was good is kept. */
static bool rule_holds(struct census *s, uint32_t rule, uint64_t word)
{
	const struct value_rule *r = &s->heap.rules[rule];
	const struct class *c;
	uint64_t first;

	if ((r->mask && !(word & r->mask)) || (word && word == s->good[rule]))
		return true;
	if (!word_read(s, word - s->heap.tag, &first))
		return false;
	c = class_of_word(s, first);
	if (!c || !(c->is.kinds & r->other))
		return false;
	s->good[rule] = word;
	return true;
}

static bool object_is_believed(struct census *s, const struct class *c, uint64_t addr)
{
	for (uint32_t i = 0; i < s->heap.nrules; i++) {
		const struct value_rule *r = &s->heap.rules[i];
		uint64_t word;

		if (!(c->is.kinds & r->kinds))
			continue;
		if (!word_read(s, addr + r->at, &word) || !rule_holds(s, i, word)) {
			s->nrefused++;
			return false;
		}
	}
	return true;
}

/* The size of an object; 0: it cannot be. */
static uint64_t object_size(const struct census *s, const struct value_class *c, uint64_t addr)
{
	uint64_t count;

	if (!c->has_count)
		return c->size ? c->size : 8;
	if (!word_read(s, addr + c->count_at, &count))
		return 0;
	if (count & c->count_clear)
		return 0;
	count >>= c->count_shift;
	if (count > 1ull << 32 || c->unit > 4096 || c->head > 4096)
		return 0;
	if (c->count_bits > 4096)
		return 0;
	return MAX(((c->head + count * c->unit + 7) & ~7ull) +
			   (count * c->count_bits + 63) / 64 * 8,
		   8ull);
}

static void object_add(struct census *s, const struct class *c, uint64_t addr, uint64_t size)
{
	if (s->objects.len < OBJECTS_MAX)
		vec_push(&s->objects,
			 (struct object_at){addr, (uint32_t)(c - s->classes.data),
					    (uint32_t)MIN(size / 8, (uint64_t)UINT32_MAX)});
}

static bool objects_find(struct census *s, uint64_t addr, const uint64_t *words, uint32_t n,
			 uint32_t nbehind)
{
	const struct object_at *last = s->objects.len ? vec_last(&s->objects) : NULL;
	uint64_t from = last ? last->addr + 8ull * last->words : 0;
	uint32_t i = from > addr ? (uint32_t)MIN((from - addr) / 8, (uint64_t)n) : 0;

	s->piece = words;
	s->piece_addr = addr;
	s->piece_words = n + nbehind;
	while (i < n) {
		const struct class *c = class_of_word(s, words[i]);
		uint64_t at = addr + 8ull * i, size = c ? object_size(s, &c->is, at) : 0;

		if (!size || size > s->end - at || !object_is_believed(s, c, at)) {
			i++;
			continue;
		}
		object_add(s, c, at, size);
		i += (uint32_t)MIN(size / 8, (uint64_t)(n - i));
	}
	s->piece_words = 0;
	return true;
}

/* The class of an object of a list; false: it cannot be read. */
static bool class_word(const struct census *s, uint64_t addr, uint64_t offset, uint64_t *ret)
{
	for (uint32_t i = 0; i < s->heap.nkinds; i++) {
		const struct value_kind *k = &s->heap.kinds[i];
		uint64_t word, class = 0;

		if (!process_memory(s->lang.p, addr + k->at, &word, sizeof(word)))
			return false;
		if ((word & k->mask) != k->value)
			continue;
		if (k->class && !process_memory(s->lang.p, addr + k->class, &class, sizeof(class)))
			return false;
		*ret = class + k->plus;
		return true;
	}
	return process_memory(s->lang.p, addr + offset, ret, sizeof(*ret));
}

/*
 * Follows a list of objects to its head. One that is damaged may have a loop that its head is no
 * part of: `mark` is moved on now and then, and in a loop the walk comes back to it.
 */
static void list_walk(struct mdb *m, struct census *s, const struct value_list *l)
{
	uint64_t at = l->head, mark = at, steps = 0, limit = 1024;

	while (s->objects.len < OBJECTS_MAX && !m->is_interrupted) {
		const struct class *c;
		uint64_t word;

		if (!process_memory(s->lang.p, at + l->next, &at, sizeof(at)))
			return;
		at &= l->mask;
		if (!at || at == l->head || at == mark ||
		    !class_word(s, at + l->object, l->class, &word))
			return;
		c = class_add(s, word, 0);
		if (c)
			object_add(s, c, at + l->object, object_size(s, &c->is, at + l->object));
		if (++steps == limit) {
			mark = at;
			limit *= 2;
		}
	}
}

/* Adds the objects whose addresses an array has. What was never touched has none. */
static void array_walk(struct mdb *m, struct census *s, const struct value_array *a)
{
	uint64_t stride = MIN(MAX(a->stride, (uint64_t)8), (uint64_t)4096);
	uint64_t n = MIN(a->n, (uint64_t)OBJECTS_MAX), end = a->start + n * stride, word, class;

	for (uint64_t i = 0; i < n && !m->is_interrupted; i++) {
		uint64_t at = a->start + i * stride;
		const struct class *c;

		if (i % 512 == 0) {
			i += (target_touched(m->t, at, end) - at + stride - 1) / stride;
			at = a->start + i * stride;
		}
		if (i >= n || !process_memory(s->lang.p, at, &word, sizeof(word)))
			return;
		if (!word || word & a->free ||
		    !process_memory(s->lang.p, word + a->class, &class, sizeof(class)))
			continue;
		c = class_add(s, class, 0);
		if (c && c->is.kinds)
			object_add(s, c, word, object_size(s, &c->is, word));
	}
}

static int object_compare(const void *a, const void *b)
{
	uint64_t x = ((const struct object_at *)a)->addr, y = ((const struct object_at *)b)->addr;

	return (x > y) - (x < y);
}

/* The class of the object in a slot; NULL: nothing that counts is there. */
static const struct class *class_of_slot(struct census *s, const uint8_t *slot, uint64_t size)
{
	const struct value_heap *h = &s->heap;
	const struct class *c;
	uint64_t kind, addr = 0;

	memcpy(&kind, slot + h->kind_at, sizeof(kind));
	kind &= h->kind_mask;
	if (!kind)
		return NULL;
	for (uint32_t i = 0; i < h->nslot_classes; i++) {
		const struct value_slot_class *r = &h->slot_classes[i];

		if ((kind & r->mask) != r->bits || r->at > size - sizeof(addr))
			continue;
		memcpy(&addr, slot + r->at, sizeof(addr));
		if (r->is_inner && !process_memory(s->lang.p, addr + r->inner, &addr, sizeof(addr)))
			return NULL;
		break;
	}
	c = class_add(s, addr, kind);
	return c && c->is.kinds ? c : NULL;
}

/* Looks at the slots of a block from an address on; returns the end of the block. */
static uint64_t block_walk(struct mdb *m, struct census *s, const struct value_block *b,
			   uint64_t from)
{
	CLEANUP(free) uint8_t *buf = xmalloc(CHUNK);
	uint64_t end = b->start + b->n * b->size, step = CHUNK / b->size * b->size, at, n;

	for (at = b->start; at < end && !m->is_interrupted; at += n) {
		uint64_t next = target_touched(m->t, at, end);

		at += (next - at) / b->size * b->size;
		n = MIN(end - at, step);
		/* the last pages of a piece may be missing */
		while (n && !target_read(m->t, at, buf, n))
			n = n / b->size / 2 * b->size;
		if (!n)
			break;
		for (uint64_t i = 0; i < n; i += b->size) {
			const struct class *c =
				at + i < from ? NULL : class_of_slot(s, buf + i, b->size);

			if (c)
				object_add(s, c, at + i, b->size);
		}
	}
	return end;
}

static int block_compare(const void *a, const void *b)
{
	uint64_t x = ((const struct value_block *)a)->start,
		 y = ((const struct value_block *)b)->start;

	return (x > y) - (x < y);
}

/* Blocks of a damaged process may lie upon each other: no memory is looked at twice. */
static void blocks_walk(struct mdb *m, struct census *s)
{
	struct value_heap *h = &s->heap;
	uint64_t from = 0;

	if (!h->blocks.len)
		return;
	qsort(h->blocks.data, h->blocks.len, sizeof(*h->blocks.data), block_compare);
	for (uint32_t i = 0; i < h->blocks.len && s->objects.len < OBJECTS_MAX; i++) {
		struct value_block b = h->blocks.data[i];
		uint64_t skipped;

		if (b.size < 8 || b.size % 8 || b.size > CHUNK || h->kind_at > b.size - 8 ||
		    b.start > UINT64_MAX / 2 || b.n > UINT32_MAX)
			continue;
		skipped = from > b.start ? (from - b.start) / b.size : 0;
		if (skipped >= b.n)
			continue;
		b.start += skipped * b.size;
		b.n -= skipped;
		from = MAX(from, block_walk(m, s, &b, from));
	}
}

/* Sorts the objects that lists and blocks have, each once. */
static void objects_sort(struct census *s)
{
	uint32_t n = 0;

	if (!s->objects.len)
		return;
	qsort(s->objects.data, s->objects.len, sizeof(*s->objects.data), object_compare);
	for (uint32_t i = 0; i < s->objects.len; i++)
		if (!i || s->objects.data[i].addr != s->objects.data[n - 1].addr)
			s->objects.data[n++] = s->objects.data[i];
	s->objects.len = n;
}

/* ---- spans ----------------------------------------------------------------------------------- */

static int span_compare(const void *a, const void *b)
{
	const struct value_span *x = a, *y = b;

	return (x->from > y->from) - (x->from < y->from);
}

/* The class of the object at an address in a span; NULL: there is none. */
static const struct class *class_of_header(struct census *s, uint64_t at)
{
	const struct class *c;
	uint64_t word, addr;

	if (!word_read(s, at + s->heap.header.at, &word))
		return NULL;
	word = word >> s->heap.header.right & s->heap.header.mask;
	addr = s->heap.header.base + (word << s->heap.header.left);
	c = class_find(s, addr, 0);
	if (!c && s->nnone < NONE_MAX)
		c = class_add(s, addr, 0);
	return c && c->is.kinds ? c : NULL;
}

/* Returns the first address from `at` on that may have objects; `to`: there is none below. */
static uint64_t memory_find(struct mdb *m, uint64_t at, uint64_t to)
{
	const struct proc_maps *maps = target_maps(m->t);

	for (uint32_t i = 0; i < maps->maps.len; i++) {
		const struct proc_map *map = &maps->maps.data[i];
		uint64_t end = MIN(map->end, to);

		if (map->end <= at)
			continue;
		at = MAX(at, map->start);
		if (at >= to)
			return to;
		if (!proc_map_has_file(map))
			at = target_touched(m->t, at, end);
		if (at < end)
			return at;
	}
	return to;
}

/* Returns what follows memory that cannot be read: the next page, or the end of a file. */
static uint64_t unreadable_end(struct mdb *m, uint64_t at)
{
	const struct proc_map *map = proc_maps_find(target_maps(m->t), at);

	return map && proc_map_has_file(map) ? map->end : at + PAGE - at % PAGE;
}

/* Reads the memory at an address of a span that ends at `to`; false: it is not there. */
static bool piece_read(struct mdb *m, struct census *s, uint64_t *buf, uint64_t at, uint64_t to)
{
	uint64_t n = MIN(to - at, (uint64_t)CHUNK);

	if (!target_read(m->t, at, buf, n)) {
		n = MIN(n, PAGE - at % PAGE);
		if (!target_read(m->t, at, buf, n))
			return false;
	}
	s->piece = buf;
	s->piece_addr = at;
	s->piece_words = (uint32_t)(n / 8);
	return true;
}

/* Returns where the next span begins at the earliest: the last object may be longer than this. */
static uint64_t span_walk(struct mdb *m, struct census *s, uint64_t *buf, uint64_t at, uint64_t to)
{
	uint32_t hole = 0;

	while (at < to && s->objects.len < OBJECTS_MAX && !m->is_interrupted) {
		const struct class *c;
		uint64_t size;

		while (hole < s->heap.holes.len && s->heap.holes.data[hole].to <= at)
			hole++;
		if (hole < s->heap.holes.len && s->heap.holes.data[hole].from <= at) {
			at = s->heap.holes.data[hole].to;
			continue;
		}
		if (at < s->piece_addr || at - s->piece_addr >= 8ull * s->piece_words) {
			uint64_t next = memory_find(m, at, to);

			if (next == at && !piece_read(m, s, buf, at, to))
				next = MIN(unreadable_end(m, at), to);
			s->nlost += next - at;
			if (next != at) {
				at = next;
				continue;
			}
		}
		c = class_of_header(s, at);
		size = c ? object_size(s, &c->is, at) : 0;
		if (!size || size > s->end - at) {
			s->nlost += 8;
			at += 8;
			continue;
		}
		object_add(s, c, at, size);
		at += size;
	}
	s->piece_words = 0;
	return at;
}

static void spans_walk(struct mdb *m, struct census *s)
{
	CLEANUP(free) uint64_t *buf = xmalloc(CHUNK);
	value_spans *spans = &s->heap.spans, *holes = &s->heap.holes;
	uint64_t next = 0;

	qsort(spans->data, spans->len, sizeof(*spans->data), span_compare);
	if (holes->len)
		qsort(holes->data, holes->len, sizeof(*holes->data), span_compare);
	for (uint32_t i = 0; i < spans->len; i++)
		s->end = MAX(s->end, spans->data[i].to);
	for (uint32_t i = 0; i < spans->len; i++) {
		uint64_t from = MAX((spans->data[i].from + 7) & ~7ull, next);

		next = span_walk(m, s, buf, from, spans->data[i].to);
	}
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* "Point: x, y" */
static void class_key_add(const struct census *s, const struct class *c, struct strbuf *out)
{
	value_words words = {0};
	struct strbuf text = {0};

	if (c->is.name)
		value_name_add(s->lang.p, s->lang.h, c->is.name, &text);
	text_escape(out, strbuf_text(&text), text.len);
	strbuf_addc(out, ':');
	value_shape_read(s->lang.p, s->lang.h, c->addr, c->kind, &words);
	for (uint32_t i = 0; i < words.len && out->len < KEY_MAX; i++) {
		strbuf_clear(&text);
		value_name_add(s->lang.p, s->lang.h, words.data[i], &text);
		strbuf_adds(out, i ? ", " : " ");
		text_escape(out, strbuf_text(&text), text.len);
	}
	strbuf_deinit(&text);
	vec_deinit(&words);
}

bool census_has_objects(const struct census *s, uint64_t start, uint64_t size)
{
	uint32_t low = sorted_below(s->objects.data, s->objects.len, addr, start);

	return low < s->objects.len && s->objects.data[low].addr - start < size;
}

void census_class_add(const struct census *s, const struct group *g, uint64_t first,
		      struct strbuf *out)
{
	const char *end = strstr(g->key, ": ");
	size_t n = end ? (size_t)(end - g->key) : strlen(g->key), len = out->len;

	if (!end && n && g->key[n - 1] == ':')
		n--;
	strbuf_add(out, g->key, n);
	if (!n)
		(void)value_type_add(s->lang.p, s->lang.h, first, out);
	if (out->len == len)
		strbuf_adds(out, "(no name)");
}

static void group_of_class(struct census *s, struct hashmap *keys, struct class *c)
{
	struct strbuf key = {0};
	uint32_t at;

	class_key_add(s, c, &key);
	at = (uint32_t)(uintptr_t)hashmap_finds(keys, strbuf_text(&key));
	if (!at) {
		vec_push(&s->groups, (struct group){.key = xstrdup(strbuf_text(&key))});
		at = (uint32_t)s->groups.len;
		hashmap_sets(keys, vec_last(&s->groups)->key, (void *)(uintptr_t)at);
	}
	c->group = at;
	strbuf_deinit(&key);
}

static int word_compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void kept_find(const struct census *s, value_words *ret)
{
	for (uint32_t i = 0; s->heap.kept_kinds && i < s->objects.len; i++) {
		const struct object_at *o = &s->objects.data[i];
		uint64_t word;

		if (s->classes.data[o->class].is.kinds & s->heap.kept_kinds &&
		    process_memory(s->lang.p, o->addr + s->heap.kept_at, &word, sizeof(word)))
			vec_push(ret, word);
	}
	if (ret->len)
		qsort(ret->data, ret->len, sizeof(*ret->data), word_compare);
}

/* Whether an object is one of the program, which has a group. */
static bool object_is_shown(const struct census *s, const struct object_at *o)
{
	uint64_t word = o->addr + s->heap.tag;

	return s->classes.data[o->class].is.kinds & SHOWN_KIND &&
	       !(s->kept.len &&
		 bsearch(&word, s->kept.data, s->kept.len, sizeof(word), word_compare));
}

static void groups_make(struct census *s)
{
	struct hashmap *keys = hashmap_create();

	kept_find(s, &s->kept);
	for (uint32_t i = 0; i < s->objects.len; i++) {
		const struct object_at *o = &s->objects.data[i];
		struct class *c = &s->classes.data[o->class];
		struct group *g;

		uint64_t word = o->addr + s->heap.tag;

		if (!object_is_shown(s, o))
			continue;
		if (!c->group)
			group_of_class(s, keys, c);
		g = &s->groups.data[c->group - 1];
		g->first = g->n++ ? g->first : word;
		g->bytes += 8ull * o->words;
	}
	hashmap_destroy(keys);
}

/* ---- the census ------------------------------------------------------------------------------ */

static void census_free(struct census *s)
{
	for (uint32_t i = 0; i < s->groups.len; i++)
		free(s->groups.data[i].key);
	for (uint32_t i = 0; i < s->classes.len; i++)
		value_class_free(&s->classes.data[i].is);
	vec_deinit(&s->groups);
	vec_deinit(&s->objects);
	vec_deinit(&s->classes);
	vec_deinit(&s->kept);
	value_heap_free(&s->heap);
	retained_free(s->retained);
	census_owners_free(s);
	roots_free(s);
	free(s->slots);
	free(s);
}

static void objects_scan(struct mdb *m, struct census *s)
{
	uint32_t before = UINT32_MAX;

	s->is_whole = memory_walk(m, s, metas_find);
	for (uint32_t i = 0; i < ROUNDS_MAX && s->nmetas != before && s->is_whole; i++) {
		before = s->nmetas;
		s->is_whole = memory_walk(m, s, classes_find);
	}
	s->is_whole = s->is_whole && memory_walk(m, s, objects_find);
}

/* Finds the first language that describes its heap; *ret_values: there is one with values. */
static bool lang_heap_find(struct mdb *m, struct census *s, bool *ret_values)
{
	bool is_there = false;

	*ret_values = false;
	for (uint32_t i = 0; i < m->replay.nhelpers && !is_there; i++) {
		value_heap_free(&s->heap);
		is_there =
			lang_at(m, i, &s->lang) && value_heap_read(s->lang.p, s->lang.h, &s->heap);
		*ret_values |= replay_values(&m->replay, i) != NULL;
	}
	return is_there;
}

/* Walks the stacks of all threads: of some runtimes, nothing else leads to the heap. */
static void stacks_walk(struct mdb *m)
{
	for (uint32_t i = 0; i < m->tids.len && !m->is_interrupted; i++) {
		struct stack s;

		stack_take(m, m->tids.data[i], &s);
		stack_free(&s);
	}
}

/* As lang_heap_find(), with what the stacks lead to. */
static bool census_lang_find(struct mdb *m, struct census *s, bool *ret_values)
{
	if (lang_heap_find(m, s, ret_values))
		return true;
	if (!*ret_values)
		return false;
	stacks_walk(m);
	return lang_heap_find(m, s, ret_values);
}

static struct err *census_make(struct mdb *m, struct census *s)
{
	bool has_values, is_there = census_lang_find(m, s, &has_values);

	if (!is_there && has_values)
		return err_new("where the runtime has its objects is not described");
	if (!is_there)
		return lang_missing_err(m);
	if (s->heap.reason.len)
		return err_new("objects cannot be counted: %s", strbuf_text(&s->heap.reason));
	s->low = UINT64_MAX;
	classes_index(s);
	if (s->heap.is_scan)
		objects_scan(m, s);
	for (uint32_t i = 0; i < s->heap.lists.len; i++)
		list_walk(m, s, &s->heap.lists.data[i]);
	for (uint32_t i = 0; i < s->heap.arrays.len; i++)
		array_walk(m, s, &s->heap.arrays.data[i]);
	blocks_walk(m, s);
	if (s->heap.spans.len)
		spans_walk(m, s);
	if (s->heap.lists.len || s->heap.arrays.len || s->heap.blocks.len)
		objects_sort(s);
	if (m->is_interrupted)
		return err_new("the census was interrupted");
	groups_make(s);
	return NULL;
}

struct err *census_get(struct mdb *m, struct census **ret)
{
	struct err *e;

	walks_begin(m);
	if (!m->census) {
		struct census *s = xcalloc(1, sizeof(*s));

		e = census_make(m, s);
		if (e) {
			census_free(s);
			return e;
		}
		m->census = s;
	}
	*ret = m->census;
	return NULL;
}

struct err *census_kind_add(struct mdb *m, uint32_t part, uint32_t kinds, value_words *ret)
{
	struct lang l;
	struct census *s;
	struct err *e;

	if (!lang_at(m, part, &l) || !value_has_clauses(l.h, HELPER_HEAP))
		return NULL;
	e = census_get(m, &s);
	for (uint32_t i = 0; !e && s->lang.part == part && i < s->objects.len; i++)
		if (s->classes.data[s->objects.data[i].class].is.kinds & kinds)
			vec_push(ret, s->objects.data[i].addr + s->heap.tag);
	return e;
}

void census_end(struct mdb *m)
{
	if (m->census)
		census_free(m->census);
	m->census = NULL;
}

/* ---- objects, one by one --------------------------------------------------------------------- */

const char *lang_name(const struct lang *l)
{
	static const char *const names[] = {"erlang", "java",	"lua", "perl",
					    "php",    "python", "ruby"};
	const char *file = basename(l->h->path);

	for (uint32_t i = 0; i < ARRAY_LEN(names); i++)
		if (strncmp(file, names[i], strlen(names[i])) == 0)
			return names[i];
	return l->label;
}

const char *census_language(struct mdb *m, uint32_t i)
{
	struct census s = {0};
	bool has_values;
	const char *name;

	walks_begin(m);
	name = i == 0 && census_lang_find(m, &s, &has_values) ? lang_name(&s.lang) : NULL;
	value_heap_free(&s.heap);
	return name;
}

struct err *census_object_next(struct mdb *m, uint64_t *at, struct census_object *ret,
			       bool *ret_is_over)
{
	const struct object_at *o = NULL;
	struct census *s;
	struct err *e = census_get(m, &s);

	if (e)
		return e;
	while (*at < s->objects.len && !object_is_shown(s, &s->objects.data[*at]))
		++*at;
	*ret_is_over = *at >= s->objects.len;
	if (*ret_is_over)
		return NULL;
	o = &s->objects.data[(*at)++];
	*ret = (struct census_object){
		.word = o->addr + s->heap.tag,
		.bytes = 8ull * o->words,
		.shape = s->groups.data[s->classes.data[o->class].group - 1].key,
		.language = lang_name(&s->lang),
	};
	return NULL;
}

const struct object_at *object_around(const struct census *s, uint64_t addr)
{
	uint32_t lo = sorted_upto(s->objects.data, s->objects.len, addr, addr);
	const struct object_at *o;

	if (!lo)
		return NULL;
	o = &s->objects.data[lo - 1];
	return addr - o->addr < 8ull * MAX(o->words, 1u) ? o : NULL;
}
