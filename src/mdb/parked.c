/* SPDX-License-Identifier: MIT */
/* Lists what stands parked without a thread. */
#include "mdb/parked.h"

#include <inttypes.h>

#include "base/hashmap.h"
#include "base/text.h"
#include "mdb/census.h"
#include "mdb/tasks.h"

#define LIST_MAX   10000u  /* in ::lfibers */
#define STACKS_MAX 100000u /* that are read to find out what is a part of another one */
#define FRAMES_MAX 10000u  /* of one stack */
#define NAME_MAX   200u	   /* characters */

struct word {
	struct lang lang;
	uint64_t word;
	bool is_generator; /* PARKED_KIND */
};

struct reading {
	struct mdb *m;
	VEC(struct word) words;
	struct hashmap *parts; /* words that are parts of the stacks of others */
};

/* ---- which there are ------------------------------------------------------------------------- */

static struct err *words_add(struct reading *r, const struct lang *lang, uint32_t kind,
			     bool *ret_is)
{
	value_words words = {0};
	struct err *e = kind == TASK_KIND ? tasks_of(r->m, lang, kind, &words, ret_is)
					  : census_kind_add(r->m, lang->part, kind, &words);

	for (uint32_t i = 0; i < words.len; i++)
		vec_push(&r->words, (struct word){*lang, words.data[i], kind == PARKED_KIND});
	vec_deinit(&words);
	return e;
}

/* A language whose own cannot be found does not hide those of others. */
static struct err *words_find(struct reading *r)
{
	bool has_values = false, is_described = false;
	struct err *first = NULL;
	struct lang lang;

	walks_begin(r->m);
	for (uint32_t i = 0; i < r->m->replay.nhelpers && !r->m->is_interrupted; i++) {
		bool is = false;
		struct err *e;

		if (!lang_at(r->m, i, &lang))
			continue;
		has_values = true;
		e = words_add(r, &lang, TASK_KIND, &is);
		if (!e && is)
			e = words_add(r, &lang, PARKED_KIND, &is);
		is_described |= is;
		if (first)
			err_destroy(e);
		else
			first = e;
	}
	if (first && !r->words.len)
		return first;
	err_destroy(first);
	if (is_described)
		return NULL;
	return has_values ? err_new("what stands parked in this language is not described")
			  : lang_missing_err(r->m);
}

bool parked_is_described(struct mdb *m)
{
	struct lang lang;

	walks_begin(m);
	for (uint32_t i = 0; i < m->replay.nhelpers; i++) {
		if (lang_at(m, i, &lang) && value_has_clauses(lang.h, HELPER_TASK))
			return true;
	}
	return false;
}

/*
 * Notes which objects have frames in the stacks of others: a coroutine that another one awaits is
 * shown in the stack of that one only.
 */
static void parts_note(struct reading *r)
{
	for (uint32_t i = 0; i < MIN(r->words.len, STACKS_MAX) && !r->m->is_interrupted; i++) {
		const struct word *w = &r->words.data[i];
		struct value v;

		if (replay_walks_parked(&r->m->replay, w->lang.part))
			continue;
		task_stack_read(r->m, &w->lang, w->word, &v);
		for (uint32_t k = 0; k < v.items.len; k++) {
			uint64_t part = v.items.data[k].word;

			if (v.items.data[k].kind == VALUE_MEMBER && part != w->word)
				hashmap_set(r->parts, &part, sizeof(part), r);
		}
		value_free(&v);
	}
}

/* ---- what each is ---------------------------------------------------------------------------- */

/* The text of an item, without quotes; NULL: there is none. */
static char *item_text(struct mdb *m, const struct lang *l, const struct value *v, const char *name)
{
	const struct value_item *item = value_item_find(v, name);
	struct strbuf text = {0};
	char *ret = NULL;

	if (item && item->has_word)
		value_name_add(l->p, l->h, item->word, &text);
	else if (item)
		task_item_add(m, l, item, &text);
	if (text.len && strcmp(strbuf_text(&text), "-") != 0)
		ret = strndup(strbuf_text(&text), MIN(text.len, (size_t)NAME_MAX));
	strbuf_deinit(&text);
	return ret;
}

static void one_free(struct dump_parked *one)
{
	free(one->kind);
	free(one->id);
	free(one->name);
	free(one->state);
	free(one->cut);
	for (uint32_t i = 0; i < one->frames.len; i++)
		free(one->frames.data[i]);
	vec_deinit(&one->frames);
}

