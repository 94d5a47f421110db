/* SPDX-License-Identifier: MIT */
/* Commands about the heap of glibc's malloc (heap.h): totals, chunks, the chunk of an address. */
#include <inttypes.h>

#include "mdb/heap.h"
#include "base/text.h"
#include "mdb/impl.h"

#define BAR 30 /* characters of the longest bar */

struct count {
	uint64_t n, bytes;
};

static void count_add(struct count *to, uint64_t bytes)
{
	to->n++;
	to->bytes += bytes;
}

static void count_emit(struct mdb *m, const char *n, const char *bytes, const struct count *c)
{
	emit_int(&m->out, n, (int64_t)c->n, 9);
	emit_int(&m->out, bytes, (int64_t)c->bytes, 12);
}

/* ---- what is wrong --------------------------------------------------------------------------- */

static void damage_row(struct mdb *m, const struct heap_damage *d)
{
	emit_row(&m->out);
	emit_say(&m->out, "damaged: ");
	emit_addr(&m->out, "damaged-at", d->at, 1);
	emit_say(&m->out, "%s: %" PRIx64, d->what, d->found);
	emit_str(&m->out, "damage", d->what, 0);
	emit_addr(&m->out, "found", d->found, 0);
	if (d->has_stopped && d->goes_on)
		emit_say(&m->out, "; chunks are known again from %" PRIx64 " on", d->goes_on);
	else if (d->has_stopped)
		emit_say(&m->out, "; no chunk behind it is known");
	if (d->goes_on)
		emit_addr(&m->out, "known-from", d->goes_on, 0);
	emit_end(&m->out);
}

void heap_notes_show(struct mdb *m, const struct heap *h)
{
	struct count mapped = {0};

	for (uint32_t i = 0; i < h->damages.len; i++)
		damage_row(m, &h->damages.data[i]);
	if (h->nhidden)
		emit_say(&m->out, "damaged: %" PRIu64 " more place%s\n", h->nhidden,
			 PLURAL(h->nhidden));
	if (h->is_cut)
		emit_say(&m->out, "there are more chunks: the first %u are shown\n", h->chunks.len);
	if (h->other)
		emit_say(&m->out, "what %s has given is not shown\n", h->other);
	for (uint32_t i = 0; i < h->chunks.len; i++)
		if (h->chunks.data[i].state == CHUNK_MMAPPED)
			count_add(&mapped, h->chunks.data[i].size);
	if (!h->has_counts || mapped.n == h->nmapped)
		return;
	emit_row(&m->out);
	emit_say(&m->out, "mmapped chunks: %" PRIu64 " %s found, malloc has counted ", mapped.n,
		 WORD_FOR(mapped.n, "was", "were"));
	emit_int(&m->out, "counted-mmapped", h->nmapped, 1);
	emit_end(&m->out);
}

/* ---- totals ---------------------------------------------------------------------------------- */

/* What an arena has, or all mmapped chunks, or the whole heap. */
struct total {
	struct count busy, cached, free;
	uint64_t top;
};

static void total_add(struct total *t, const struct chunk *c)
{
	switch (c->state) {
	case CHUNK_BUSY:
	case CHUNK_MMAPPED: count_add(&t->busy, c->size); break;
	case CHUNK_TCACHE:
	case CHUNK_FASTBIN: count_add(&t->cached, c->size); break;
	case CHUNK_FREE: count_add(&t->free, c->size); break;
	case CHUNK_TOP: t->top += c->size; break;
	case CHUNK_NSTATES: break;
	}
}

static void total_emit(struct mdb *m, const struct total *t)
{
	count_emit(m, "busy", "busy-bytes", &t->busy);
	count_emit(m, "cached", "cached-bytes", &t->cached);
	count_emit(m, "free", "free-bytes", &t->free);
	emit_int(&m->out, "top-bytes", (int64_t)t->top, 12);
}

