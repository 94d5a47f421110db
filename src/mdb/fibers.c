/* SPDX-License-Identifier: MIT */
/*
 * What waits in a language without a thread of its own: promises, and the functions that wait for
 * them.
 *
 * A helper is asked about each object of its waiting kinds: the state, and who waits for it. Each
 * of these may name another object, which is settled by it, and who waits for that is asked in its
 * turn. Shown are the objects at the ends, which are what all others wait for.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/text.h"
#include "mdb/census.h"
#include "mdb/functions.h"
#include "mdb/parked.h"

#define STATES_MAX  8u
#define LINES_MAX   200u /* of one chain */
#define WAITING_MAX 1000000u

struct waiter {
	char *text; /* "async f at /srv/app.js line 27"; "": it hands on to next only */
	uint64_t next;
	bool has_next;
};

struct fiber {
	uint64_t word;
	uint32_t state;
	bool is_next; /* it is settled by what waits for another one */
	VEC(struct waiter) waiters;
};

struct fibers {
	struct mdb *m;
	struct lang lang;
	struct sources sources;
	VEC(struct fiber) all;
	struct hashmap *by_word; /* index + 1 */
	char *states[STATES_MAX];
	uint64_t counts[STATES_MAX];
	uint32_t nstates;
};

/* ---- reading --------------------------------------------------------------------------------- */

static uint32_t state_number(struct fibers *f, const char *state)
{
	for (uint32_t i = 0; i < f->nstates; i++)
		if (strcmp(f->states[i], state) == 0)
			return i;
	if (f->nstates < STATES_MAX)
		f->states[f->nstates++] = xstrdup(state);
	return f->nstates - 1;
}

/* A waiter of which the helper has not said everything yet. */
struct waiter_said {
	bool is_begun, has_function, has_at, has_next;
	struct strbuf how;
	uint64_t function, next;
	int64_t at;
};

static void waiter_add(struct fibers *f, struct fiber *to, struct waiter_said *said)
{
	struct strbuf text = {0};
	struct function is = {0};

	if (!said->is_begun)
		return;
	text_escape(&text, strbuf_text(&said->how), said->how.len);
	if (said->has_function && function_read(&f->sources, &f->lang, said->function, &is)) {
		if (said->has_at)
			function_line_at(&f->sources, &f->lang, &is, (uint64_t)said->at);
		strbuf_adds(&text, text.len ? " " : "");
		text_escape(&text, strbuf_text(&is.name), is.name.len);
		strbuf_adds(&text, " at ");
		function_place_add(&is, &text);
	}
	vec_push(&to->waiters, (struct waiter){.text = xstrdup(strbuf_text(&text)),
					       .next = said->next,
					       .has_next = said->has_next});
	function_free(&is);
	strbuf_deinit(&text);
	strbuf_deinit(&said->how);
	*said = (struct waiter_said){0};
}

static void item_take(struct fibers *f, struct fiber *to, const struct value_item *item,
		      struct waiter_said *said)
{
	const char *literal = strbuf_text(&item->said.literal);

	if (item->kind != VALUE_ITEM)
		return;
	if (strcmp(item->name, "state") == 0) {
		to->state = state_number(f, literal);
	} else if (strcmp(item->name, "waiter") == 0) {
		waiter_add(f, to, said);
		said->is_begun = true;
		strbuf_adds(&said->how, literal);
	} else if (strcmp(item->name, "function") == 0) {
		said->has_function = item->has_word;
		said->function = item->word;
	} else if (strcmp(item->name, "at") == 0) {
		said->at = strtoll(literal, NULL, 10);
		said->has_at = said->at >= 0;
	} else if (strcmp(item->name, "next") == 0) {
		said->has_next = item->has_word;
		said->next = item->word;
	}
}

/* Asks about an object; NULL: it is none that waits. */
static struct fiber *fiber_read(struct fibers *f, uint64_t word)
{
	struct waiter_said said = {0};
	struct fiber one = {.word = word};
	struct value v;

	value_answer_read(f->lang.p, f->lang.h, HELPER_FIBER, word, &v);
	if (!v.is_known) {
		value_free(&v);
		return NULL;
	}
	one.state = STATES_MAX;
	for (uint32_t i = 0; i < v.items.len; i++)
		item_take(f, &one, &v.items.data[i], &said);
	waiter_add(f, &one, &said);
	value_free(&v);
	vec_push(&f->all, one);
	hashmap_set(f->by_word, &word, sizeof(word), (void *)(uintptr_t)f->all.len);
	return vec_last(&f->all);
}

