/* SPDX-License-Identifier: MIT */
/*
 * The threads of runtimes: what each has for a thread of the process, by the helper's clauses
 * dtrace:helper:thread:, and to which of them objects belong (dtrace:helper:owner:).
 *
 * A thread that runs a language is listed also if no clause knows it: by the frames in its stack.
 *
 * Errors   struct err *: there is no such thread, or objects belong to none.
 */
#include "mdb/census.h"

#include <inttypes.h>

#include "base/hashmap.h"
#include "base/text.h"

#define OWNER_BITS_MAX 48u
#define OWNER_SIZE_MAX (1u << 20) /* bytes of what a runtime has for a thread */

/* A thread that a runtime knows. */
struct lang_thread {
	pid_t tid;
	struct lang lang;
	struct value said;
	bool is_known; /* the runtime has said something of it */
	uint64_t word; /* by which the runtime knows it; 0: not said */
	struct strbuf frame;
	uint64_t objects, bytes; /* that are its own */
};

static const struct value_item *thread_item(const struct value *v)
{
	const struct value_item *item = value_item_find(v, "thread");

	return item && item->has_word ? item : NULL;
}

/* Asks a runtime about a thread; the value is to be freed. */
static bool thread_ask(struct mdb *m, const struct lang *l, pid_t tid, struct value *ret)
{
	struct arch_regs regs;
	struct err *e = target_regs(m->t, tid, &regs);

	*ret = (struct value){0};
	if (!e && regs.thread_pointer)
		value_thread_read(l->p, l->h, regs.thread_pointer, tid, ret);
	err_destroy(e);
	return ret->items.len;
}

/* Adds the innermost frame of a language; false: the thread runs none. */
static bool inner_frame_add(struct mdb *m, pid_t tid, struct lang_thread *t)
{
	bool is_found = false;
	struct stack s;

	stack_take(m, tid, &s);
	for (uint32_t i = 0; i < s.frames.len && !is_found; i++) {
		const struct frame *f = &s.frames.data[i];

		if (f->kind != REPLAY_LANGUAGE || !lang_at(m, f->part, &t->lang))
			continue;
		frame_name_add(m, f, &t->frame);
		is_found = true;
	}
	stack_free(&s);
	return is_found;
}

/* Finds what runtimes know of a thread; false: it is none of theirs. */
static bool thread_find(struct mdb *m, pid_t tid, struct lang_thread *ret)
{
	bool has_frames;

	*ret = (struct lang_thread){.tid = tid};
	has_frames = inner_frame_add(m, tid, ret);
	for (uint32_t i = 0; i < m->replay.nhelpers && !ret->is_known; i++) {
		struct lang l;
		struct value v;

		if (!lang_at(m, i, &l))
			continue;
		ret->is_known = thread_ask(m, &l, tid, &v);
		if (!ret->is_known) {
			value_free(&v);
			continue;
		}
		ret->lang = l;
		ret->said = v;
		ret->word = thread_item(&v) ? thread_item(&v)->word : 0;
	}
	return has_frames || ret->is_known;
}

static void thread_free(struct lang_thread *t)
{
	value_free(&t->said);
	strbuf_deinit(&t->frame);
}

/* ---- owners ---------------------------------------------------------------------------------- */

/* Finds what the language has for the threads, once. */
static void owners_find(struct mdb *m, struct census *s)
{
	if (s->owners)
		return;
	s->owners = hashmap_create();
	for (uint32_t i = 0; i < m->tids.len && !m->is_interrupted; i++) {
		struct value v;

		if (thread_ask(m, &s->lang, m->tids.data[i], &v) && thread_item(&v))
			vec_push(&s->threads,
				 (struct census_thread){m->tids.data[i], thread_item(&v)->word});
		value_free(&v);
	}
}

/* The thread of which an address is a part: the nearest one at or before it; 0: none. */
static pid_t owner_near(const struct census *s, uint64_t addr)
{
	const struct census_thread *best = NULL;

	for (uint32_t i = 0; i < s->threads.len; i++) {
		const struct census_thread *t = &s->threads.data[i];

		if (addr - t->word < OWNER_SIZE_MAX && (!best || t->word > best->word))
			best = t;
	}
	return best ? best->tid : 0;
}

pid_t census_owner(struct mdb *m, struct census *s, const struct object_at *o)
{
	uint64_t page;
	uintptr_t known;
	struct value v;
	pid_t owner;

	owners_find(m, s);
	page = o->addr >> s->heap.owner_bits;
	known = (uintptr_t)hashmap_find(s->owners, &page, sizeof(page));
	if (known)
		return (pid_t)(known - 1);
	value_answer_read(s->lang.p, s->lang.h, HELPER_OWNER, o->addr, &v);
	owner = v.items.len && v.items.data[0].has_word ? owner_near(s, v.items.data[0].word) : 0;
	value_free(&v);
	hashmap_set(s->owners, &page, sizeof(page), (void *)((uintptr_t)owner + 1));
	return owner;
}

void census_owners_free(struct census *s)
{
	hashmap_destroy(s->owners);
	vec_deinit(&s->threads);
}

struct err *census_has_owners(const struct census *s)
{
	if (s->heap.owner_bits && s->heap.owner_bits <= OWNER_BITS_MAX)
		return NULL;
	return err_new("to which thread objects of this runtime belong is not described");
}

