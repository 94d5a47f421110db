/* SPDX-License-Identifier: MIT */
/*
 * What would be freed with an object: the objects that can be reached through it only.
 *
 * The census's objects are a graph: each word of one that leads to another is an edge. The roots
 * are the objects that are held from outside (roots.h). An object dominates another if all ways
 * from the roots to that one go through it; the bytes of all that it dominates are what it retains.
 * The dominators are found as Georgiadis, Tarjan and Werneck describe it ("Finding dominators in
 * practice", SNCA), without recursion:
 *
 *     1. edges, sorted by where they lead to, after they were counted     4 bytes each, twice
 *     2. objects in the order of a walk from the roots that goes deep first
 *     3. semidominators, from the last to the first; then dominators
 *     4. sums, from the last object to the first
 *
 * References of objects that the helper calls weak are no edges. What is not reached from a root
 * has no dominator: it is garbage, or what holds it is not known.
 *
 * Owns     the sums, for the life of the census.
 * Errors   struct err *: the runtime's objects are not found by what is in memory.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "mdb/nodes.h"
#include "mdb/roots.h"

#define EDGES_MAX 1000000000u
#define TOP	  20u

/* Nodes are the numbers of objects, n is the root of all. */
struct graph {
	struct mdb *m;
	const struct census *s;
	uint32_t n;
	struct nodes nodes;
	uint32_t *starts; /* where a node's edges begin */
	VEC(uint32_t) edges;
	uint8_t *is_root;
	/* in the order of the walk, from 0, which is the root of all */
	uint32_t nreached;
	uint32_t *order;	    /* nodes */
	uint32_t *befores, *before; /* where the nodes with edges to one begin, and these */
	uint32_t *ancestor, *label, *semi, *idom;
};

struct retained {
	uint32_t *number; /* of each object in the order; NOBODY: not reached */
	uint32_t *objects;
	uint64_t *bytes;
};

/* ---- the graph ------------------------------------------------------------------------------- */

static void edges_find(struct graph *g)
{
	struct read_ahead ahead = {0};

	for (uint32_t i = 0; i < g->n; i++) {
		const struct object_at *o = &g->s->objects.data[i];
		uint64_t n = MIN((uint64_t)o->words, (uint64_t)1 << 24);
		const uint64_t *words;

		g->starts[i] = (uint32_t)g->edges.len;
		if (g->m->is_interrupted || object_kinds(g->s, o) & g->s->heap.weak)
			continue;
		words = object_words(g->m, &ahead, o->addr, n);
		for (uint64_t k = 0; words && k < n && g->edges.len < EDGES_MAX; k++) {
			uint32_t to = node_find(&g->nodes, words[k]);

			if (to != NOBODY && to != i)
				vec_push(&g->edges, to);
		}
	}
	g->starts[g->n] = (uint32_t)g->edges.len;
	free(ahead.bytes);
}

static void root_note(void *ctx, taddr at, uint64_t word)
{
	struct graph *g = ctx;
	uint32_t to = node_find(&g->nodes, word);

	(void)at;
	/* A runtime's worklists, which are never cleared, have parts; its handles do not. */
	if (to != NOBODY && !(object_kinds(g->s, &g->s->objects.data[to]) & PART_KIND))
		g->is_root[to] = 1;
}

/* ---- the walk -------------------------------------------------------------------------------- */

static void node_reach(struct graph *g, struct retained *r, uint32_t node, uint32_t from)
{
	r->number[node] = g->nreached;
	g->order[g->nreached] = node;
	g->ancestor[g->nreached++] = from;
}

/* Numbers what can be reached, deep first. */
static void graph_walk(struct graph *g, struct retained *r)
{
	uint32_t *next = xmalloc(((size_t)g->n + 1) * sizeof(*next));
	VEC(uint32_t) todo = {0};

	memcpy(next, g->starts, ((size_t)g->n + 1) * sizeof(*next));
	memset(r->number, 0xff, ((size_t)g->n + 1) * sizeof(*r->number));
	node_reach(g, r, g->n, 0);
	for (uint32_t root = 0; root < g->n && !g->m->is_interrupted; root++) {
		if (!g->is_root[root] || r->number[root] != NOBODY)
			continue;
		node_reach(g, r, root, 0);
		vec_push(&todo, root);
		while (todo.len) {
			uint32_t node = todo.data[todo.len - 1], to;

			if (next[node] == g->starts[node + 1]) {
				todo.len--;
				continue;
			}
			to = g->edges.data[next[node]++];
			if (r->number[to] != NOBODY)
				continue;
			node_reach(g, r, to, r->number[node]);
			vec_push(&todo, to);
		}
	}
	vec_deinit(&todo);
	free(next);
}

