/* SPDX-License-Identifier: MIT */
/* What fires: each mapping, thread, frame, chunk and object of the target, one after another. */
#include "remains/impl.h"

#include "mdb/lang.h"

#define SLICE_NS 20000000u /* of firing before records are shown, and signals looked at */

/* ---- memory that clauses read ---------------------------------------------------------------- */

/* Copies bytes of a text and of the zeros behind it. */
static void text_copy(const char *text, uint64_t off, void *buf, uint32_t size)
{
	size_t len = strlen(text), n = off < len ? MIN((size_t)size, len - off) : 0;

	if (n)
		memcpy(buf, text + off, n);
	memset((char *)buf + n, 0, size - n);
}

bool event_load(const struct remains_run *r, uint64_t addr, void *buf, uint32_t size)
{
	uint64_t off = addr - EVENT_AT, text = off / EVENT_TEXT_ROOM;

	if (off < sizeof(r->event.words) && size <= sizeof(r->event.words) - off) {
		memcpy(buf, (const char *)r->event.words + off, size);
		return true;
	}
	if (addr < EVENT_AT || !text || text > EVENT_TEXTS || !r->event.texts[text - 1] ||
	    size > EVENT_TEXT_ROOM - off % EVENT_TEXT_ROOM)
		return false;
	text_copy(r->event.texts[text - 1], off % EVENT_TEXT_ROOM, buf, size);
	return true;
}

struct thread_facts *event_thread(struct remains_run *r)
{
	struct thread_facts *t = &r->thread;

	if (t->tid == r->event.tid)
		return t;
	*t = (struct thread_facts){.tid = r->event.tid};
	(void)target_who(r->m->t, t->tid, &t->who); /* zeros, if the target does not know */
	return t;
}

/* ---- firing ---------------------------------------------------------------------------------- */

static const struct unit_probe *probe_of(const struct remains_run *r, uint32_t key)
{
	for (uint32_t i = 0; r->unit && i < r->unit->nprobes; i++)
		if (r->unit->probes[i].key == key)
			return &r->unit->probes[i];
	return NULL;
}

static bool is_wanted(const struct remains_run *r, uint32_t key)
{
	return probe_of(r, key) != NULL;
}

/* Begins an event: the first words are `words`, the next ones the addresses of the texts. */
static void event_set(struct remains_run *r, uint32_t key, const uint64_t *words, uint32_t nwords,
		      const char *const *texts, uint32_t ntexts)
{
	struct event *e = &r->event;

	*e = (struct event){.key = key, .tid = r->m->tids.len ? r->m->tids.data[0] : 0};
	memcpy(e->words, words, nwords * sizeof(*words));
	for (uint32_t i = 0; i < ntexts; i++) {
		e->texts[i] = texts[i];
		e->words[nwords + i] = EVENT_TEXT(i);
	}
}

static void event_fire(struct remains_run *r)
{
	const struct unit_probe *p = probe_of(r, r->event.key);

	if (p)
		unit_fire(r, r->unit, p);
}

/* ---- mappings -------------------------------------------------------------------------------- */

static bool mapping_fire(struct remains_run *r)
{
	const struct proc_maps *maps = target_maps(r->m->t);
	const char *texts[2];
	const struct proc_map *map;
	char perms[4] = "";

	if (r->at >= maps->maps.len)
		return false;
	map = &maps->maps.data[r->at];
	perms[0] = map->is_write ? 'w' : '-';
	perms[1] = map->is_exec ? 'x' : '-';
	perms[2] = map->is_shared ? 's' : 'p';
	texts[0] = map->path;
	texts[1] = perms;
	event_set(r, REMAINS_MAPPING, (uint64_t[]){map->start, map->end, map->off, map->in_core}, 4,
		  texts, 2);
	r->event.args[0] = map->start;
	r->event.args[1] = map->end - map->start;
	event_fire(r);
	return true;
}

/* ---- threads and frames ---------------------------------------------------------------------- */

static void stack_forget(struct remains_run *r)
{
	if (r->stack_tid)
		stack_free(&r->stack);
	r->stack_tid = 0;
}

