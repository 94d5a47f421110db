/* SPDX-License-Identifier: MIT */
/* Searches for what holds chunks of malloc (reach.h). */
#include "mdb/reach.h"

#include <elf.h>

#include "mdb/impl.h"
#include "mdb/whatis.h"

#define PIECE	     65536u
#define GRAIN_SHIFT  24
#define BLOCK	     16384u /* bytes of memory that are read for a small chunk, and kept */
#define NBLOCKS	     4096u
#define PTHREAD_SIZE 4096u  /* at most, of glibc's struct pthread, which the thread pointer names */
#define ABOVE_MAX    65536u /* bytes of a stack above a thread pointer, at most */

/* Memory that was read for chunks: chunks that hold one another are often neighbours. */
struct reach_block {
	taddr at;
	size_t len;
	uint8_t bytes[BLOCK];
};

/* ---- words ----------------------------------------------------------------------------------- */

/* Most words are no pointers, or lead to memory that is far from any chunk. */
static void near_make(struct reach *r)
{
	uint64_t n = 1ull << (arch.user_bits - GRAIN_SHIFT);

	r->near = xcalloc((size_t)n / 8, 1);
	for (uint32_t i = 0; i < r->h->spans.len; i++) {
		const struct heap_span *s = &r->h->spans.data[i];

		for (uint64_t k = s->start >> GRAIN_SHIFT;
		     k <= (s->end - 1) >> GRAIN_SHIFT && k < n; k++)
			r->near[k / 8] |= (uint8_t)(1u << k % 8);
	}
}

static bool word_is_near(const struct reach *r, uint64_t word)
{
	uint64_t grain = word >> GRAIN_SHIFT;

	return word >> arch.user_bits == 0 && r->near[grain / 8] >> grain % 8 & 1;
}

/* The busy chunk to whose memory a word points; NO_CHUNK: it points to none. */
static uint32_t pointee_find(const struct reach *r, uint64_t word)
{
	const struct chunk *c = word_is_near(r, word) ? heap_chunk_at(r->h, word) : NULL;

	if (!c || !chunk_is_busy(c) || word < chunk_memory(c) ||
	    word - chunk_memory(c) >= chunk_usable(c))
		return NO_CHUNK;
	return (uint32_t)(c - r->h->chunks.data);
}

static void word_see(struct reach *r, uint32_t in, taddr at, uint64_t word, reach_found *found)
{
	uint32_t to = pointee_find(r, word);

	if (to != NO_CHUNK)
		found(r, in, at, to);
}

static void chunk_mark(struct reach *r, uint32_t in, taddr at, uint32_t to)
{
	if (r->marks[to] & REACH_MARK)
		return;
	r->marks[to] |= REACH_MARK;
	if (r->holds)
		r->holds[to] = (struct reach_hold){.by = in, .at = at};
	vec_push(&r->todo, to);
}

/* In a copy of a process, private memory without a file that is not there was never written to. */
static bool memory_is_blank(const struct reach *r, taddr at)
{
	const struct proc_map *map = proc_maps_find(target_maps(r->m->t), at);

	return r->m->opts.is_copy && map && !map->is_shared && !proc_map_has_file(map);
}

static void words_search(struct reach *r, uint32_t in, taddr start, taddr end, reach_found *found)
{
	taddr at = ROUND_UP(start, 8);

	while (at < end && end - at >= 8 && !r->m->is_interrupted) {
		size_t want = (size_t)MIN((uint64_t)PIECE, end - at);
		size_t n = memory_some(r->m, at, r->piece, want);
		taddr next = n >= 8 ? at + n / 8 * 8 : MIN(memory_skip(r->m, at), end);

		for (size_t i = 0; i + 8 <= n; i += 8)
			word_see(r, in, at + i, word_at(r->piece, i), found);
		if (in == NO_CHUNK && (n >= 8 || !memory_is_blank(r, at)))
			*(n >= 8 ? &r->searched : &r->missing) += next - at;
		at = next;
	}
}

/* The block with all of some memory; NULL: it is in several, or not all of it is there. */
static const struct reach_block *block_read(struct reach *r, taddr at, uint64_t size)
{
	taddr begin = at / BLOCK * BLOCK;
	struct reach_block **slot = &r->blocks[begin / BLOCK % NBLOCKS];

	if (size > BLOCK - (at - begin))
		return NULL;
	if (!*slot)
		*slot = xcalloc(1, sizeof(**slot));
	if ((*slot)->at != begin) {
		(*slot)->at = begin;
		(*slot)->len = memory_some(r->m, begin, (*slot)->bytes, BLOCK);
	}
	return at - begin + size <= (*slot)->len ? *slot : NULL;
}

