/* SPDX-License-Identifier: MIT */
/* Finds leaks (leaks.h), and has the command ::findleaks. */
#include "mdb/leaks.h"

#include <inttypes.h>

#include "mdb/impl.h"

enum {
	IS_POINTED = 2, /* by a chunk that has leaked, too */
	IS_TAKEN = 4,	/* its bytes are counted */
};

/* ---- leaks ----------------------------------------------------------------------------------- */

static bool chunk_has_leaked(const struct reach *r, uint32_t i)
{
	return chunk_is_busy(&r->h->chunks.data[i]) && !(r->marks[i] & REACH_MARK);
}

static void chunk_point(struct reach *r, uint32_t in, taddr at, uint32_t to)
{
	if (to != in && !(r->marks[to] & REACH_MARK))
		r->marks[to] |= IS_POINTED;
}

static void chunk_take(struct reach *r, uint32_t in, taddr at, uint32_t to)
{
	if (r->marks[to] & (REACH_MARK | IS_TAKEN))
		return;
	r->marks[to] |= IS_TAKEN;
	reach_add(r, to);
}

static void leak_add(struct leaks *l, uint32_t i)
{
	l->reach.marks[i] |= IS_TAKEN;
	reach_add(&l->reach, i);
	vec_push(&l->list, (struct leak){.chunk = i, .held = reach_rest(&l->reach, chunk_take)});
}

static void chunks_count(struct leaks *l)
{
	const struct heap *h = l->reach.h;

	for (uint32_t i = 0; i < h->chunks.len; i++) {
		if (!chunk_is_busy(&h->chunks.data[i]))
			continue;
		l->nbusy++;
		l->nbusy_bytes += h->chunks.data[i].size;
		if (!chunk_has_leaked(&l->reach, i))
			continue;
		l->nchunks++;
		l->nbytes += h->chunks.data[i].size;
	}
}

struct err *leaks_make(struct mdb *m, struct leaks *l)
{
	struct reach *r = &l->reach;
	struct err *e;
	uint32_t n;

	*l = (struct leaks){0};
	e = reach_make(m, REACH_MARKS, r);
	if (e)
		return e;
	n = r->h->chunks.len;
	for (uint32_t i = 0; i < n && !m->is_interrupted; i++)
		if (chunk_has_leaked(r, i))
			reach_chunk(r, i, chunk_point);
	for (uint32_t i = 0; i < n && !m->is_interrupted; i++)
		if (chunk_has_leaked(r, i) && !(r->marks[i] & (IS_POINTED | IS_TAKEN)))
			leak_add(l, i);
	for (uint32_t i = 0; i < n && !m->is_interrupted; i++)
		if (chunk_has_leaked(r, i) && !(r->marks[i] & IS_TAKEN))
			leak_add(l, i);
	chunks_count(l);
	return NULL;
}

void leaks_deinit(struct leaks *l)
{
	reach_deinit(&l->reach);
	vec_deinit(&l->list);
}

/* ---- output ---------------------------------------------------------------------------------- */

/* The first word of a leak, if that is an address in a file: a table of functions; 0: it is not. */
static taddr first_word(struct leaks *l, const struct leak *k)
{
	uint64_t word;

	if (reach_read(&l->reach, chunk_memory(&l->reach.h->chunks.data[k->chunk]), &word,
		       sizeof(word)) &&
	    mdb_object_at(l->reach.m, word))
		return word;
	return 0;
}

static void class_emit(struct mdb *m, taddr class)
{
	struct strbuf name = {0};

	if (class && mdb_name_add(m, class, false, &name))
		emit_bytes(&m->out, "first-word", strbuf_text(&name), name.len, 1);
	strbuf_deinit(&name);
}

static void leaks_list(struct leaks *l)
{
	struct mdb *m = l->reach.m;

	if (l->list.len)
		emit_say(&m->out, "%16s %12s %12s %s\n", "MEMORY", "SIZE", "HOLDS", "FIRST WORD");
	for (uint32_t i = 0; i < l->list.len && !m->is_interrupted; i++) {
		const struct chunk *c = &l->reach.h->chunks.data[l->list.data[i].chunk];

		emit_row(&m->out);
		emit_value(&m->out, chunk_memory(c));
		emit_addr(&m->out, "memory", chunk_memory(c), 16);
		emit_int(&m->out, "size", (int64_t)c->size, 12);
		emit_int(&m->out, "holds", (int64_t)l->list.data[i].held, 12);
		class_emit(m, first_word(l, &l->list.data[i]));
		emit_end(&m->out);
	}
}

/* Leaks of one size, and of one class where that is known. */
struct group {
	uint64_t size, count, bytes, held;
	taddr class, memory; /* memory: of the first */
};
typedef VEC(struct group) group_list;