static void stack_need(struct remains_run *r, pid_t tid)
{
	if (r->stack_tid == tid)
		return;
	stack_forget(r);
	stack_take(r->m, tid, &r->stack);
	r->stack_tid = tid;
}

static bool thread_fire(struct remains_run *r)
{
	const target_tids *tids = &r->m->tids;
	struct arch_regs regs = {0};
	struct thread_facts *t;
	const char *texts[1];
	struct err *e;

	if (r->at >= tids->len)
		return false;
	e = target_regs(r->m->t, tids->data[r->at], &regs);
	err_destroy(e); /* then they are zeros */
	stack_need(r, tids->data[r->at]);
	event_set(r, REMAINS_THREAD,
		  (uint64_t[]){(uint64_t)tids->data[r->at], regs.words[arch.pc / 8],
			       regs.words[arch.sp / 8], r->at == 0},
		  4, NULL, 0);
	r->event.tid = tids->data[r->at];
	t = event_thread(r);
	texts[0] = t->who.name;
	r->event.texts[0] = texts[0];
	r->event.words[4] = EVENT_TEXT(0);
	r->event.args[0] = (uint64_t)r->event.tid;
	r->event.args[1] = regs.words[arch.pc / 8];
	r->event.stack = &r->stack;
	event_fire(r);
	return true;
}

/* "libc.so.6`abort+0xd3" in its parts; of a language, all of it is the function. */
static void frame_name_split(const struct remains_run *r, bool is_language, struct strbuf *function,
			     struct strbuf *object)
{
	const char *name = strbuf_text(&r->texts[0]), *at = is_language ? NULL : strchr(name, '`');
	const char *rest = at ? at + 1 : name, *end = strrchr(rest, '+');

	strbuf_clear(function);
	strbuf_clear(object);
	if (at)
		strbuf_add(object, name, (size_t)(at - name));
	if (is_language || !end || strncmp(end, "+0x", 3) != 0)
		strbuf_adds(function, rest);
	else
		strbuf_add(function, rest, (size_t)(end - rest));
}

/* The frames of a thread, from the innermost one. */
static void frames_of_thread_fire(struct remains_run *r, uint32_t i)
{
	const struct frame *f = &r->stack.frames.data[i];
	bool is_language = f->kind == REPLAY_LANGUAGE;
	const char *texts[3];

	strbuf_clear(&r->texts[0]);
	frame_name_add(r->m, f, &r->texts[0]);
	frame_name_split(r, is_language, &r->texts[1], &r->texts[2]);
	for (uint32_t k = 0; k < 3; k++)
		texts[k] = strbuf_text(&r->texts[k]);
	event_set(r, i ? REMAINS_CALLER : REMAINS_FRAME,
		  (uint64_t[]){f->pc, f->sp, f->fp, i, is_language}, 5, texts, 3);
	r->event.tid = r->stack_tid;
	r->event.args[0] = f->pc;
	r->event.args[1] = i;
	r->event.stack = &r->stack;
	r->event.frame = i;
	event_fire(r);
}

static bool frames_fire(struct remains_run *r)
{
	uint32_t thread = (uint32_t)(r->at >> 32), frame = (uint32_t)r->at;

	if (thread >= r->m->tids.len)
		return false;
	stack_need(r, r->m->tids.data[thread]);
	if (frame < r->stack.frames.len)
		frames_of_thread_fire(r, frame);
	if (frame + 1 >= r->stack.frames.len || !is_wanted(r, REMAINS_CALLER))
		r->at = ((uint64_t)thread + 1) << 32;
	else
		r->at++;
	return true;
}

/* ---- chunks of malloc ------------------------------------------------------------------------ */

static struct err *chunk_fire(struct remains_run *r, bool *ret_is_over)
{
	const struct chunk *c;
	const char *state;
	struct heap *h;
	struct err *e = heap_get(r->m, &h);

