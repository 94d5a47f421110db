/* SPDX-License-Identifier: MIT */
/*
 * Chains of objects from roots.
 *
 * All roots are the first objects of a search that goes to what they refer to, then to what that
 * refers to, and ends at the first object that has the value: its chain is one of the shortest.
 * Each object is read once, when its turn comes.
 */
#include "mdb/chain.h"

#include <inttypes.h>

#include "base/hashmap.h"
#include "base/text.h"
#include "mdb/heap.h"
#include "mdb/nodes.h"
#include "mdb/roots.h"

#define WORDS_MAX    (1ull << 24) /* of an object that are looked at */
#define INNER_MAX    100000u	  /* values that no census has, of one object */
#define BLOCKS_DEPTH 2u		  /* of blocks of malloc, from one to another */
#define SHOWN_FIRST  40u
#define SHOWN_LAST   20u

/* Why an object is a root. */
struct seed {
	uint32_t node;
	taddr at;	  /* of the word; 0: it is in a register, or: */
	const char *text; /* of a variable or a root of the heap */
	bool is_named;	  /* ROOT_KIND */
	uint64_t word;	  /* of a root of the heap that is no object, but leads to it; or 0 */
};

struct chain_search {
	struct mdb *m;
	struct census *s;
	struct nodes nodes;
	uint64_t value;
	uint32_t *parent; /* NOBODY: not met; nodes.n: it is a root */
	VEC(uint32_t) queue;
	uint32_t next; /* in the queue */
	VEC(struct seed) seeds;
	VEC(struct seed) direct; /* roots of the value itself; their nodes are not set */
	const struct seed *seed; /* while roots are noted */
	uint32_t from;		 /* while an object is read: its number */
	bool is_found;		 /* it has the value */
	bool skips_wanted;	 /* roots of these are not noted */
	/* of objects that are wanted in place of a value; NULL: the value is */
	const uint8_t *wanted;
	uint32_t nwanted;	/* that were not met yet */
	uint32_t *seed_numbers; /* of each object, + 1: its root in seeds */
};

/* ---- references of one object ---------------------------------------------------------------- */

/* Takes a word that the present object or root has. */
static void word_take(struct chain_search *c, uint64_t word)
{
	uint32_t to;

	if (word == c->value && !c->wanted) {
		c->is_found = true;
		if (c->seed)
			vec_push(&c->direct, *c->seed);
		return;
	}
	to = node_find(&c->nodes, word);
	if (to == NOBODY || c->parent[to] != NOBODY)
		return;
	if (c->seed && c->skips_wanted && c->wanted[to])
		return;
	if (c->seed) {
		struct seed seed = *c->seed;

		/* a runtime's worklists, which are never cleared, have parts; its handles do not */
		if (!seed.text && !seed.is_named &&
		    object_kinds(c->s, &c->s->objects.data[to]) & PART_KIND)
			return;
		seed.node = to;
		vec_push(&c->seeds, seed);
	}
	c->nwanted -= c->wanted && c->wanted[to];
	c->parent[to] = c->from;
	vec_push(&c->queue, to);
}

static void items_take(struct chain_search *c, const struct value *v, value_words *inner)
{
	for (uint32_t i = 0; i < v->items.len; i++) {
		const struct value_item *item = &v->items.data[i];

		if (item->kind == VALUE_ENTRY)
			word_take(c, item->key);
		if (!item->has_word)
			continue;
		word_take(c, item->word);
		if (inner && inner->len < INNER_MAX && (item->word & 7) == (c->s->heap.tag & 7) &&
		    node_find(&c->nodes, item->word) == NOBODY)
			vec_push(inner, item->word);
	}
}