/* The object of that word, which is read if it was not met before. */
static struct fiber *fiber_get(struct fibers *f, uint64_t word)
{
	uintptr_t at = (uintptr_t)hashmap_find(f->by_word, &word, sizeof(word));

	return at ? &f->all.data[at - 1] : f->all.len < WAITING_MAX ? fiber_read(f, word) : NULL;
}

static void fibers_free(struct fibers *f)
{
	for (uint32_t i = 0; i < f->all.len; i++) {
		for (uint32_t k = 0; k < f->all.data[i].waiters.len; k++)
			free(f->all.data[i].waiters.data[k].text);
		vec_deinit(&f->all.data[i].waiters);
	}
	vec_deinit(&f->all);
	for (uint32_t i = 0; i < f->nstates; i++)
		free(f->states[i]);
	hashmap_destroy(f->by_word);
	sources_free(&f->sources);
}

/* ---- chains ---------------------------------------------------------------------------------- */

/* A waiter that is to be shown, and how far to the right; index: of the object in the list. */
struct step {
	uint32_t fiber, waiter, depth;
	bool is_branch; /* it is one of several that wait for the same */
};
typedef VEC(struct step) steps;

static uint32_t fiber_index(const struct fibers *f, const struct fiber *of)
{
	return (uint32_t)(of - f->all.data);
}

/* Pushes those that wait for an object, unless they are shown already. */
static void waiters_push(struct fibers *f, uint64_t word, uint32_t depth, struct hashmap *seen,
			 steps *todo)
{
	const struct fiber *of;

	if (hashmap_find(seen, &word, sizeof(word)))
		return;
	hashmap_set(seen, &word, sizeof(word), f);
	of = fiber_get(f, word);
	for (uint32_t i = of ? (uint32_t)of->waiters.len : 0; i--;)
		vec_push(todo, (struct step){fiber_index(f, of), i, depth + (of->waiters.len > 1),
					     of->waiters.len > 1});
}

/*
 * Adds a line for each of those that wait for an object, and behind it those that wait for that one
 * in turn. Where several wait for one, each has a dash, and is followed by its own.
 */
static void chain_add(struct fibers *f, uint64_t word, struct strbuf *out)
{
	struct hashmap *seen = hashmap_create();
	uint32_t lines = 0;
	steps todo = {0};

	waiters_push(f, word, 0, seen, &todo);
	while (todo.len && !f->m->is_interrupted) {
		struct step at = todo.data[--todo.len];
		struct waiter w = f->all.data[at.fiber].waiters.data[at.waiter];

		if (lines++ >= LINES_MAX) {
			strbuf_adds(out, "...\n");
			break;
		}
		if (*w.text) {
			strbuf_pad(out, ' ', (size_t)2 * (MIN(at.depth, 40u) - at.is_branch));
			strbuf_addf(out, "%s%s\n", at.is_branch ? "- " : "", w.text);
		}
		if (w.has_next)
			waiters_push(f, w.next, at.depth, seen, &todo);
	}
	hashmap_destroy(seen);
	vec_deinit(&todo);
}

/* ---- output ---------------------------------------------------------------------------------- */

/* Objects for which the same wait. */
struct chain {
	const char *text; /* the key's */
	uint64_t first, n;
	uint32_t state;
};

static int chain_compare(const void *a, const void *b)
{
	const struct chain *x = *(const struct chain *const *)a,
			   *y = *(const struct chain *const *)b;

	return x->n != y->n ? (x->n < y->n) - (x->n > y->n)
			    : (x->first > y->first) - (x->first < y->first);
}

static void chain_row(struct fibers *f, const struct chain *c)
{
	struct out *out = &f->m->out;
	const char *state = c->state < f->nstates ? f->states[c->state] : "";

	emit_row(out);
	emit_value(out, c->first);
	emit_addr(out, "object", c->first, 16);
	emit_int(out, "objects", (int64_t)c->n, 8);
	emit_str(out, "state", state, 0);
	emit_list(out, "waiters");
	for (const char *p = c->text, *end; *p; p = end + 1) {
		end = strchr(p, '\n');
		emit_list_str(out, p, (size_t)(end - p));
		emit_say(out, "%s%.*s", p == c->text ? "" : "\n                          ",
			 (int)(end - p), p);
	}
	emit_list_end(out);
	emit_end(out);
}