bool reach_read(struct reach *r, taddr at, void *to, size_t size)
{
	const struct reach_block *b = block_read(r, at, size);

	if (!b)
		return mdb_read(r->m, at, to, size);
	memcpy(to, b->bytes + (at - b->at), size);
	return true;
}

void reach_chunk(struct reach *r, uint32_t chunk, reach_found *found)
{
	const struct chunk *c = &r->h->chunks.data[chunk];
	const struct reach_block *b = block_read(r, chunk_memory(c), chunk_usable(c));

	for (uint64_t k = 0; b && k < chunk_usable(c); k += 8)
		word_see(r, chunk, chunk_memory(c) + k,
			 word_at(b->bytes, (size_t)(chunk_memory(c) - b->at + k)), found);
	if (!b)
		words_search(r, chunk, chunk_memory(c), chunk_memory(c) + chunk_usable(c), found);
}

void reach_add(struct reach *r, uint32_t chunk)
{
	vec_push(&r->todo, chunk);
}

/* Where chains are to be short, chunks are searched in the order in which they were met. */
static uint32_t todo_take(struct reach *r)
{
	return r->holds ? r->todo.data[r->next++] : r->todo.data[--r->todo.len];
}

uint64_t reach_rest(struct reach *r, reach_found *found)
{
	uint64_t bytes = 0;

	while (r->next < r->todo.len && !r->m->is_interrupted) {
		uint32_t i = todo_take(r);

		bytes += r->h->chunks.data[i].size;
		reach_chunk(r, i, found);
	}
	r->todo.len = r->next = 0;
	return bytes;
}

/* ---- what is no root ------------------------------------------------------------------------- */

static void skip_add(struct reach *r, taddr start, taddr end)
{
	if (start < end)
		vec_push(&r->skips, (struct reach_range){start, end});
}

static void skip_dead(struct reach *r, taddr start, taddr end)
{
	if (start >= end)
		return;
	skip_add(r, start, end);
	r->dead += end - start;
}

/*
 * Finds the stack that glibc has made for a thread by the members of its struct pthread:
 * stackblock, stackblock_size, guardsize. Returns where it begins; 0: it is not found.
 */
static taddr stack_begin(struct reach *r, taddr tp, taddr sp)
{
	size_t n = memory_some(r->m, tp, r->piece, PTHREAD_SIZE);

	for (size_t i = 0; i + 24 <= n; i += 8) {
		uint64_t block = word_at(r->piece, i), size = word_at(r->piece, i + 8);
		uint64_t guard = word_at(r->piece, i + 16);

		if (block && block < sp && size > tp - block && size - (tp - block) <= ABOVE_MAX &&
		    guard < sp - block && block <= UINT64_MAX - size)
			return block + guard;
	}
	return 0;
}

/* The address of bytes that the kernel has put on the first thread's stack; 0: not known. */
static taddr random_find(struct reach *r)
{
	Elf64_auxv_t auxv[64] = {0};
	size_t n = target_auxv(r->m->t, auxv, sizeof(auxv)) / sizeof(*auxv);

	for (size_t i = 0; i < n; i++)
		if (auxv[i].a_type == AT_RANDOM)
			return auxv[i].a_un.a_val;
	return 0;
}

/* Notes the registers of a thread, which are roots; what is below the stack pointer is none. */
static void thread_note(struct reach *r, pid_t tid, taddr random)
{
	const struct proc_map *map;
	struct arch_regs regs;
	struct err *e = target_regs(r->m->t, tid, &regs);
	taddr sp, begin = 0;

	if (e) {
		err_destroy(e); /* a thread that has ended has no roots */
		return;
	}
	for (uint32_t i = 0; i < arch.nregs; i++)
		vec_push(&r->registers, regs.words[i]);
	vec_push(&r->registers, regs.thread_pointer);
	sp = regs.words[arch.sp / 8];
	map = proc_maps_find(target_maps(r->m->t), sp);
	if (map && random > sp && random < map->end)
		begin = map->start;
	else if (map && regs.thread_pointer > sp)
		begin = stack_begin(r, regs.thread_pointer, sp);
	if (begin)
		skip_dead(r, MAX(begin, map->start), sp - MIN(sp, (taddr)STACK_RED_ZONE));
}