/* Takes the items of a value; is_deep: and those of values in it that no census has. */
static void value_take(struct chain_search *c, uint64_t word, bool is_deep)
{
	const struct lang *l = &c->s->lang;
	struct hashmap *seen = is_deep ? hashmap_create() : NULL;
	value_words todo = {0};
	struct value v;

	vec_push(&todo, word);
	if (is_deep) {
		value_answer_read(l->p, l->h, HELPER_CLOSURE, word, &v);
		items_take(c, &v, &todo);
		value_free(&v);
	}
	for (uint32_t i = 0; i < todo.len && !c->m->is_interrupted; i++) {
		if (seen && hashmap_find(seen, &todo.data[i], sizeof(uint64_t)))
			continue;
		if (seen)
			hashmap_set(seen, &todo.data[i], sizeof(uint64_t), c);
		(void)value_read(l->p, l->h, todo.data[i], UINT32_MAX, &v);
		items_take(c, &v, is_deep ? &todo : NULL);
		value_free(&v);
	}
	vec_deinit(&todo);
	if (seen)
		hashmap_destroy(seen);
}

/* Takes the references that a class says its objects have. */
static void known_refs_take(struct chain_search *c, const struct value_class *class,
			    const uint64_t *words, uint64_t n)
{
	const struct value_heap *heap = &c->s->heap;
	uint64_t width = heap->is_narrow ? 4 : 8;

	for (uint32_t i = 0; i < class->refs.len; i++) {
		uint64_t at = class->refs.data[i].at, room = at < 8 * n ? (8 * n - at) / width : 0;

		for (uint64_t left = MIN(class->refs.data[i].n, room); left; left--, at += width) {
			uint64_t word = 0;

			memcpy(&word, (const uint8_t *)words + at, width);
			if (word && heap->is_narrow)
				word = heap->narrow_base + (word << heap->narrow_shift);
			word_take(c, word);
		}
	}
}

static void object_take(struct chain_search *c, const struct object_at *o)
{
	const struct value_class *class = &c->s->classes.data[o->class].is;
	uint64_t n = MIN((uint64_t)o->words, WORDS_MAX);
	CLEANUP(free) uint64_t *words = NULL;

	if (class->kinds & c->s->heap.weak)
		return;
	if (class->kinds & (LEADS_KIND | APART_KIND))
		value_take(c, object_word(c->s, o), class->kinds & LEADS_KIND);
	if (class->kinds & LEADS_KIND || (c->s->heap.spans.len && !class->refs.len))
		return;
	words = xmalloc(8 * MAX(n, (uint64_t)1));
	if (!mdb_read(c->m, o->addr, words, 8 * n))
		return;
	if (class->refs.len) {
		known_refs_take(c, class, words, n);
		return;
	}
	for (uint64_t k = 1; k < n; k++)
		word_take(c, words[k]);
}

/* ---- roots ----------------------------------------------------------------------------------- */

static void root_take(void *ctx, taddr at, uint64_t word)
{
	struct seed seed = {.at = at};
	struct chain_search *c = ctx;

	c->seed = &seed;
	word_take(c, word);
	c->seed = NULL;
}

static void named_take(struct chain_search *c, uint64_t word, const char *text, bool is_deep)
{
	struct seed seed = {.text = text, .is_named = !text};

	c->seed = &seed;
	word_take(c, word);
	seed.word = word;
	if (is_deep)
		value_take(c, word, true);
	c->seed = NULL;
}

/* Variables, what the helper calls a root, and objects that the program has by their names. */
static void named_roots_take(struct chain_search *c)
{
	struct census *s = c->s;

	c->from = c->nodes.n;
	roots_name(c->m, s);
	for (uint32_t i = 0; i < s->variables.len; i++)
		named_take(c, s->variables.data[i].word, s->variables.data[i].text, false);
	for (uint32_t i = 0; i < s->heap.roots.len; i++) {
		const struct value_root *root = &s->heap.roots.data[i];

		named_take(c, root->word, root->name, node_find(&c->nodes, root->word) == NOBODY);
	}
	for (uint32_t i = 0; i < s->objects.len; i++)
		if (object_kinds(s, &s->objects.data[i]) & ROOT_KIND)
			named_take(c, object_word(s, &s->objects.data[i]), NULL, false);
}

