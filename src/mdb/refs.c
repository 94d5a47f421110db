/* SPDX-License-Identifier: MIT */
/*
 * Who refers to an object of a language: all objects of a census are looked at.
 *
 * A helper may say where objects of a class have references (uref()). Otherwise all words of an
 * object are taken for references.
 */
#include "mdb/census.h"

#include <inttypes.h>

#include "base/hashmap.h"
#include "base/text.h"
#include "mdb/chain.h"
#include "mdb/roots.h"

#define VIA_MAX		4u
#define PATH_DEPTH	64u /* of values on the way to one */
#define PATH_VALUES_MAX 20000000u
/* what is known of a value in ref_search.seen */
#define LEADS	  1u
#define LEADS_NOT 2u
#define CHUNK	  (1u << 20)

/* How the holder's item is called; `is_inner`: the holder is an item itself. */
static void item_name_add(const struct census *s, const struct value_item *item, bool is_inner,
			  struct strbuf *out)
{
	bool in_brackets = is_inner && item->kind != VALUE_ELEMENT;
	struct strbuf name = {0};

	if (item->kind == VALUE_ELEMENT)
		strbuf_addf(&name, "[%" PRIu64 "]", item->key);
	else if (item->kind == VALUE_ITEM)
		strbuf_adds(&name, item->name);
	else if (item->kind != VALUE_MEMBER)
		value_name_add(s->lang.p, s->lang.h, item->key, &name);
	strbuf_adds(out, in_brackets ? "[" : "");
	text_escape(out, strbuf_text(&name), name.len);
	strbuf_adds(out, in_brackets ? "]" : "");
	strbuf_deinit(&name);
}

/* The name that the class gives to the reference at an offset. */
static void ref_name_add(const struct census *s, const struct value_class *c, uint64_t at,
			 struct strbuf *out)
{
	struct strbuf name = {0};

	for (uint32_t i = 0; i < c->refs.len && !name.len; i++)
		if (c->refs.data[i].at == at && c->refs.data[i].name)
			value_name_add(s->lang.p, s->lang.h, c->refs.data[i].name, &name);
	text_escape(out, strbuf_text(&name), name.len);
	strbuf_deinit(&name);
}

/* The name of the item of an object that is the word. */
static void word_name_add(const struct census *s, uint64_t holder, uint64_t word,
			  struct strbuf *out)
{
	struct value v;

	(void)value_read(s->lang.p, s->lang.h, holder, UINT32_MAX, &v);
	for (uint32_t i = 0; i < v.items.len; i++) {
		if (v.items.data[i].has_word && v.items.data[i].word == word) {
			item_name_add(s, &v.items.data[i], false, out);
			break;
		}
	}
	value_free(&v);
}

/* A row for a holder: its item of that name, or what is so many bytes behind its beginning. */
static void holder_emit(struct mdb *m, uint64_t holder, uint64_t at, uint64_t offset,
			const struct strbuf *name, const struct strbuf *what)
{
	emit_row(&m->out);
	emit_value(&m->out, holder);
	emit_addr(&m->out, "object", holder, 16);
	emit_addr(&m->out, "at", at, 0);
	if (name->len)
		emit_say(&m->out, "%s of ", strbuf_text(name));
	else if (!at)
		emit_say(&m->out, "an item of ");
	else
		emit_say(&m->out, "+0x%" PRIx64 " of ", offset);
	emit_bytes(&m->out, "name", strbuf_text(name), name->len, 0);
	emit_bytes(&m->out, "class", strbuf_text(what), what->len, 1);
	emit_end(&m->out);
}

/* NULL: the class has no group. */
static const struct group *object_group(const struct census *s, const struct object_at *o)
{
	uint32_t group = s->classes.data[o->class].group;

	return group ? &s->groups.data[group - 1] : NULL;
}

void ref_text_add(struct mdb *m, const struct census *s, const struct object_at *o, uint64_t word,
		  const struct strbuf *path, struct strbuf *out)
{
	struct strbuf name = {0};

	if (!path)
		word_name_add(s, object_word(s, o), word, &name);
	strbuf_addf(out, "%s of ", path ? strbuf_text(path) : name.len ? name.data : "an item");
	if (object_group(s, o))
		census_class_add(s, object_group(s, o), object_word(s, o), out);
	else
		(void)value_type_add(s->lang.p, s->lang.h, object_word(s, o), out);
	strbuf_deinit(&name);
}

