/* SPDX-License-Identifier: MIT */
/*
 * Groups chains of holders (holders.h).
 *
 * A group is a root, or the group of a holder with the class of an object that is held. So the
 * group of an object follows from that of its holder, and each object is looked at once, however
 * long the chains are. Texts are made of one object of each group.
 */
#include "mdb/holders.h"

#include <inttypes.h>

#include "base/hashmap.h"
#include "mdb/blocktype.h"
#include "mdb/chain.h"
#include "mdb/impl.h"
#include "mdb/lang.h"
#include "mdb/roots.h"

#define NO_GROUP   UINT32_MAX
#define STEPS_MAX  60u	 /* of a chain that is shown; those in the middle are left out */
#define CHAINS_MAX 1000u /* that are described */

struct group_key {
	uint32_t above; /* the group of the holder; NO_GROUP: it is a root */
	uint32_t class; /* of a root: its number */
};

struct holder_group {
	struct group_key key;
	uint64_t ntargets;
	uint32_t example;
	bool is_run; /* an object holds another one of the class */
};

/* Objects of a language, or blocks of malloc: what the grouping asks of either. */
struct graph {
	struct mdb *m;
	uint32_t n;
	uint8_t *wanted;
	/* a language */
	struct census *s;
	struct chain_search *search;
	/* blocks of malloc */
	struct reach *reach;
	struct blocktypes *types;

	struct hashmap *roots; /* number + 1, by text */
	struct hashmap *keys;  /* group + 1 */
	VEC(struct holder_group) groups;
	uint32_t *group_of; /* of each object: group + 1; 0: not known yet */
	VEC(uint32_t) todo;
};

/* ---- both kinds of objects ------------------------------------------------------------------- */

static uint32_t graph_holder(const struct graph *g, uint32_t object)
{
	if (g->search)
		return chain_holder(g->search, object);
	if (!(g->reach->marks[object] & REACH_MARK))
		return CHAIN_NONE;
	return g->reach->holds[object].by == NO_CHUNK ? CHAIN_ROOT : g->reach->holds[object].by;
}

static bool graph_is_part(const struct graph *g, uint32_t object)
{
	return g->search && chain_is_part(g->search, object);
}

static uint64_t graph_address(const struct graph *g, uint32_t object)
{
	return g->search ? object_word(g->s, &g->s->objects.data[object])
			 : chunk_memory(&g->reach->h->chunks.data[object]);
}

static uint32_t graph_class(const struct graph *g, uint32_t object)
{
	const struct object_at *o;

	if (!g->search)
		return blocktype_get(g->types, &g->reach->h->chunks.data[object])->number;
	o = &g->s->objects.data[object];
	/* classes that are shown have a group, several of which may have one name */
	return g->s->classes.data[o->class].group ? g->s->classes.data[o->class].group
						  : UINT32_MAX - 1 - o->class;
}

static void graph_root_add(struct graph *g, uint32_t object, struct strbuf *out)
{
	if (g->search)
		chain_root_add(g->search, object, out);
	else
		root_place_add(g->m, g->reach->holds[object].at, out);
}