static int group_same_compare(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	if (x->size != y->size)
		return x->size < y->size ? -1 : 1;
	if (x->class != y->class)
		return x->class < y->class ? -1 : 1;
	return (x->memory > y->memory) - (x->memory < y->memory);
}

static int group_held_compare(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	if (x->held != y->held)
		return x->held > y->held ? -1 : 1;
	return (x->memory > y->memory) - (x->memory < y->memory);
}

static void groups_make(struct leaks *l, group_list *ret)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < l->list.len; i++) {
		const struct leak *k = &l->list.data[i];
		const struct chunk *c = &l->reach.h->chunks.data[k->chunk];

		vec_push(ret, (struct group){.size = c->size,
					     .count = 1,
					     .bytes = c->size,
					     .held = k->held,
					     .class = first_word(l, k),
					     .memory = chunk_memory(c)});
	}
	if (!ret->len)
		return;
	qsort(ret->data, ret->len, sizeof(*ret->data), group_same_compare);
	for (uint32_t i = 1; i < ret->len; i++) {
		struct group *to = &ret->data[n], *from = &ret->data[i];

		if (to->size == from->size && to->class == from->class) {
			to->count++;
			to->bytes += from->bytes;
			to->held += from->held;
		} else {
			ret->data[++n] = *from;
		}
	}
	ret->len = n + 1;
	qsort(ret->data, ret->len, sizeof(*ret->data), group_held_compare);
}

static void groups_show(struct leaks *l)
{
	struct mdb *m = l->reach.m;
	group_list groups = {0};

	groups_make(l, &groups);
	if (groups.len)
		emit_say(&m->out, "%12s %9s %12s %12s %16s %s\n", "SIZE", "COUNT", "BYTES", "HOLD",
			 "FOR EXAMPLE", "FIRST WORD");
	for (uint32_t i = 0; i < groups.len && !m->is_interrupted; i++) {
		const struct group *g = &groups.data[i];

		emit_row(&m->out);
		emit_value(&m->out, g->memory);
		emit_int(&m->out, "size", (int64_t)g->size, 12);
		emit_int(&m->out, "count", (int64_t)g->count, 9);
		emit_int(&m->out, "bytes", (int64_t)g->bytes, 12);
		emit_int(&m->out, "hold", (int64_t)g->held, 12);
		emit_addr(&m->out, "memory", g->memory, 16);
		class_emit(m, g->class);
		emit_end(&m->out);
	}
	vec_deinit(&groups);
}

static void sums_show(struct leaks *l, bool is_verbose)
{
	struct mdb *m = l->reach.m;

	emit_row(&m->out);
	emit_say(&m->out, "nothing points to ");
	emit_int(&m->out, "leaks", l->list.len, 1);
	emit_say(&m->out, "of ");
	emit_int(&m->out, "busy-chunks", (int64_t)l->nbusy, 1);
	emit_say(&m->out, "busy chunks; with what they hold, ");
	emit_int(&m->out, "leaked-chunks", (int64_t)l->nchunks, 1);
	emit_say(&m->out, "chunks of ");
	emit_int(&m->out, "leaked-bytes", (int64_t)l->nbytes, 1);
	emit_say(&m->out, "bytes have leaked");
	emit_end(&m->out);
	if (is_verbose) {
		emit_row(&m->out);
		emit_say(&m->out, "searched: registers of ");
		emit_int(&m->out, "threads", m->tids.len, 1);
		emit_say(&m->out, "threads, ");
		emit_int(&m->out, "searched-bytes", (int64_t)l->reach.searched, 1);
		emit_say(&m->out, "bytes that are no chunks; not searched: ");
		emit_int(&m->out, "dead-stack-bytes", (int64_t)l->reach.dead, 1);
		emit_say(&m->out, "bytes below stack pointers");
		emit_end(&m->out);
	}
	if (!l->reach.missing)
		return;
	emit_row(&m->out);
	emit_say(&m->out, "missing: ");
	emit_int(&m->out, "missing-bytes", (int64_t)l->reach.missing, 1);
	emit_say(&m->out, "bytes that may have pointers to these chunks cannot be read");
	emit_end(&m->out);
}

/* -d: each leak, -v: what was searched. */
struct err *cmd_findleaks(struct mdb *m, const struct call *c)
{
	struct leaks l;
	struct err *e = leaks_make(m, &l);

	if (!e && !m->is_interrupted) {
		if (c->opts['d'])
			leaks_list(&l);
		else
			groups_show(&l);
	}
	if (!e && !m->is_interrupted && !m->out.is_piped) {
		sums_show(&l, c->opts['v']);
		heap_notes_show(m, l.reach.h);
	}
	leaks_deinit(&l);
	return e;
}