/* Turns the edges of what was reached around, by the numbers of the walk. */
static void edges_turn(struct graph *g, const struct retained *r)
{
	uint64_t n = 0;

	g->befores = xcalloc((size_t)g->nreached + 2, sizeof(*g->befores));
	for (uint32_t i = 1; i < g->nreached; i++)
		for (uint32_t k = g->starts[g->order[i]]; k < g->starts[g->order[i] + 1]; k++, n++)
			g->befores[r->number[g->edges.data[k]] + 2]++;
	for (uint32_t i = 2; i < g->nreached + 2; i++)
		g->befores[i] += g->befores[i - 1];
	g->before = xmalloc((n + 1) * sizeof(*g->before));
	for (uint32_t i = 1; i < g->nreached; i++)
		for (uint32_t k = g->starts[g->order[i]]; k < g->starts[g->order[i] + 1]; k++)
			g->before[g->befores[r->number[g->edges.data[k]] + 1]++] = i;
}

/* ---- dominators ------------------------------------------------------------------------------ */

/* Returns the node with the least semidominator from v up to the last that is linked. */
static uint32_t node_eval(struct graph *g, uint32_t v, uint32_t last, uint32_t *stack)
{
	uint32_t n = 0, p, least;

	if (g->ancestor[v] < last)
		return g->label[v];
	do {
		stack[n++] = v;
		v = g->ancestor[v];
	} while (g->ancestor[v] >= last);
	p = v;
	least = g->label[p];
	while (n) {
		v = stack[--n];
		g->ancestor[v] = g->ancestor[p];
		if (g->semi[least] < g->semi[g->label[v]])
			g->label[v] = least;
		else
			least = g->label[v];
		p = v;
	}
	return g->label[v];
}

static void dominators_find(struct graph *g)
{
	size_t size = ((size_t)g->nreached + 1) * sizeof(uint32_t);
	uint32_t *stack = xmalloc(size);

	g->label = xmalloc(size);
	g->semi = xmalloc(size);
	g->idom = xmalloc(size);
	memcpy(g->idom, g->ancestor, size);
	for (uint32_t i = 0; i < g->nreached; i++)
		g->label[i] = g->semi[i] = i;
	for (uint32_t i = g->nreached; --i > 0;) {
		g->semi[i] = g->is_root[g->order[i]] ? 0 : g->idom[i];
		for (uint32_t k = g->befores[i]; k < g->befores[i + 1]; k++)
			g->semi[i] =
				MIN(g->semi[i], g->semi[node_eval(g, g->before[k], i + 1, stack)]);
	}
	for (uint32_t i = 1; i < g->nreached; i++)
		while (g->idom[i] > g->semi[i])
			g->idom[i] = g->idom[g->idom[i]];
	free(stack);
}

static void sums_make(const struct graph *g, struct retained *r)
{
	r->bytes = xcalloc((size_t)g->nreached + 1, sizeof(*r->bytes));
	r->objects = xcalloc((size_t)g->nreached + 1, sizeof(*r->objects));
	for (uint32_t i = g->nreached; --i > 0;) {
		r->bytes[i] += 8ull * g->s->objects.data[g->order[i]].words;
		r->objects[i]++;
		r->bytes[g->idom[i]] += r->bytes[i];
		r->objects[g->idom[i]] += r->objects[i];
	}
}

static void graph_free(struct graph *g)
{
	nodes_free(&g->nodes);
	free(g->starts);
	vec_deinit(&g->edges);
	free(g->is_root);
	free(g->order);
	free(g->befores);
	free(g->before);
	free(g->ancestor);
	free(g->label);
	free(g->semi);
	free(g->idom);
}

void retained_free(struct retained *r)
{
	if (!r)
		return;
	free(r->number);
	free(r->objects);
	free(r->bytes);
	free(r);
}

static struct err *retained_get(struct mdb *m, struct census *s, struct retained **ret)
{
	struct graph g = {.m = m, .s = s, .n = (uint32_t)s->objects.len};
	size_t n = (size_t)g.n + 2;
	struct retained *r;