static int range_compare(const void *a, const void *b)
{
	const struct reach_range *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

static void skips_make(struct reach *r)
{
	const struct heap *h = r->h;
	taddr random = random_find(r);
	uint32_t n = 0;

	for (uint32_t i = 0; i < h->chunks.len;) {
		taddr start = h->chunks.data[i].addr, end = start;

		while (i < h->chunks.len && h->chunks.data[i].addr == end)
			end += h->chunks.data[i++].size;
		skip_add(r, start, end);
	}
	for (uint32_t i = 0; i < h->arenas.len; i++)
		skip_add(r, h->arenas.data[i].addr, h->arenas.data[i].addr + ARENA_SIZE);
	for (uint32_t i = 0; i < r->m->tids.len; i++)
		thread_note(r, r->m->tids.data[i], random);
	qsort(r->skips.data, r->skips.len, sizeof(*r->skips.data), range_compare);
	for (uint32_t i = 1; i < r->skips.len; i++) {
		struct reach_range *last = &r->skips.data[n];

		if (r->skips.data[i].start <= last->end)
			last->end = MAX(last->end, r->skips.data[i].end);
		else
			r->skips.data[++n] = r->skips.data[i];
	}
	r->skips.len = n + 1; /* there is an arena at least */
}

/* ---- roots ----------------------------------------------------------------------------------- */

/* Whether a mapping can hold pointers; the data of a file is behind what was made read-only. */
static bool map_has_roots(const struct proc_maps *maps, uint32_t i)
{
	const struct proc_map *map = &maps->maps.data[i];

	if (!map_is_low(map))
		return false;
	if (map->is_write)
		return true;
	return !map->is_exec && proc_map_has_file(map) && i + 1 < maps->maps.len &&
	       map[1].is_write && map[1].start == map->end && proc_map_is_same_file(map, map + 1);
}

/* Whether a mapping is data of a file, also the zeroed part of it (.bss), which follows it. */
static bool map_is_data(const struct proc_maps *maps, uint32_t i)
{
	const struct proc_map *map = &maps->maps.data[i];

	if (proc_map_has_file(map))
		return true;
	return i && !map->path[0] && map[-1].end == map->start && map[-1].is_write &&
	       proc_map_has_file(map - 1);
}

static void map_search(struct reach *r, taddr at, taddr end, uint32_t *skip)
{
	while (at < end && !r->m->is_interrupted) {
		taddr until = end;

		while (*skip < r->skips.len && r->skips.data[*skip].end <= at)
			++*skip;
		if (*skip < r->skips.len)
			until = MIN(end, MAX(at, r->skips.data[*skip].start));
		words_search(r, NO_CHUNK, at, until, chunk_mark);
		at = *skip < r->skips.len && until < end ? r->skips.data[*skip].end : until;
	}
}

/* Searches the data of files, or all other memory that is no chunk. */
static void maps_search(struct reach *r, bool wants_data)
{
	const struct proc_maps *maps = target_maps(r->m->t);
	uint32_t skip = 0;

	for (uint32_t i = 0; i < maps->maps.len; i++) {
		const struct proc_map *map = &maps->maps.data[i];

		if (!map_has_roots(maps, i) || map_is_data(maps, i) != wants_data)
			continue;
		while (skip && r->skips.data[skip - 1].end > map->start)
			skip--; /* it goes on from the mapping before */
		map_search(r, map->start, map->end, &skip);
	}
}

/* What the data of files holds is known before other roots are searched: it has names. */
static void roots_search(struct reach *r)
{
	maps_search(r, true);
	if (r->holds)
		(void)reach_rest(r, chunk_mark);
	maps_search(r, false);
	for (uint32_t i = 0; i < r->registers.len; i++)
		word_see(r, NO_CHUNK, 0, r->registers.data[i], chunk_mark);
	(void)reach_rest(r, chunk_mark);
}

struct err *reach_make(struct mdb *m, enum reach_how how, struct reach *r)
{
	struct err *e;

	*r = (struct reach){.m = m};
	e = heap_get(m, &r->h);
	if (e)
		return e;
	r->piece = xmalloc(PIECE);
	r->blocks = xcalloc(NBLOCKS, sizeof(struct reach_block *));
	if (how == REACH_NOTHING)
		return NULL;
	r->marks = xcalloc(r->h->chunks.len + 1, 1);
	if (how == REACH_HOLDS)
		r->holds = xcalloc(r->h->chunks.len + 1, sizeof(*r->holds));
	near_make(r);
	skips_make(r);
	roots_search(r);
	return NULL;
}

void reach_deinit(struct reach *r)
{
	vec_deinit(&r->todo);
	vec_deinit(&r->skips);
	vec_deinit(&r->registers);
	free(r->marks);
	free(r->holds);
	free(r->piece);
	free(r->near);
	for (uint32_t i = 0; r->blocks && i < NBLOCKS; i++)
		free(r->blocks[i]);
	free(r->blocks);
}