static void graph_step_add(struct graph *g, uint32_t holder, uint32_t object, struct strbuf *out)
{
	const struct chunk *c;

	if (g->search) {
		chain_step_add(g->search, holder, object, out);
		return;
	}
	c = &g->reach->h->chunks.data[holder];
	strbuf_addf(out, "+0x%" PRIx64 " of %s", g->reach->holds[object].at - chunk_memory(c),
		    blocktype_get(g->types, c)->name);
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* Where in a variable or a stack a root is does not matter: "app`table+0x18" is "app`table". */
static uint32_t root_number(struct graph *g, uint32_t object)
{
	struct strbuf text = {0};
	uintptr_t number;
	char *end;

	graph_root_add(g, object, &text);
	end = strbuf_text(&text)[0] ? strstr(text.data, ", frame ") : NULL;
	if (!end && text.len && !g->search) {
		end = strrchr(text.data, '+');
		end = end && strchr(text.data, '`') && strncmp(end, "+0x", 3) == 0 ? end : NULL;
	}
	if (end)
		*end = '\0';
	number = (uintptr_t)hashmap_finds(g->roots, strbuf_text(&text));
	if (!number) {
		number = hashmap_count(g->roots) + 1;
		hashmap_sets(g->roots, strbuf_text(&text), (void *)number);
	}
	strbuf_deinit(&text);
	return (uint32_t)number;
}

static uint32_t group_get(struct graph *g, struct group_key key)
{
	uintptr_t at = (uintptr_t)hashmap_find(g->keys, &key, sizeof(key));

	if (!at) {
		vec_push(&g->groups, (struct holder_group){.key = key});
		at = g->groups.len;
		hashmap_set(g->keys, &key, sizeof(key), (void *)at);
	}
	return (uint32_t)at - 1;
}

/* The group of an object, of whose holder the group is `above`. */
static uint32_t group_below(struct graph *g, uint32_t above, uint32_t object)
{
	struct group_key key = {above, 0};
	struct holder_group *a = &g->groups.data[above];

	if (graph_is_part(g, object))
		return above;
	key.class = graph_class(g, object);
	if (a->key.above != NO_GROUP && a->key.class == key.class) {
		a->is_run = true;
		return above;
	}
	return group_get(g, key);
}

/* Finds the group of an object, and of all that lead to it; NO_GROUP: nothing does. */
static uint32_t group_find(struct graph *g, uint32_t object)
{
	uint32_t at = object, group;

	g->todo.len = 0;
	while (!g->group_of[at]) {
		uint32_t holder = graph_holder(g, at);

		if (holder == CHAIN_NONE)
			return NO_GROUP;
		vec_push(&g->todo, at);
		if (holder == CHAIN_ROOT)
			break;
		at = holder;
	}
	group = g->group_of[at] ? g->group_of[at] - 1
				: group_get(g, (struct group_key){NO_GROUP, root_number(g, at)});
	while (g->todo.len) {
		at = g->todo.data[--g->todo.len];
		group = group_below(g, group, at);
		g->group_of[at] = group + 1;
	}
	return group;
}

/* ---- texts ----------------------------------------------------------------------------------- */

/* The objects from one to the root, without parts of others, the last of each run. */
static void chain_collect(struct graph *g, uint32_t object, uint32_t *ret_first)
{
	uint32_t at = object, shown = object;

	g->todo.len = 0;
	vec_push(&g->todo, object);
	while (graph_holder(g, at) != CHAIN_ROOT) {
		at = graph_holder(g, at);
		if (graph_is_part(g, at))
			continue;
		if (g->group_of[at] != g->group_of[shown])
			vec_push(&g->todo, at);
		shown = at;
	}
	*ret_first = at;
}

/* The object that a holder holds on the way to another one, and that is no part. */
static uint32_t held_by(const struct graph *g, uint32_t object, uint32_t holder)
{
	uint32_t shown = object;

	for (uint32_t at = object; at != holder; at = graph_holder(g, at))
		if (!graph_is_part(g, at))
			shown = at;
	return shown;
}

static void step_push(struct graph *g, uint32_t holder, uint32_t object, struct holders_chain *to)
{
	struct strbuf text = {0};

	graph_step_add(g, holder, object, &text);
	if (g->groups.data[g->group_of[holder] - 1].is_run)
		strbuf_adds(&text, ", one behind another");
	vec_push(&to->steps, text.data);
}

static void chain_describe(struct graph *g, const struct holder_group *group,
			   struct holders_chain *to)
{
	struct strbuf root = {0};
	uint32_t first, last;

	chain_collect(g, group->example, &first);
	graph_root_add(g, first, &root);
	to->root = xstrdup(strbuf_text(&root));
	strbuf_clear(&root);
	if (g->search && chain_root_step_add(g->search, first, &root))
		vec_push(&to->steps, xstrdup(root.data));
	strbuf_deinit(&root);
	last = g->todo.len - 1;
	for (uint32_t i = last; i; i--) {
		uint32_t holder = g->todo.data[i];

		if (last - i == STEPS_MAX / 2 && last > STEPS_MAX) {
			vec_push(&to->steps, xstrdup("..."));
			i = STEPS_MAX / 2;
			continue;
		}
		step_push(g, holder, held_by(g, g->todo.data[i - 1], holder), to);
	}
	if (group->is_run)
		vec_push(&to->steps, xstrdup("one of them by another"));
}

static int chain_compare(const void *a, const void *b)
{
	const struct holders_chain *x = a, *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return (x->example > y->example) - (x->example < y->example);
}

static int group_compare(const void *a, const void *b)
{
	const struct holder_group *x = *(const struct holder_group *const *)a;
	const struct holder_group *y = *(const struct holder_group *const *)b;

	return (x->ntargets < y->ntargets) - (x->ntargets > y->ntargets);
}

/* Groups the objects that are wanted, and describes each group. */
static void graph_describe(struct graph *g, struct holders *ret)
{
	VEC(struct holder_group *) shown = {0};

	g->roots = hashmap_create();
	g->keys = hashmap_create();
	g->group_of = xcalloc((size_t)g->n + 1, sizeof(*g->group_of));
	for (uint32_t i = 0; i < g->n; i++) {
		uint32_t group;

		if (!g->wanted[i])
			continue;
		ret->nobjects++;
		group = group_find(g, i);
		if (group == NO_GROUP) {
			ret->nunheld++;
			continue;
		}
		if (!g->groups.data[group].ntargets++)
			g->groups.data[group].example = i;
	}
	for (uint32_t i = 0; i < g->groups.len; i++)
		if (g->groups.data[i].ntargets)
			vec_push(&shown, &g->groups.data[i]);
	if (shown.len)
		qsort(shown.data, shown.len, sizeof(*shown.data), group_compare);
	for (uint32_t i = 0; i < shown.len && i < CHAINS_MAX && !g->m->is_interrupted; i++) {
		struct holders_chain chain = {.count = shown.data[i]->ntargets,
					      .example = graph_address(g, shown.data[i]->example)};

		chain_describe(g, shown.data[i], &chain);
		vec_push(&ret->chains, chain);
	}
	if (ret->chains.len)
		qsort(ret->chains.data, ret->chains.len, sizeof(*ret->chains.data), chain_compare);
	vec_deinit(&shown);
	vec_deinit(&g->groups);
	vec_deinit(&g->todo);
	hashmap_destroy(g->roots);
	hashmap_destroy(g->keys);
	free(g->group_of);
}

/* ---- objects of a language ------------------------------------------------------------------- */

/* Marks the groups whose objects are of a class. */
static void groups_want(const struct census *s, const char *type, uint8_t *wanted)
{
	struct strbuf name = {0};

	for (uint32_t i = 0; i < s->groups.len; i++) {
		strbuf_clear(&name);
		census_class_add(s, &s->groups.data[i], s->groups.data[i].first, &name);
		wanted[i] = strcmp(name.data, type) == 0;
	}
	strbuf_deinit(&name);
}

/* Marks the objects of a class, or the one at an address; false: there is none. */
static bool objects_want(const struct census *s, const char *type, uint64_t word, uint8_t *wanted)
{
	CLEANUP(free) uint8_t *groups = xcalloc(s->groups.len + 1, 1);
	bool has_any = false;

	if (type)
		groups_want(s, type, groups);
	for (uint32_t i = 0; i < s->objects.len; i++) {
		const struct object_at *o = &s->objects.data[i];
		uint32_t group = s->classes.data[o->class].group;

		wanted[i] = type ? group && groups[group - 1] : object_word(s, o) == word;
		has_any |= wanted[i];
	}
	return has_any;
}

/* The class of an object, whose group may have none. */
static char *object_class(const struct census *s, const struct object_at *o)
{
	uint32_t group = s->classes.data[o->class].group;
	struct strbuf name = {0};

	if (group)
		census_class_add(s, &s->groups.data[group - 1], object_word(s, o), &name);
	else
		(void)value_type_add(s->lang.p, s->lang.h, object_word(s, o), &name);
	return name.data ? name.data : xstrdup("");
}

/* False: there is no such object of a language. type: NULL, the one at the address is meant. */
static bool objects_find(struct mdb *m, const char *type, uint64_t word, struct holders *ret)
{
	struct graph g = {.m = m};
	struct err *e = census_get(m, &g.s);
	uint32_t first = 0;

	if (e) {
		err_destroy(e); /* blocks of malloc may be meant */
		return false;
	}
	g.n = (uint32_t)g.s->objects.len;
	g.wanted = xcalloc((size_t)g.n + 1, 1);
	if (!objects_want(g.s, type, word, g.wanted)) {
		free(g.wanted);
		return false;
	}
	while (!g.wanted[first])
		first++;
	ret->kind = lang_name(&g.s->lang);
	ret->type = object_class(g.s, &g.s->objects.data[first]);
	g.search = chain_search_make(m, g.s, g.wanted);
	graph_describe(&g, ret);
	chain_search_free(g.search);
	free(g.wanted);
	return true;
}

/* ---- blocks of malloc ------------------------------------------------------------------------ */

static bool blocks_want(struct graph *g, const char *type, uint64_t address, struct holders *ret)
{
	const struct heap *h = g->reach->h;
	const struct chunk *at = type ? NULL : heap_chunk_at(h, address);
	const struct blocktype *t = NULL;

	for (uint32_t i = 0; type && i < g->n; i++) {
		const struct chunk *c = &h->chunks.data[i];

		g->wanted[i] =
			chunk_is_busy(c) && strcmp(blocktype_get(g->types, c)->name, type) == 0;
		t = g->wanted[i] ? blocktype_get(g->types, c) : t;
	}
	if (at && chunk_is_busy(at)) {
		g->wanted[at - h->chunks.data] = 1;
		t = blocktype_get(g->types, at);
	}
	if (!t)
		return false;
	ret->type = xstrdup(t->name);
	ret->kind = t->is_class ? "c++" : "block";
	return true;
}

/* *ret_is: whether there is such a block; an error if blocks are not known. */
static struct err *blocks_find(struct mdb *m, const char *type, uint64_t address,
			       struct holders *ret, bool *ret_is)
{
	struct reach reach;
	struct graph g = {.m = m, .reach = &reach};
	struct err *e = reach_make(m, REACH_HOLDS, &reach);

	e = e ? err_wrap(e, "blocks of malloc are not known") : heap_check(reach.h);
	if (e) {
		reach_deinit(&reach);
		return e;
	}
	g.n = reach.h->chunks.len;
	g.wanted = xcalloc((size_t)g.n + 1, 1);
	g.types = blocktypes_create(&reach);
	*ret_is = blocks_want(&g, type, address, ret);
	if (*ret_is)
		graph_describe(&g, ret);
	blocktypes_destroy(g.types);
	free(g.wanted);
	reach_deinit(&reach);
	return NULL;
}

/* ---- either ---------------------------------------------------------------------------------- */

static bool address_read(const char *text, uint64_t *ret)
{
	char *end;

	if (strncmp(text, "0x", 2) == 0 || strncmp(text, "0X", 2) == 0)
		text += 2;
	if (!*text || strspn(text, "0123456789abcdefABCDEF") != strlen(text) || strlen(text) > 16)
		return false;
	*ret = strtoull(text, &end, 16);
	return true;
}

/* What is no type may be an address: a class may have a name such as "Cafe". */
struct err *holders_find(struct mdb *m, const char *what, struct holders *ret)
{
	uint64_t address = 0;
	bool is_there = false, is_address = address_read(what, &address);
	struct err *e = NULL;

	*ret = (struct holders){0};
	if (objects_find(m, what, 0, ret) || (is_address && objects_find(m, NULL, address, ret)))
		return NULL;
	e = blocks_find(m, what, 0, ret, &is_there);
	if (!e && !is_there && is_address)
		e = blocks_find(m, NULL, address, ret, &is_there);
	if (e || is_there)
		return e;
	if (is_address)
		return err_new("there is no object and no block in use at %s", what);
	return err_hint(err_new("there is no object of the type '%s'", what),
			"memprof alive lists the types; an address is hexadecimal");
}

void holders_deinit(struct holders *h)
{
	for (uint32_t i = 0; i < h->chains.len; i++) {
		struct holders_chain *c = &h->chains.data[i];

		for (uint32_t k = 0; k < c->steps.len; k++)
			free(c->steps.data[k]);
		vec_deinit(&c->steps);
		free(c->root);
	}
	vec_deinit(&h->chains);
	free(h->type);
}