/* Other words that look like references, some of which are only left over. */
static void other_roots_take(struct chain_search *c)
{
	c->from = c->nodes.n;
	roots_walk(c->m, c->s, root_take, c);
}

/* ---- the chain ------------------------------------------------------------------------------- */

/* An object that is no value by itself: its holder is shown as that of what it has. */
static bool node_is_part(const struct chain_search *c, uint32_t node)
{
	uint64_t kinds = object_kinds(c->s, &c->s->objects.data[node]);

	return kinds & PART_KIND && !(kinds & SHOWN_KIND);
}

static bool holder_path_add(struct chain_search *c, const struct object_at *o, uint64_t word,
			    struct strbuf *path)
{
	return object_kinds(c->s, o) & LEADS_KIND &&
	       ref_path_add(c->m, c->s, object_word(c->s, o), word, path);
}

static void holder_show(struct chain_search *c, uint32_t node, uint64_t word)
{
	const struct object_at *o = &c->s->objects.data[node];
	struct strbuf path = {0};
	bool has_path = holder_path_add(c, o, word, &path);

	ref_emit(c->m, c->s, o, word, 0, has_path ? &path : NULL);
	strbuf_deinit(&path);
}

static void seed_add(struct chain_search *c, const struct seed *seed, struct strbuf *out)
{
	if (seed->text)
		strbuf_adds(out, seed->text);
	else if (seed->is_named)
		strbuf_adds(out, "the program has it by its name");
	else
		root_place_add(c->m, seed->at, out);
}

static void seed_show(struct chain_search *c, const struct seed *seed)
{
	struct strbuf place = {0};

	seed_add(c, seed, &place);
	root_emit(c->m, seed->at, strbuf_text(&place));
	strbuf_deinit(&place);
}

/* Shows the objects from the one that has the value to the root. */
static void nodes_show(struct chain_search *c, uint32_t node)
{
	uint64_t word = c->value;
	VEC(uint32_t) chain = {0};
	uint32_t left_out;

	for (;; node = c->parent[node]) {
		if (!node_is_part(c, node))
			vec_push(&chain, node);
		if (c->parent[node] == c->nodes.n)
			break;
	}
	left_out = chain.len > SHOWN_FIRST + SHOWN_LAST ? chain.len - SHOWN_FIRST - SHOWN_LAST : 0;
	for (uint32_t i = 0; i < chain.len && !c->m->is_interrupted; i++) {
		if (left_out && i == SHOWN_FIRST) {
			emit_say(&c->m->out, "%16s (%u more object%s)\n", "...", left_out,
				 PLURAL(left_out));
			i += left_out;
			word = object_word(c->s, &c->s->objects.data[chain.data[i - 1]]);
		}
		holder_show(c, chain.data[i], word);
		word = object_word(c->s, &c->s->objects.data[chain.data[i]]);
	}
	vec_deinit(&chain);
	for (uint32_t i = 0; i < c->seeds.len; i++)
		if (c->seeds.data[i].node == node) {
			seed_show(c, &c->seeds.data[i]);
			break;
		}
}

/* Finds the first object that has the value, among those that wait; NOBODY: there is none. */
static uint32_t holder_find(struct chain_search *c)
{
	while (!c->direct.len && c->next < c->queue.len && !c->m->is_interrupted &&
	       (!c->wanted || c->nwanted)) {
		c->from = c->queue.data[c->next++];
		c->is_found = false;
		object_take(c, &c->s->objects.data[c->from]);
		if (c->is_found)
			return c->from;
	}
	return NOBODY;
}

/*
 * Roots with names win against others at the same distance, and at any distance where objects do
 * not say what they are: there, words that are only left over lead to many of them.
 */
static uint32_t chain_find(struct chain_search *c)
{
	uint32_t node = NOBODY;

	named_roots_take(c);
	if (!c->s->heap.is_scan)
		node = holder_find(c);
	if (node != NOBODY || c->direct.len)
		return node;
	other_roots_take(c);
	return holder_find(c);
}

