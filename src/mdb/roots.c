/* SPDX-License-Identifier: MIT */
/*
 * Where a language's objects are held from outside of its heap: stacks and registers of threads,
 * and native memory, where runtimes keep their handles.
 *
 * What counts is as in leaks.c: stacks from the stack pointer on, chunks of malloc that are busy,
 * the data of files, and mappings in which the census has found no objects. The rest of a heap is
 * not searched: copies of objects that were moved or freed are there.
 *
 * Of a runtime that does not say how objects are recognised, but where they are, native memory is
 * left out but for the data of files: most of it are parts of objects.
 */
#include "mdb/roots.h"

#include <inttypes.h>

#include "base/sorted.h"
#include "mdb/heap.h"
#include "mdb/whatis.h"

#define PIECE	      65536u
#define VARIABLES_MAX 1000000u

/* A walk over roots. */
struct root_walk {
	struct mdb *m;
	const struct census *s;
	struct heap *h; /* NULL: there is none */
	taddr *sps;	/* of the threads, 0: not known */
	root_visit *visit;
	void *ctx;
};

static bool map_has_objects(const struct census *s, const struct proc_map *map)
{
	uint32_t lo = sorted_below(s->objects.data, s->objects.len, addr, map->start);

	return lo < s->objects.len && s->objects.data[lo].addr < map->end;
}

/* Where the part of a stack begins that is in use; 0: no stack is there. */
static taddr stack_live(const struct root_walk *w, const struct proc_map *map)
{
	taddr least = 0;

	for (uint32_t i = 0; i < w->m->tids.len; i++)
		if (w->sps[i] >= map->start && w->sps[i] < map->end &&
		    (!least || w->sps[i] < least))
			least = w->sps[i];
	return least ? least - MIN(least - map->start, (taddr)STACK_RED_ZONE) : 0;
}

/* Visits the words of memory that is there. */
static void range_walk(const struct root_walk *w, taddr start, taddr end)
{
	CLEANUP(free) uint64_t *words = xmalloc(PIECE);

	for (taddr at = start; at < end && !w->m->is_interrupted;) {
		size_t n = memory_some(w->m, at, words, (size_t)MIN(end - at, (taddr)PIECE));

		for (size_t i = 0; i < n / 8; i++)
			if (words[i])
				w->visit(w->ctx, at + 8 * i, words[i]);
		at = n >= 8 ? at + n / 8 * 8 : memory_skip(w->m, at);
	}
}

/* Busy chunks of malloc; without: NULL, or chunks that have its objects are left out. */
static void chunks_walk(const struct root_walk *w, const struct census *without)
{
	for (uint32_t i = 0; w->h && i < w->h->chunks.len && !w->m->is_interrupted; i++) {
		const struct chunk *c = &w->h->chunks.data[i];

		if (chunk_is_busy(c) &&
		    !(without && census_has_objects(without, chunk_memory(c), chunk_usable(c))))
			range_walk(w, chunk_memory(c), chunk_memory(c) + chunk_usable(c) / 8 * 8);
	}
}

static bool map_is_malloced(const struct root_walk *w, const struct proc_map *map)
{
	for (uint32_t i = 0; w->h && i < w->h->spans.len; i++)
		if (w->h->spans.data[i].start < map->end && w->h->spans.data[i].end > map->start)
			return true;
	return false;
}

static void maps_walk(const struct root_walk *w)
{
	const struct proc_maps *maps = target_maps(w->m->t);

	for (uint32_t i = 0; i < maps->maps.len && !w->m->is_interrupted; i++) {
		const struct proc_map *map = &maps->maps.data[i];
		taddr live;

		if (!map->is_write || map->is_shared || !map_is_low(map) || map_is_malloced(w, map))
			continue;
		live = stack_live(w, map);
		if (live || proc_map_has_file(map) ||
		    (w->s->heap.is_scan && !map_has_objects(w->s, map)))
			range_walk(w, live ? live : map->start, map->end);
	}
}

static void registers_walk(const struct root_walk *w)
{
	for (uint32_t i = 0; i < w->m->tids.len; i++) {
		struct arch_regs regs;
		struct err *e = target_regs(w->m->t, w->m->tids.data[i], &regs);

		if (e) {
			err_destroy(e);
			continue;
		}
		w->sps[i] = regs.words[arch.sp / 8];
		for (uint32_t k = 0; k < arch.nregs; k++)
			w->visit(w->ctx, 0, regs.words[k]);
	}
}