static void frames_read(struct mdb *m, const struct word *w, struct dump_parked *one)
{
	struct value v;

	task_stack_read(m, &w->lang, w->word, &v);
	for (uint32_t i = 0; i < v.items.len; i++) {
		const struct value_item *item = &v.items.data[i];

		if (item->kind != VALUE_ITEM || item->has_word)
			continue;
		if (one->frames.len < FRAMES_MAX)
			vec_push(&one->frames, xstrdup(item->name));
		else if (!one->cut)
			one->cut = xstrdup("there are more frames");
	}
	if (v.fault && !one->cut)
		one->cut = xstrdup(v.fault);
	value_free(&v);
}

/* False: it is none, or it runs, or it has no stack. */
static bool one_read(struct mdb *m, const struct word *w, bool with_running,
		     struct dump_parked *one)
{
	const struct lang *l = &w->lang;
	bool is_running, is = true;
	struct value v;

	*one = (struct dump_parked){.addr = w->word, .language = lang_name(l)};
	if (!value_task_read(l->p, l->h, w->word, false, &v) || !v.items.len) {
		value_free(&v);
		return false;
	}
	one->kind = item_text(m, l, &v, "kind");
	if (!one->kind)
		one->kind = xstrdup(l->task);
	one->state = item_text(m, l, &v, "state");
	one->name = item_text(m, l, &v, "name");
	one->id = item_text(m, l, &v, l->task_id);
	value_free(&v);
	is_running = one->state && strcmp(one->state, "running") == 0;
	if (!is_running)
		frames_read(m, w, one);
	is = is_running ? with_running : one->frames.len || with_running;
	if (!is)
		one_free(one);
	return is;
}

struct err *parked_read(struct mdb *m, uint64_t word, uint32_t most, bool with_running,
			struct parked *ret)
{
	struct reading r = {.m = m, .parts = hashmap_create()};
	struct err *e = words_find(&r);

	*ret = (struct parked){0};
	if (!e && !word)
		parts_note(&r);
	for (uint32_t i = 0; !e && i < r.words.len && !m->is_interrupted; i++) {
		const struct word *w = &r.words.data[i];
		struct dump_parked one;

		if (word ? w->word != word
			 : hashmap_find(r.parts, &w->word, sizeof(w->word)) != NULL)
			continue;
		if (ret->all.len >= most)
			ret->nmore++;
		else if (one_read(m, w, with_running, &one))
			vec_push(&ret->all, one);
	}
	hashmap_destroy(r.parts);
	vec_deinit(&r.words);
	return e;
}

void parked_free(struct parked *p)
{
	for (uint32_t i = 0; i < p->all.len; i++)
		one_free(&p->all.data[i]);
	vec_deinit(&p->all);
}

/* ---- the list -------------------------------------------------------------------------------- */

static void one_show(struct mdb *m, const struct dump_parked *one)
{
	const char *frame = one->frames.len ? one->frames.data[0] : "-";

	emit_row(&m->out);
	emit_value(&m->out, one->addr);
	emit_addr(&m->out, "object", one->addr, 16);
	emit_str(&m->out, "kind", one->kind, -15);
	emit_str(&m->out, "state", one->state ? one->state : "-", -14);
	if (one->id)
		emit_str(&m->out, "id", one->id, 1);
	if (one->name)
		emit_str(&m->out, "name", one->name, 1);
	if (!one->id && !one->name)
		emit_say(&m->out, "- ");
	emit_str(&m->out, "frame", frame + (*frame == '@'), 1);
	emit_end(&m->out);
}

struct err *parked_list(struct mdb *m, const struct call *c)
{
	uint32_t nshown = 0;
	struct parked p;
	struct err *e = parked_read(m, c->has_addr ? c->addr : 0, LIST_MAX, true, &p);

	for (uint32_t i = 0; !e && i < p.all.len && !m->is_interrupted; i++) {
		const char *state = p.all.data[i].state;

		if (c->opts['s'] && (!state || strcmp(state, c->opts['s']) != 0))
			continue;
		if (!nshown++)
			emit_say(&m->out, "%16s %-15s %-14s %s\n", "OBJECT", "KIND", "STATE",
				 "NAME AND INNERMOST FRAME");
		one_show(m, &p.all.data[i]);
	}
	if (!e && p.nmore)
		emit_say(&m->out, "... %" PRIu64 " more\n", p.nmore);
	if (!e && c->has_addr && !p.all.len)
		e = err_new("%" PRIx64 " is nothing that can stand parked; ::lfibers lists what is",
			    c->addr);
	parked_free(&p);
	return e;
}