struct err *chain_show(struct mdb *m, struct census *s, uint64_t value)
{
	struct chain_search c = {.m = m, .s = s, .value = value};
	struct err *e = NULL;
	uint32_t node;

	nodes_make(&c.nodes, s);
	c.parent = xmalloc(((size_t)c.nodes.n + 1) * sizeof(*c.parent));
	memset(c.parent, 0xff, ((size_t)c.nodes.n + 1) * sizeof(*c.parent));
	node = chain_find(&c);
	if (c.direct.len)
		seed_show(&c, &c.direct.data[0]);
	else if (node != NOBODY)
		nodes_show(&c, node);
	else if (m->is_interrupted)
		e = err_new("the search was interrupted");
	else
		e = err_new("no root that is known leads to %" PRIx64
			    ": it is garbage, or what holds it is not described",
			    value);
	nodes_free(&c.nodes);
	vec_deinit(&c.queue);
	vec_deinit(&c.seeds);
	vec_deinit(&c.direct);
	free(c.parent);
	return e;
}

/* ---- chains of many objects ------------------------------------------------------------------ */

/* Blocks of malloc, which belong to objects of a runtime that has no heap of its own for them. */
struct block_walk {
	struct chain_search *c;
	struct heap *h;
	uint8_t *seen; /* of each chunk */
	uint8_t *
		texts; /* of each class: 1: its objects are texts, 2: they are none; 0: not asked */
};

/* What is in the block of a text is no reference, whatever it looks like. */
static bool object_is_text(struct block_walk *b, const struct object_at *o)
{
	const struct lang *l = &b->c->s->lang;
	struct value v;

	if (!b->texts[o->class]) {
		(void)value_read(l->p, l->h, object_word(b->c->s, o), 1, &v);
		b->texts[o->class] = v.said.is_text ? 1 : 2;
		value_free(&v);
	}
	return b->texts[o->class] == 1;
}

/*
 * Takes the words of a block that an object, or another block, has by its address. Of a hash, one
 * block leads to another one.
 */
static void block_take(struct block_walk *b, uint64_t word, uint32_t depth)
{
	const struct chunk *k = word % 16 == 0 ? heap_chunk_at(b->h, word) : NULL;
	uint64_t words[512], size, n;

	if (!k || !chunk_is_busy(k) || chunk_memory(k) != word || b->seen[k - b->h->chunks.data] ||
	    census_has_objects(b->c->s, word, chunk_usable(k)))
		return;
	b->seen[k - b->h->chunks.data] = 1;
	size = chunk_usable(k) / 8 * 8;
	for (uint64_t at = 0; at < size && !b->c->m->is_interrupted; at += n) {
		n = MIN(size - at, (uint64_t)sizeof(words));
		if (!mdb_read(b->c->m, word + at, words, n))
			continue;
		for (uint64_t i = 0; i < n / 8; i++) {
			word_take(b->c, words[i]);
			if (depth < BLOCKS_DEPTH)
				block_take(b, words[i], depth + 1);
		}
	}
}

/*
 * A helper shows so many elements of an array at most; the others are in a block of malloc, whose
 * address the object has. Takes the blocks of all objects that were met, and of those that are met
 * by that; *done: how many of the queue have been asked.
 */
static void memory_take(struct block_walk *b, uint32_t *done)
{
	struct chain_search *c = b->c;
	uint64_t words[16];

	for (; *done < c->queue.len && c->nwanted && !c->m->is_interrupted; ++*done) {
		const struct object_at *o = &c->s->objects.data[c->queue.data[*done]];
		uint64_t n = MIN((uint64_t)o->words, (uint64_t)ARRAY_LEN(words));

		c->from = c->queue.data[*done];
		if (object_is_text(b, o) || !mdb_read(c->m, o->addr, words, 8 * n))
			continue;
		for (uint64_t k = 1; k < n; k++)
			block_take(b, words[k], 0);
		if (c->next < c->queue.len)
			(void)holder_find(c); /* what its blocks lead to, and so on */
	}
}