static void totals_show(struct mdb *m, const struct heap *h)
{
	struct total *of = xcalloc(h->arenas.len + 1, sizeof(*of)), all = {0};
	struct total *mapped = &of[h->arenas.len];

	for (uint32_t i = 0; i < h->chunks.len; i++) {
		const struct chunk *c = &h->chunks.data[i];

		total_add(c->arena == NO_ARENA ? mapped : &of[c->arena], c);
		total_add(&all, c);
	}
	emit_say(&m->out, "%16s %9s %12s %9s %12s %9s %12s %12s %12s\n", "ARENA", "BUSY", "BYTES",
		 "CACHED", "BYTES", "FREE", "BYTES", "TOP", "SYSTEM");
	for (uint32_t i = 0; i < h->arenas.len; i++) {
		const struct heap_arena *a = &h->arenas.data[i];

		emit_row(&m->out);
		emit_value(&m->out, a->addr);
		emit_addr(&m->out, "arena", a->addr, 16);
		emit_bool(&m->out, "is-main", a->is_main);
		total_emit(m, &of[i]);
		emit_int(&m->out, "system-bytes", (int64_t)a->system, 12);
		emit_say(&m->out, "%s", a->is_main ? "main" : "");
		emit_end(&m->out);
	}
	if (!m->out.is_piped) {
		emit_row(&m->out);
		emit_str(&m->out, "total", "mmapped", 16);
		total_emit(m, mapped);
		emit_row(&m->out);
		emit_str(&m->out, "total", "all", 16);
		total_emit(m, &all);
		emit_end(&m->out);
	}
	free(of);
}

/* ---- sizes ----------------------------------------------------------------------------------- */

#define NCLASSES 64

/* The power of two up to which a size counts: 32, 64, ... */
static uint32_t class_of(uint64_t size)
{
	uint32_t class = 5;

	while (class < NCLASSES - 1 && size > 1ull << class)
		class ++;
	return class;
}

static void classes_show(struct mdb *m, const struct heap *h)
{
	struct total of[NCLASSES] = {0};
	uint32_t first = NCLASSES, last = 0;
	uint64_t most = 1;

	for (uint32_t i = 0; i < h->chunks.len; i++) {
		uint32_t class = class_of(h->chunks.data[i].size);

		if (h->chunks.data[i].state == CHUNK_TOP)
			continue;
		total_add(&of[class], &h->chunks.data[i]);
		most = MAX(most, of[class].busy.bytes);
		first = MIN(first, class);
		last = MAX(last, class);
	}
	emit_say(&m->out, "\n%16s %9s %12s %9s %12s  %s\n", "SIZE, UP TO", "BUSY", "BYTES", "FREED",
		 "BYTES", "BUSY BYTES");
	for (uint32_t i = first; i <= last; i++) {
		const struct count freed = {of[i].cached.n + of[i].free.n,
					    of[i].cached.bytes + of[i].free.bytes};

		emit_row(&m->out);
		emit_int(&m->out, "size", (int64_t)(1ull << i), 16);
		count_emit(m, "busy", "busy-bytes", &of[i].busy);
		count_emit(m, "freed", "freed-bytes", &freed);
		emit_say(&m->out, " |");
		for (uint64_t k = 0; k < BAR && (double)of[i].busy.bytes * BAR > (double)most * k;
		     k++)
			emit_say(&m->out, "@");
		emit_end(&m->out);
	}
}

struct err *cmd_malloc(struct mdb *m, const struct call *c)
{
	struct heap *h;
	struct err *e = heap_get(m, &h);

	if (e)
		return e;
	totals_show(m, h);
	if (m->out.is_piped)
		return NULL;
	classes_show(m, h);
	heap_notes_show(m, h);
	return NULL;
}

/* ---- chunks ---------------------------------------------------------------------------------- */

static void chunk_row(struct mdb *m, const struct chunk *c)
{
	emit_row(&m->out);
	emit_value(&m->out, chunk_memory(c));
	emit_addr(&m->out, "chunk", c->addr, 16);
	emit_addr(&m->out, "memory", chunk_memory(c), 16);
	emit_int(&m->out, "size", (int64_t)c->size, 12);
	emit_str(&m->out, "state", chunk_state_name(c->state), 1);
	emit_end(&m->out);
}

/* With -s the sums by state only, which stand behind the list otherwise. */
struct err *cmd_mallocbrk(struct mdb *m, const struct call *c)
{
	struct count of[CHUNK_NSTATES] = {0};
	struct heap *h;
	struct err *e = heap_get(m, &h);