void ref_emit(struct mdb *m, const struct census *s, const struct object_at *o, uint64_t word,
	      uint64_t at, const struct strbuf *path)
{
	uint64_t holder = o->addr + s->heap.tag;
	struct strbuf what = {0}, name = {0};

	if (object_group(s, o))
		strbuf_adds(&what, object_group(s, o)->key);
	else
		(void)value_type_add(s->lang.p, s->lang.h, holder, &what);
	if (!path && at)
		ref_name_add(s, &s->classes.data[o->class].is, at - o->addr, &name);
	if (!path && !name.len)
		word_name_add(s, holder, word, &name);
	holder_emit(m, holder, at, at - o->addr, path ? path : &name, &what);
	strbuf_deinit(&what);
	strbuf_deinit(&name);
}

/* Words to which references are searched, all at once. */
struct ref_search {
	const struct census *s;
	uint64_t value; /* whose references are asked for */
	bool is_first;	/* it is the only word */
	bool is_last;	/* parts are not followed further */
	struct hashmap *words;
	uint64_t least, most; /* of the words */
	struct hashmap *seen; /* the words of this search and of those before */
	value_words parts;    /* objects that are no values, and have one of the words */
	uint32_t nwalked;     /* values that were read on ways to the value */
};

static bool search_has(const struct ref_search *r, uint64_t word)
{
	return word >= r->least && word <= r->most && hashmap_find(r->words, &word, sizeof(word));
}

/* Whether one of the words is an item of an object: which. */
static bool item_find(const struct ref_search *r, uint64_t holder, uint64_t *ret)
{
	const struct lang *l = &r->s->lang;
	struct value v;
	bool is = false;

	(void)value_read(l->p, l->h, holder, UINT32_MAX, &v);
	for (uint32_t i = 0; i < v.items.len && !is; i++) {
		const struct value_item *item = &v.items.data[i];

		is = item->has_word && search_has(r, item->word);
		*ret = item->word;
		if (!is && item->kind == VALUE_ENTRY) {
			is = search_has(r, item->key);
			*ret = item->key;
		}
	}
	value_free(&v);
	return is;
}

/* Shows an object that has one of the words, or notes it as a part of another one. */
static void holder_note(struct mdb *m, struct ref_search *r, const struct object_at *o, uint64_t at)
{
	uint64_t word = o->addr + r->s->heap.tag, kinds = r->s->classes.data[o->class].is.kinds;

	if (kinds & SHOWN_KIND || !(kinds & PART_KIND) || r->is_last) {
		ref_emit(m, r->s, o, r->value, at, NULL);
		return;
	}
	if (hashmap_find(r->seen, &word, sizeof(word)))
		return;
	hashmap_set(r->seen, &word, sizeof(word), r);
	vec_push(&r->parts, word);
}

static bool word_is_object(const struct census *s, uint64_t word)
{
	const struct object_at *o = object_around(s, word - s->heap.tag);

	return o && o->addr + s->heap.tag == word;
}

static bool value_leads(struct mdb *m, struct ref_search *r, uint64_t word, uint32_t depth,
			struct strbuf *path);

/*
 * Whether an item is the value, or one that no census has, as an array, and leads to it. Those that
 * do not are noted, so that each is read once, and a value that has itself ends.
 */
static bool item_leads(struct mdb *m, struct ref_search *r, const struct value_item *item,
		       uint32_t depth, struct strbuf *path)
{
	uint64_t word = item->word;
	uintptr_t known;
	bool is;

	if (item->kind == VALUE_ENTRY && item->key == r->value)
		return true;
	if (!item->has_word || word == r->value)
		return item->has_word;
	if (depth >= PATH_DEPTH || (word & 7) != (r->s->heap.tag & 7) || word_is_object(r->s, word))
		return false;
	known = (uintptr_t)hashmap_find(r->seen, &word, sizeof(word));
	if (known == LEADS_NOT)
		return false;
	hashmap_set(r->seen, &word, sizeof(word), (void *)(uintptr_t)LEADS_NOT);
	is = value_leads(m, r, word, depth + 1, path);
	if (is)
		hashmap_set(r->seen, &word, sizeof(word), (void *)(uintptr_t)LEADS);
	return is;
}

/* Whether a value has the one that is searched, itself or in values that no census has: where. */
static bool value_leads(struct mdb *m, struct ref_search *r, uint64_t word, uint32_t depth,
			struct strbuf *path)
{
	struct value v;
	bool is = false;