/* Shows who waits for the objects that are settled by nobody who waits, equal ones once. */
static void chains_show(struct fibers *f)
{
	struct hashmap *chains = hashmap_create();
	VEC(struct chain *) shown = {0};
	uint32_t n = (uint32_t)f->all.len;

	for (uint32_t i = 0; i < n && !f->m->is_interrupted; i++) {
		struct fiber of = f->all.data[i];
		struct strbuf text = {0};
		struct chain *c;

		if (of.is_next || !of.waiters.len)
			continue;
		chain_add(f, of.word, &text);
		c = hashmap_finds(chains, strbuf_text(&text));
		if (!c) {
			c = xcalloc(1, sizeof(*c));
			*c = (struct chain){xstrdup(strbuf_text(&text)), of.word, 0, of.state};
			hashmap_sets(chains, c->text, c);
			vec_push(&shown, c);
		}
		c->n++;
		strbuf_deinit(&text);
	}
	if (shown.len) {
		qsort(shown.data, shown.len, sizeof(*shown.data), chain_compare);
		emit_say(&f->m->out, "%16s %8s %s\n", "OBJECT", "#OBJECTS", "WHAT WAITS");
	}
	for (uint32_t i = 0; i < shown.len; i++) {
		chain_row(f, shown.data[i]);
		free((char *)shown.data[i]->text);
		free(shown.data[i]);
	}
	vec_deinit(&shown);
	hashmap_destroy(chains);
}

static void states_show(struct fibers *f)
{
	for (uint32_t i = 0; i < f->nstates; i++) {
		emit_row(&f->m->out);
		emit_str(&f->m->out, "state", f->states[i], 0);
		emit_int(&f->m->out, "objects", (int64_t)f->counts[i], 0);
		emit_say(&f->m->out, "%s: %" PRIu64, f->states[i], f->counts[i]);
		emit_end(&f->m->out);
	}
}

/* Hands on the objects of a state. */
static void state_list(struct fibers *f, const char *state)
{
	for (uint32_t i = 0; i < f->all.len && !f->m->is_interrupted; i++) {
		const struct fiber *of = &f->all.data[i];

		if (of->state >= f->nstates || strcmp(f->states[of->state], state) != 0)
			continue;
		emit_row(&f->m->out);
		emit_value(&f->m->out, of->word);
		emit_addr(&f->m->out, "object", of->word, 1);
		emit_end(&f->m->out);
	}
}

/* Reads all objects that may wait, and notes those which others settle. */
static void fibers_read(struct fibers *f, const struct census *s)
{
	for (uint32_t i = 0; i < s->objects.len && !f->m->is_interrupted; i++) {
		const struct object_at *o = &s->objects.data[i];

		if (object_kinds(s, o) & s->heap.waiting)
			(void)fiber_get(f, object_word(s, o));
	}
	for (uint32_t i = 0; i < f->all.len; i++) {
		const struct fiber *of = &f->all.data[i];

		if (of->state < f->nstates)
			f->counts[of->state]++;
		for (uint32_t k = 0; k < of->waiters.len; k++) {
			uint64_t next = of->waiters.data[k].next;
			uintptr_t at = (uintptr_t)hashmap_find(f->by_word, &next, sizeof(next));

			if (of->waiters.data[k].has_next && at)
				f->all.data[at - 1].is_next = true;
		}
	}
}

/* Who waits for one object. */
static struct err *fiber_show(struct fibers *f, uint64_t word)
{
	const struct fiber *of = fiber_get(f, word);
	struct chain c = {.first = word, .n = 1};
	struct strbuf text = {0};

	if (!of)
		return err_new("%" PRIx64 " is nothing that can be waited for", word);
	c.state = of->state;
	chain_add(f, word, &text);
	c.text = strbuf_text(&text);
	emit_say(&f->m->out, "%s\n", c.state < f->nstates ? f->states[c.state] : "");
	chain_row(f, &c);
	strbuf_deinit(&text);
	return NULL;
}

struct err *cmd_lfibers(struct mdb *m, const struct call *c)
{
	struct fibers f = {.m = m};
	struct census *s;
	struct err *e;

	/* One language is asked: that which has stacks of such, or else promises. */
	if (parked_is_described(m))
		return parked_list(m, c);
	if (c->has_addr) {
		e = lang_of_word(m, c->addr, &f.lang);
		if (e)
			return e;
		f.by_word = hashmap_create();
		e = fiber_show(&f, c->addr);
		fibers_free(&f);
		return e;
	}
	e = census_get(m, &s);
	if (!e && !s->heap.waiting)
		e = err_new("which objects of the runtime wait is not described");
	if (e)
		return e;
	f.lang = s->lang;
	f.by_word = hashmap_create();
	fibers_read(&f, s);
	if (c->opts['s']) {
		state_list(&f, c->opts['s']);
	} else {
		states_show(&f);
		chains_show(&f);
	}
	fibers_free(&f);
	return NULL;
}