	if (e)
		return e;
	*ret_is_over = r->at >= h->chunks.len;
	if (*ret_is_over)
		return NULL;
	c = &h->chunks.data[r->at++];
	state = chunk_state_name(c->state);
	event_set(r, chunk_is_busy(c) ? REMAINS_BUSY : REMAINS_FREE,
		  (uint64_t[]){chunk_memory(c), chunk_usable(c), c->size,
			       c->arena == NO_ARENA ? UINT64_MAX : c->arena},
		  4, &state, 1);
	r->event.args[0] = chunk_memory(c);
	r->event.args[1] = chunk_usable(c);
	event_fire(r);
	return NULL;
}

/* ---- objects of languages -------------------------------------------------------------------- */

static struct err *object_fire(struct remains_run *r, bool *ret_is_over)
{
	struct census_object o;
	struct err *e = census_object_next(r->m, &r->at, &o, ret_is_over);
	const char *texts[3];

	if (e || *ret_is_over)
		return e;
	strbuf_clear(&r->texts[0]);
	strbuf_add(&r->texts[0], o.shape, strcspn(o.shape, ":"));
	texts[0] = strbuf_text(&r->texts[0]);
	texts[1] = o.shape;
	texts[2] = o.language;
	event_set(r, REMAINS_OBJECT + o.number, (uint64_t[]){o.word, o.bytes}, 2, texts, 3);
	r->event.args[0] = o.word;
	r->event.args[1] = o.bytes;
	event_fire(r);
	return NULL;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static bool stage_is_wanted(const struct remains_run *r)
{
	switch (r->stage) {
	case STAGE_MAPPINGS: return is_wanted(r, REMAINS_MAPPING);
	case STAGE_THREADS: return is_wanted(r, REMAINS_THREAD);
	case STAGE_FRAMES: return is_wanted(r, REMAINS_FRAME) || is_wanted(r, REMAINS_CALLER);
	case STAGE_CHUNKS: return is_wanted(r, REMAINS_BUSY) || is_wanted(r, REMAINS_FREE);
	case STAGE_OBJECTS:
		for (uint32_t i = 0; r->unit && i < r->unit->nprobes; i++)
			if (r->unit->probes[i].key >= REMAINS_OBJECT)
				return true;
		return false;
	case STAGE_OVER: break;
	}
	return false;
}

/* Fires the next event of a stage; *ret_is_over: there was none. */
static struct err *stage_step(struct remains_run *r, bool *ret_is_over)
{
	switch (r->stage) {
	case STAGE_MAPPINGS:
		*ret_is_over = !mapping_fire(r);
		r->at++;
		return NULL;
	case STAGE_THREADS:
		*ret_is_over = !thread_fire(r);
		r->at++;
		return NULL;
	case STAGE_FRAMES: *ret_is_over = !frames_fire(r); return NULL;
	case STAGE_CHUNKS: return chunk_fire(r, ret_is_over);
	case STAGE_OBJECTS: return object_fire(r, ret_is_over);
	case STAGE_OVER: break;
	}
	*ret_is_over = true;
	return NULL;
}

/* Whether the records have to be shown before more are made. */
static bool is_full(struct remains_run *r)
{
	if (r->nbytes < r->run.bufsize)
		return false;
	if (r->stops_when_full && r->run.control->state == RT_STATE_ON)
		r->run.control->state = RT_STATE_EXITING;
	return true;
}

struct err *events_run(struct remains_run *r)
{
	uint64_t until = now_ns() + SLICE_NS;
	struct err *e = NULL;

	while (!e && r->stage != STAGE_OVER && r->run.control->state == RT_STATE_ON) {
		bool is_over = !stage_is_wanted(r);

		if (!is_over)
			e = stage_step(r, &is_over);
		if (is_over) {
			r->stage++;
			r->at = 0;
		}
		if (is_full(r) || now_ns() >= until)
			break;
	}
	return e;
}

void events_deinit(struct remains_run *r)
{
	stack_forget(r);
	for (uint32_t i = 0; i < EVENT_TEXTS; i++)
		strbuf_deinit(&r->texts[i]);
}