/*
 * Of a runtime whose objects have memory of malloc, blocks are no roots: most are parts of objects.
 * But its global variables may be there, too. Where nothing else leads to an object, blocks that
 * lead to what holds it come first, then those that have the object itself.
 */
static void blocks_take(struct chain_search *c)
{
	struct block_walk b = {.c = c};
	struct err *e = heap_get(c->m, &b.h);
	uint32_t done = 0;

	if (!e) {
		b.seen = xcalloc(b.h->chunks.len + 1, 1);
		b.texts = xcalloc(c->s->classes.len + 1, 1);
		memory_take(&b, &done);
	}
	c->skips_wanted = true;
	for (uint32_t i = 0; !e && i < 2 && c->nwanted && !c->m->is_interrupted; i++) {
		c->from = c->nodes.n;
		roots_walk_blocks(c->m, c->s, root_take, c);
		(void)holder_find(c);
		memory_take(&b, &done);
		c->skips_wanted = false;
	}
	free(b.seen);
	free(b.texts);
	err_destroy(e);
}

struct chain_search *chain_search_make(struct mdb *m, struct census *s, const uint8_t *wanted)
{
	struct chain_search *c = xcalloc(1, sizeof(*c));

	*c = (struct chain_search){.m = m, .s = s, .wanted = wanted};
	nodes_make(&c->nodes, s);
	for (uint32_t i = 0; i < c->nodes.n; i++)
		c->nwanted += wanted[i];
	c->parent = xmalloc(((size_t)c->nodes.n + 1) * sizeof(*c->parent));
	memset(c->parent, 0xff, ((size_t)c->nodes.n + 1) * sizeof(*c->parent));
	(void)chain_find(c);
	if (!s->heap.is_scan)
		blocks_take(c);
	c->seed_numbers = xcalloc((size_t)c->nodes.n + 1, sizeof(*c->seed_numbers));
	for (uint32_t i = 0; i < c->seeds.len; i++)
		c->seed_numbers[c->seeds.data[i].node] = i + 1;
	return c;
}

void chain_search_free(struct chain_search *c)
{
	if (!c)
		return;
	nodes_free(&c->nodes);
	vec_deinit(&c->queue);
	vec_deinit(&c->seeds);
	vec_deinit(&c->direct);
	free(c->parent);
	free(c->seed_numbers);
	free(c);
}

uint32_t chain_holder(const struct chain_search *c, uint32_t object)
{
	uint32_t parent = c->parent[object];

	if (parent == NOBODY)
		return CHAIN_NONE;
	return parent == c->nodes.n ? CHAIN_ROOT : parent;
}

void chain_root_add(struct chain_search *c, uint32_t object, struct strbuf *out)
{
	const struct seed *seed;

	if (!c->seed_numbers[object])
		return;
	seed = &c->seeds.data[c->seed_numbers[object] - 1];
	if (seed->is_named)
		lang_value_add_short(c->m, &c->s->lang,
				     object_word(c->s, &c->s->objects.data[object]), out);
	else
		seed_add(c, seed, out);
}

bool chain_root_step_add(struct chain_search *c, uint32_t object, struct strbuf *out)
{
	const struct seed *seed;

	if (!c->seed_numbers[object])
		return false;
	seed = &c->seeds.data[c->seed_numbers[object] - 1];
	return seed->text && seed->word &&
	       ref_path_add(c->m, c->s, seed->word, object_word(c->s, &c->s->objects.data[object]),
			    out);
}

void chain_step_add(struct chain_search *c, uint32_t holder, uint32_t object, struct strbuf *out)
{
	const struct object_at *o = &c->s->objects.data[holder];
	uint64_t word = object_word(c->s, &c->s->objects.data[object]);
	struct strbuf path = {0};
	bool has_path = holder_path_add(c, o, word, &path);

	ref_text_add(c->m, c->s, o, word, has_path ? &path : NULL, out);
	strbuf_deinit(&path);
}

bool chain_is_part(const struct chain_search *c, uint32_t object)
{
	return node_is_part(c, object);
}