	if (e)
		return e;
	if (!c->opts['s'])
		emit_say(&m->out, "%16s %16s %12s %s\n", "CHUNK", "MEMORY", "SIZE", "STATE");
	for (uint32_t i = 0; i < h->chunks.len && !m->is_interrupted; i++) {
		const struct chunk *k = &h->chunks.data[i];

		if (k->arena == NO_ARENA || !h->arenas.data[k->arena].is_main)
			continue;
		count_add(&of[k->state], k->size);
		if (!c->opts['s'])
			chunk_row(m, k);
	}
	if (m->out.is_piped)
		return NULL;
	emit_end(&m->out);
	emit_say(&m->out, "%-10s %9s %12s\n", "STATE", "CHUNKS", "BYTES");
	for (int i = 0; i < CHUNK_NSTATES; i++) {
		if (!of[i].n)
			continue;
		emit_row(&m->out);
		emit_str(&m->out, "state", chunk_state_name((enum chunk_state)i), -10);
		count_emit(m, "chunks", "bytes", &of[i]);
		emit_end(&m->out);
	}
	heap_notes_show(m, h);
	return NULL;
}

void chunk_tell(struct mdb *m, const struct heap *h, const struct chunk *c, taddr addr)
{
	taddr memory = chunk_memory(c);

	if (addr < memory)
		emit_say(&m->out, "in the header before %" PRIx64, memory);
	else if (addr > memory)
		emit_say(&m->out, "%" PRIx64 "+0x%" PRIx64, memory, addr - memory);
	else
		emit_say(&m->out, "memory");
	emit_addr(&m->out, "memory", memory, 0);
	emit_say(&m->out, " of a ");
	emit_str(&m->out, "state", chunk_state_name(c->state), 1);
	emit_say(&m->out, "chunk of ");
	emit_int(&m->out, "size", (int64_t)c->size, 1);
	emit_say(&m->out, "bytes at ");
	emit_addr(&m->out, "chunk", c->addr, 1);
	if (chunk_is_busy(c))
		emit_say(&m->out, "(%" PRIu64 " usable) ", chunk_usable(c));
	emit_int(&m->out, "usable", (int64_t)chunk_usable(c), 0);
	if (c->arena == NO_ARENA)
		return;
	emit_say(&m->out, "in %s ", h->arenas.data[c->arena].is_main ? "main arena" : "arena");
	emit_addr(&m->out, "arena", h->arenas.data[c->arena].addr, 1);
}

struct err *cmd_chunk(struct mdb *m, const struct call *c)
{
	const struct chunk *at;
	struct heap *h;
	struct err *e = heap_get(m, &h);

	if (e)
		return e;
	at = heap_chunk_at(h, c->addr);
	if (!at)
		return err_hint(err_new("0x%" PRIx64 " is in no chunk of malloc", c->addr),
				"ADDR::whatis tells what it is in");
	emit_row(&m->out);
	emit_value(&m->out, chunk_memory(at));
	emit_addr(&m->out, "address", c->addr, 1);
	emit_say(&m->out, "is ");
	chunk_tell(m, h, at, c->addr);
	emit_end(&m->out);
	return NULL;
}

/* ---- walks ----------------------------------------------------------------------------------- */

/* Hands on the memory of chunks: of the arena at the address, or of all. */
static struct err *chunks_walk(struct mdb *m, const struct call *c, bool with_busy, bool with_freed)
{
	struct heap *h;
	struct err *e = heap_get(m, &h);

	for (uint32_t i = 0; !e && i < h->chunks.len && !m->is_interrupted; i++) {
		const struct chunk *k = &h->chunks.data[i];
		taddr memory = chunk_memory(k);

		if (k->state == CHUNK_TOP || !(chunk_is_busy(k) ? with_busy : with_freed))
			continue;
		if (c->has_addr &&
		    (k->arena == NO_ARENA || h->arenas.data[k->arena].addr != c->addr))
			continue;
		emit_row(&m->out);
		emit_value(&m->out, memory);
		emit_addr(&m->out, "value", memory, 1);
		emit_end(&m->out);
	}
	return e;
}

struct err *walk_chunks(struct mdb *m, const struct call *c)
{
	return chunks_walk(m, c, true, true);
}

struct err *walk_busy(struct mdb *m, const struct call *c)
{
	return chunks_walk(m, c, true, false);
}

struct err *walk_freed(struct mdb *m, const struct call *c)
{
	return chunks_walk(m, c, false, true);
}

struct err *walk_arenas(struct mdb *m, const struct call *c)
{
	struct heap *h;
	struct err *e = heap_get(m, &h);

	for (uint32_t i = 0; !e && i < h->arenas.len; i++) {
		emit_row(&m->out);
		emit_value(&m->out, h->arenas.data[i].addr);
		emit_addr(&m->out, "value", h->arenas.data[i].addr, 1);
		emit_end(&m->out);
	}
	return e;
}
