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
#include "mdb/nodes.h"
#include "mdb/roots.h"

#define WORDS_MAX   (1ull << 24) /* of an object that are looked at */
#define INNER_MAX   100000u	 /* values that no census has, of one object */
#define SHOWN_FIRST 40u
#define SHOWN_LAST  20u

/* Why an object is a root. */
struct seed {
	uint32_t node;
	taddr at;	  /* of the word; 0: it is in a register, or: */
	const char *text; /* of a variable or a root of the heap */
	bool is_named;	  /* ROOT_KIND */
};

struct search {
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
};

/* ---- references of one object ---------------------------------------------------------------- */

/* Takes a word that the present object or root has. */
static void word_take(struct search *c, uint64_t word)
{
	uint32_t to;

	if (word == c->value) {
		c->is_found = true;
		if (c->seed)
			vec_push(&c->direct, *c->seed);
		return;
	}
	to = node_find(&c->nodes, word);
	if (to == NOBODY || c->parent[to] != NOBODY)
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
	c->parent[to] = c->from;
	vec_push(&c->queue, to);
}

static void items_take(struct search *c, const struct value *v, value_words *inner)
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
static void value_take(struct search *c, uint64_t word, bool is_deep)
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
static void known_refs_take(struct search *c, const struct value_class *class,
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

static void object_take(struct search *c, const struct object_at *o)
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
	struct search *c = ctx;

	c->seed = &seed;
	word_take(c, word);
	c->seed = NULL;
}

static void named_take(struct search *c, uint64_t word, const char *text, bool is_deep)
{
	struct seed seed = {.text = text, .is_named = !text};

	c->seed = &seed;
	word_take(c, word);
	if (is_deep)
		value_take(c, word, true);
	c->seed = NULL;
}

/* Variables, what the helper calls a root, and objects that the program has by their names. */
static void named_roots_take(struct search *c)
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
static void other_roots_take(struct search *c)
{
	c->from = c->nodes.n;
	roots_walk(c->m, c->s, root_take, c);
}

/* ---- the chain ------------------------------------------------------------------------------- */

/* An object that is no value by itself: its holder is shown as that of what it has. */
static bool node_is_part(const struct search *c, uint32_t node)
{
	uint64_t kinds = object_kinds(c->s, &c->s->objects.data[node]);

	return kinds & PART_KIND && !(kinds & SHOWN_KIND);
}

static void holder_show(struct search *c, uint32_t node, uint64_t word)
{
	const struct object_at *o = &c->s->objects.data[node];
	struct strbuf path = {0};
	bool has_path = object_kinds(c->s, o) & LEADS_KIND &&
			ref_path_add(c->m, c->s, object_word(c->s, o), word, &path);

	ref_emit(c->m, c->s, o, word, 0, has_path ? &path : NULL);
	strbuf_deinit(&path);
}

static void seed_show(struct search *c, const struct seed *seed)
{
	struct strbuf place = {0};

	if (seed->text) {
		strbuf_adds(&place, seed->text);
	} else if (seed->is_named) {
		strbuf_adds(&place, "the program has it by its name");
	} else {
		root_place_add(c->m, seed->at, &place);
	}
	root_emit(c->m, seed->at, strbuf_text(&place));
	strbuf_deinit(&place);
}

/* Shows the objects from the one that has the value to the root. */
static void nodes_show(struct search *c, uint32_t node)
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
			emit_say(&c->m->out, "%16s (%u more objects)\n", "...", left_out);
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
static uint32_t holder_find(struct search *c)
{
	while (!c->direct.len && c->next < c->queue.len && !c->m->is_interrupted) {
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
static uint32_t chain_find(struct search *c)
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
	struct search c = {.m = m, .s = s, .value = value};
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