	*ret = s->retained;
	if (s->retained)
		return NULL;
	if (!s->heap.is_scan)
		return err_new("not all objects of the runtime are known, so that what one of them "
			       "holds cannot be said");
	r = xcalloc(1, sizeof(*r));
	r->number = xmalloc(n * sizeof(*r->number));
	g.starts = xmalloc(n * sizeof(*g.starts));
	g.is_root = xcalloc(n, 1);
	g.order = xmalloc(n * sizeof(*g.order));
	g.ancestor = xmalloc(n * sizeof(*g.ancestor));
	nodes_make(&g.nodes, s);
	edges_find(&g);
	roots_walk(m, s, root_note, &g);
	if (!m->is_interrupted)
		graph_walk(&g, r);
	if (!m->is_interrupted) {
		edges_turn(&g, r);
		dominators_find(&g);
		sums_make(&g, r);
	}
	graph_free(&g);
	if (m->is_interrupted) {
		retained_free(r);
		return err_new("the search for what objects hold was interrupted");
	}
	*ret = s->retained = r;
	return NULL;
}

/* ---- commands -------------------------------------------------------------------------------- */

static void retained_row(struct mdb *m, const struct census *s, const struct retained *r,
			 uint32_t node)
{
	const struct object_at *o = &s->objects.data[node];
	uint32_t number = r->number[node];
	struct strbuf what = {0};

	if (s->classes.data[o->class].group)
		strbuf_adds(&what, s->groups.data[s->classes.data[o->class].group - 1].key);
	else
		(void)value_type_add(s->lang.p, s->lang.h, object_word(s, o), &what);
	emit_row(&m->out);
	emit_value(&m->out, object_word(s, o));
	emit_addr(&m->out, "object", object_word(s, o), 16);
	emit_int(&m->out, "bytes", 8 * (int64_t)o->words, 10);
	emit_int(&m->out, "retained", (int64_t)r->bytes[number], 12);
	emit_int(&m->out, "objects", r->objects[number], 10);
	emit_bytes(&m->out, "class", strbuf_text(&what), what.len, 1);
	emit_end(&m->out);
	strbuf_deinit(&what);
}

/* The objects that retain most, greatest first. */
static void top_show(struct mdb *m, const struct census *s, const struct retained *r, uint64_t most)
{
	VEC(uint32_t) top = {0};

	for (uint32_t i = 0; i < s->objects.len && !m->is_interrupted; i++) {
		uint32_t at = (uint32_t)top.len;

		if (r->number[i] == NOBODY || !s->classes.data[s->objects.data[i].class].group)
			continue;
		if (top.len == most &&
		    r->bytes[r->number[top.data[top.len - 1]]] >= r->bytes[r->number[i]])
			continue;
		if (top.len < most)
			vec_push(&top, i);
		else
			at--;
		while (at && r->bytes[r->number[top.data[at - 1]]] < r->bytes[r->number[i]]) {
			top.data[at] = top.data[at - 1];
			at--;
		}
		top.data[at] = i;
	}
	for (uint32_t i = 0; i < top.len; i++)
		retained_row(m, s, r, top.data[i]);
	vec_deinit(&top);
}

struct err *cmd_lretained(struct mdb *m, const struct call *c)
{
	uint64_t most = TOP;
	const struct object_at *o;
	struct retained *r;
	struct census *s;
	struct err *e = c->opts['n'] ? mdb_number(c->opts['n'], 10000, &most) : NULL;

	if (!e)
		e = census_get(m, &s);
	if (!e)
		e = retained_get(m, s, &r);
	if (e || !most)
		return e;
	o = c->has_addr ? object_around(s, c->addr - s->heap.tag) : NULL;
	if (c->has_addr && (!o || object_word(s, o) != c->addr))
		return err_new("%" PRIx64 " is no object that the census has found", c->addr);
	if (o && r->number[o - s->objects.data] == NOBODY)
		return err_new("%" PRIx64 " is held by nothing that is known: it is garbage, or is "
			       "held by an object that no clause describes",
			       c->addr);
	if (c->is_first)
		emit_say(&m->out, "%16s %10s %12s %10s %s\n", "OBJECT", "BYTES", "RETAINED",
			 "#OBJECTS", "CLASS: PROPERTIES");
	if (o)
		retained_row(m, s, r, (uint32_t)(o - s->objects.data));
	else
		top_show(m, s, r, most);
	return NULL;
}