	if (m->is_interrupted || r->nwalked++ >= PATH_VALUES_MAX)
		return false;
	(void)value_read(r->s->lang.p, r->s->lang.h, word, UINT32_MAX, &v);
	for (uint32_t i = 0; i < v.items.len && !is; i++) {
		struct strbuf inner = {0};

		is = item_leads(m, r, &v.items.data[i], depth, &inner);
		if (is) {
			item_name_add(r->s, &v.items.data[i], depth, path);
			strbuf_add(path, strbuf_text(&inner), inner.len);
		}
		strbuf_deinit(&inner);
	}
	value_free(&v);
	return is;
}

/* The same of what a function has captured. */
static bool scopes_lead(struct mdb *m, struct ref_search *r, uint64_t word, struct strbuf *path)
{
	struct value scopes;
	bool is = false;

	value_answer_read(r->s->lang.p, r->s->lang.h, HELPER_CLOSURE, word, &scopes);
	for (uint32_t i = 0; i < scopes.items.len && !is; i++)
		is = value_leads(m, r, scopes.items.data[i].word, 0, path);
	value_free(&scopes);
	return is;
}

/* The values outside of objects. */
static void roots_search(struct mdb *m, struct ref_search *r)
{
	for (uint32_t i = 0; i < r->s->heap.roots.len && !m->is_interrupted; i++) {
		const struct value_root *root = &r->s->heap.roots.data[i];
		struct strbuf path = {0}, what = {0};

		if (word_is_object(r->s, root->word)) /* among the others */
			continue;
		hashmap_set(r->seen, &root->word, sizeof(root->word), (void *)(uintptr_t)LEADS_NOT);
		if (value_leads(m, r, root->word, 0, &path)) {
			text_escape(&what, root->name, strlen(root->name));
			holder_emit(m, root->word, 0, 0, &path, &what);
		}
		strbuf_deinit(&path);
		strbuf_deinit(&what);
	}
}

const uint64_t *object_words(struct mdb *m, struct read_ahead *a, uint64_t addr, uint64_t n)
{
	const struct proc_map *map;
	uint64_t size = n * 8;

	if (addr < a->addr || addr - a->addr > a->size || size > a->size - (addr - a->addr)) {
		map = proc_maps_find(target_maps(m->t), addr);
		a->addr = addr;
		a->size = map ? MAX(size, MIN(map->end - addr, (uint64_t)CHUNK)) : size;
		if (a->size > a->room) {
			free(a->bytes);
			a->room = a->size;
			a->bytes = xmalloc(a->room);
		}
		if (!target_read(m->t, addr, a->bytes, a->size)) {
			a->size = size;
			if (!target_read(m->t, addr, a->bytes, size))
				a->size = 0;
		}
		if (!a->size)
			return NULL;
	}
	return (const uint64_t *)(a->bytes + (addr - a->addr));
}

/* Returns the offset in an object of the first reference to one of the values; 0: there is none. */
static uint64_t known_ref_find(const struct ref_search *r, const struct value_class *c,
			       const uint64_t *words, uint64_t n)
{
	const struct value_heap *heap = &r->s->heap;
	uint64_t width = heap->is_narrow ? 4 : 8;

	for (uint32_t i = 0; i < c->refs.len; i++) {
		uint64_t at = c->refs.data[i].at, room = at < 8 * n ? (8 * n - at) / width : 0;

		for (uint64_t left = MIN(c->refs.data[i].n, room); left; left--, at += width) {
			uint64_t word = 0;

			memcpy(&word, (const uint8_t *)words + at, width);
			if (word && heap->is_narrow)
				word = heap->narrow_base + (word << heap->narrow_shift);
			if (search_has(r, word))
				return at;
		}
	}
	return 0;
}

/* The same of an object whose class does not say where references are. */
static uint64_t any_ref_find(const struct ref_search *r, const uint64_t *words, uint64_t n)
{
	for (uint64_t k = 1; k < n; k++)
		if (search_has(r, words[k]))
			return 8 * k;
	return 0;
}