/* Counts the objects of each thread. */
static struct err *objects_count(struct mdb *m, struct lang_thread *threads, uint32_t n)
{
	struct census *s;
	struct err *e = census_get(m, &s);

	if (!e)
		e = census_has_owners(s);
	if (e)
		return e;
	for (uint32_t i = 0; i < s->objects.len && !m->is_interrupted; i++) {
		const struct object_at *o = &s->objects.data[i];
		pid_t owner = s->classes.data[o->class].group ? census_owner(m, s, o) : 0;

		for (uint32_t k = 0; owner && k < n; k++) {
			if (threads[k].tid != owner)
				continue;
			threads[k].objects++;
			threads[k].bytes += 8ull * o->words;
			break;
		}
	}
	return NULL;
}

/* ---- the command ----------------------------------------------------------------------------- */

/* What an item says, as it is. */
static void item_text_add(struct mdb *m, const struct lang *l, const struct value_item *item,
			  struct strbuf *out)
{
	const struct value_style style = {.items = 1, .text = 200, .is_one_line = true};
	struct value v;

	if (!item->has_word) {
		lang_said_add(m, l, &item->said, &style, out);
		return;
	}
	if (value_read(l->p, l->h, item->word, 1, &v) && v.said.is_text && !v.has_items)
		(void)value_characters_add(l->p, l->h, &v.said, style.text, out);
	else
		lang_value_add_short(m, l, item->word, out);
	value_free(&v);
}

/* A column: what the runtime says, or what the process has. */
static void column_emit(struct mdb *m, const struct lang_thread *t, const char *name,
			const char *other, int width)
{
	const struct value_item *item = value_item_find(&t->said, name);
	struct strbuf text = {0};

	if (item)
		item_text_add(m, &t->lang, item, &text);
	if (!text.len)
		strbuf_adds(&text, other);
	emit_bytes(&m->out, name, strbuf_text(&text), text.len, width);
	strbuf_deinit(&text);
}

/* What the runtime has said beyond the columns. */
static void details_emit(struct mdb *m, const struct lang_thread *t)
{
	for (uint32_t i = 0; i < t->said.items.len; i++) {
		const struct value_item *item = &t->said.items.data[i];
		struct strbuf text = {0}, clean = {0};

		if (item->kind != VALUE_ITEM || strcmp(item->name, "thread") == 0 ||
		    strcmp(item->name, "name") == 0 || strcmp(item->name, "state") == 0)
			continue;
		item_text_add(m, &t->lang, item, &text);
		emit_bytes(&m->out, item->name, strbuf_text(&text), text.len, 0);
		text_escape(&clean, strbuf_text(&text), text.len);
		emit_say(&m->out, "\n%12s %s: %s", "", item->name, strbuf_text(&clean));
		strbuf_deinit(&text);
		strbuf_deinit(&clean);
	}
}

static void thread_emit(struct mdb *m, const struct lang_thread *t, const struct call *c)
{
	struct target_who who = {0};

	(void)target_who(m->t, t->tid, &who); /* what is not known stays empty */
	emit_row(&m->out);
	emit_value(&m->out, (uint64_t)t->tid);
	emit_say(&m->out, "%s", t->tid == m->tid ? "* " : "  ");
	emit_int(&m->out, "tid", t->tid, 10);
	emit_str(&m->out, "language", t->lang.label, -4);
	if (t->word)
		emit_addr(&m->out, "thread", t->word, 16);
	else
		emit_say(&m->out, "%16s ", "-");
	column_emit(m, t, "name", *who.name ? who.name : "-", -16);
	column_emit(m, t, "state", thread_state_name(who.state), -10);
	if (c->opts['c']) {
		emit_int(&m->out, "objects", (int64_t)t->objects, 9);
		emit_int(&m->out, "bytes", (int64_t)t->bytes, 11);
	}
	emit_bytes(&m->out, "frame", t->frame.len ? strbuf_text(&t->frame) : "-",
		   MAX(t->frame.len, (size_t)1), 1);
	if (c->opts['v'])
		details_emit(m, t);
	emit_end(&m->out);
}

struct err *cmd_lthreads(struct mdb *m, const struct call *c)
{
	struct lang_thread *threads = xcalloc(m->tids.len + 1, sizeof(*threads));
	struct err *e = NULL;
	uint32_t n = 0;

	walks_begin(m);
	for (uint32_t i = 0; i < m->tids.len && !m->is_interrupted; i++) {
		if (thread_find(m, m->tids.data[i], &threads[n]))
			n++;
		else
			thread_free(&threads[n]);
	}
	if (!n)
		e = lang_missing_err(m);
	else if (c->opts['c'])
		e = objects_count(m, threads, n);
	if (!e)
		emit_say(&m->out, "  %10s %-4s %16s %-16s %-10s %s%s\n", "TID", "LANG", "THREAD",
			 "NAME", "STATE", c->opts['c'] ? "  OBJECTS       BYTES " : "", "FRAME");
	for (uint32_t i = 0; i < n; i++) {
		if (!e && !m->is_interrupted)
			thread_emit(m, &threads[i], c);
		thread_free(&threads[i]);
	}
	free(threads);
	return e;
}