void roots_walk(struct mdb *m, const struct census *s, root_visit *visit, void *ctx)
{
	struct root_walk w = {.m = m, .s = s, .visit = visit, .ctx = ctx};
	struct err *e = heap_get(m, &w.h);

	if (e)
		w.h = NULL;
	err_destroy(e);
	/* Of a runtime whose objects have memory of malloc, that is no root. */
	w.sps = xcalloc(m->tids.len + 1, sizeof(*w.sps));
	registers_walk(&w);
	if (s->heap.is_scan)
		chunks_walk(&w, NULL);
	maps_walk(&w);
	free(w.sps);
}

void roots_walk_blocks(struct mdb *m, const struct census *s, root_visit *visit, void *ctx)
{
	struct root_walk w = {.m = m, .s = s, .visit = visit, .ctx = ctx};
	struct err *e = heap_get(m, &w.h);

	if (!e)
		chunks_walk(&w, s);
	err_destroy(e);
}

/* ---- variables ------------------------------------------------------------------------------- */

/* Notes the variables of a frame of the language. */
static void frame_variables_note(struct census *s, pid_t tid, uint32_t number,
				 const struct frame *f)
{
	for (uint32_t i = 0; i < f->locals.len; i++) {
		const struct value_local *local = &f->locals.data[i];
		struct strbuf text = {0}, name = {0};

		if (local->kind == LOCAL_SELF)
			strbuf_adds(&name, s->lang.self);
		else if (local->kind == LOCAL_ARG)
			strbuf_addf(&name, "argument %" PRIu64, local->key);
		else if (local->kind == LOCAL_VARIABLE)
			value_name_add(s->lang.p, s->lang.h, local->key, &name);
		else if (local->kind == LOCAL_EXCEPTION)
			strbuf_adds(&name, "the exception");
		else
			strbuf_adds(&name, "the function");
		strbuf_addf(&text, "%s in frame %u of thread %d: %s", strbuf_text(&name), number,
			    (int)tid, f->text + (*f->text == '@'));
		vec_push(&s->variables,
			 (struct variable_root){local->word, xstrdup(strbuf_text(&text))});
		strbuf_deinit(&text);
		strbuf_deinit(&name);
	}
}

void roots_name(struct mdb *m, struct census *s)
{
	if (s->has_variables)
		return;
	s->has_variables = true;
	for (uint32_t i = 0; i < m->tids.len && !m->is_interrupted; i++) {
		struct stack stack;

		stack_take(m, m->tids.data[i], &stack);
		for (uint32_t k = 0; k < stack.frames.len; k++) {
			const struct frame *f = &stack.frames.data[k];

			if (f->kind == REPLAY_LANGUAGE && f->text && f->part == s->lang.part &&
			    s->variables.len < VARIABLES_MAX)
				frame_variables_note(s, m->tids.data[i], k, f);
		}
		stack_free(&stack);
	}
}

void roots_free(struct census *s)
{
	for (uint32_t i = 0; i < s->variables.len; i++)
		free(s->variables.data[i].text);
	vec_deinit(&s->variables);
}

void root_place_add(struct mdb *m, taddr at, struct strbuf *out)
{
	const struct proc_map *map = proc_maps_find(target_maps(m->t), at);
	struct heap *h;
	struct err *e;
	uint32_t frame;
	pid_t owner;

	if (!at) {
		strbuf_adds(out, "a register of a thread");
		return;
	}
	owner = map && !proc_map_has_file(map) ? stack_owner(m, map, at) : 0;
	if (owner) {
		strbuf_addf(out, "the stack of thread %d", (int)owner);
		if (frame_of(m, owner, at, &frame))
			strbuf_addf(out, ", frame %u", frame);
		return;
	}
	e = heap_get(m, &h);
	if (!e && heap_chunk_at(h, at)) {
		const struct chunk *c = heap_chunk_at(h, at);

		strbuf_addf(out, "native memory, a chunk of malloc of %" PRIu64 " bytes", c->size);
	} else if (!mdb_name_add(m, at, false, out)) {
		strbuf_adds(out, "native memory");
	}
	err_destroy(e);
}