/* Looks at all objects once. */
static void refs_search(struct mdb *m, struct ref_search *r)
{
	const struct census *s = r->s;
	struct read_ahead ahead = {0};

	for (uint32_t i = 0; i < s->objects.len && !m->is_interrupted; i++) {
		const struct object_at *o = &s->objects.data[i];
		const struct value_class *c = &s->classes.data[o->class].is;
		uint64_t n = MIN((uint64_t)o->words, (uint64_t)1 << 24), word, at;
		const uint64_t *words;

		if (c->kinds & LEADS_KIND) {
			struct strbuf path = {0};

			if (r->is_first && (value_leads(m, r, o->addr + s->heap.tag, 0, &path) ||
					    scopes_lead(m, r, o->addr + s->heap.tag, &path)))
				ref_emit(m, s, o, r->value, 0, &path);
			strbuf_deinit(&path);
			continue;
		}
		if (c->kinds & APART_KIND && item_find(r, o->addr + s->heap.tag, &word)) {
			ref_emit(m, s, o, word, 0, NULL);
			continue;
		}
		if (s->heap.spans.len && !c->refs.len)
			continue;
		words = object_words(m, &ahead, o->addr, n);
		if (!words)
			continue;
		at = c->refs.len ? known_ref_find(r, c, words, n) : any_ref_find(r, words, n);
		if (at)
			holder_note(m, r, o, o->addr + at);
	}
	free(ahead.bytes);
}

static void search_add_word(struct ref_search *r, uint64_t word)
{
	hashmap_set(r->words, &word, sizeof(word), r);
	r->least = MIN(r->least, word);
	r->most = MAX(r->most, word);
}

/*
 * Shows the objects that have the value. One that is no value by itself (the memory of an array, of
 * properties) is followed to the object that has it: a search for all of these at once.
 */
static void refs_show(struct mdb *m, const struct census *s, uint64_t value)
{
	struct ref_search r = {.s = s, .value = value, .seen = hashmap_create(), .is_first = true};
	value_words todo = {0};

	vec_push(&todo, value);
	for (uint32_t i = 0; todo.len && i <= VIA_MAX && !m->is_interrupted; i++) {
		r.words = hashmap_create();
		r.least = UINT64_MAX;
		r.most = 0;
		r.is_last = i == VIA_MAX;
		for (uint32_t k = 0; k < todo.len; k++)
			search_add_word(&r, todo.data[k]);
		refs_search(m, &r);
		if (r.is_first)
			roots_search(m, &r);
		hashmap_destroy(r.words);
		vec_deinit(&todo);
		todo = r.parts;
		r.parts = (value_words){0};
		r.is_first = false;
	}
	vec_deinit(&todo);
	hashmap_destroy(r.seen);
}

/* A search for a value among the words that are roots. */
struct root_search {
	struct mdb *m;
	uint64_t value;
};

void root_emit(struct mdb *m, taddr at, const char *place)
{
	struct strbuf clean = {0};

	text_escape(&clean, place, strlen(place));
	emit_row(&m->out);
	emit_say(&m->out, "%16s ", "root");
	emit_addr(&m->out, "at", at, 0);
	emit_bytes(&m->out, "root", place, strlen(place), 0);
	if (at)
		emit_say(&m->out, "%" PRIx64 " in ", at);
	emit_say(&m->out, "%s", strbuf_text(&clean));
	emit_end(&m->out);
	strbuf_deinit(&clean);
}

static void root_show(void *ctx, taddr at, uint64_t word)
{
	struct root_search *r = ctx;
	struct strbuf place = {0};

	if (word != r->value)
		return;
	root_place_add(r->m, at, &place);
	root_emit(r->m, at, strbuf_text(&place));
	strbuf_deinit(&place);
}

static void variables_show(struct mdb *m, struct census *s, uint64_t value)
{
	roots_name(m, s);
	for (uint32_t i = 0; i < s->variables.len; i++)
		if (s->variables.data[i].word == value)
			root_emit(m, 0, s->variables.data[i].text);
	for (uint32_t i = 0; i < s->heap.roots.len; i++)
		if (s->heap.roots.data[i].word == value)
			root_emit(m, 0, s->heap.roots.data[i].name);
}

bool ref_path_add(struct mdb *m, const struct census *s, uint64_t holder, uint64_t word,
		  struct strbuf *path)
{
	struct ref_search r = {.s = s, .value = word, .seen = hashmap_create()};
	bool is = value_leads(m, &r, holder, 0, path) || scopes_lead(m, &r, holder, path);

	hashmap_destroy(r.seen);
	return is;
}

struct err *cmd_lrefs(struct mdb *m, const struct call *c)
{
	struct root_search roots = {.m = m, .value = c->addr};
	struct census *s;
	struct err *e = census_get(m, &s);

	if (e)
		return e;
	if (c->opts['r'])
		return chain_show(m, s, c->addr);
	refs_show(m, s, c->addr);
	variables_show(m, s, c->addr);
	roots_walk(m, s, root_show, &roots);
	return NULL;
}
