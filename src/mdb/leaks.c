/* SPDX-License-Identifier: MIT */
/*
 * Leaks: busy chunks of malloc to which nothing points.
 *
 * The search is conservative: whatever looks like an address in the memory of a chunk holds the
 * chunk, and what is in it. It begins with the roots:
 *
 *     registers of all threads
 *     all writable memory that is no chunk: data of files, stacks, thread-local memory, mappings
 *     data of files that were made read-only when the dynamic linker was done with them
 *
 * without the arenas themselves, and without what is below the stack pointer of a thread, where
 * calls that have returned left their pointers. In memory that is freed, nothing counts.
 *
 * Of a list that has leaked, nothing but its begin is pointed to by nobody: the others are held by
 * it, and count as its memory. Of a ring, the chunk with the lowest address stands for it.
 */
#include <elf.h>
#include <inttypes.h>

#include "mdb/heap.h"
#include "mdb/impl.h"

#define PIECE	     65536u
#define GRAIN_SHIFT  24
#define BLOCK	     16384u /* bytes of memory that are read for a small chunk, and kept */
#define NBLOCKS	     4096u
#define RED_ZONE     128u   /* bytes below a stack pointer that are in use: SysV AMD64 ABI 3.2.2 */
#define PTHREAD_SIZE 4096u  /* at most, of glibc's struct pthread, which the thread pointer names */
#define ABOVE_MAX    65536u /* bytes of a stack above a thread pointer, at most */

enum {
	IS_REACHED = 1,
	IS_POINTED = 2, /* by a chunk that has leaked, too */
	IS_TAKEN = 4,	/* its bytes are counted */
};

struct range {
	taddr start, end;
};

/* Memory that was read for chunks: chunks that hold one another are often neighbours. */
struct block {
	taddr at;
	size_t len;
	uint8_t bytes[BLOCK];
};

struct leaks {
	struct mdb *m;
	struct heap *h;
	uint8_t *marks;		 /* of each chunk */
	VEC(uint32_t) todo;	 /* chunks to search */
	VEC(struct range) skips; /* ascending, apart: no roots are there */
	uint8_t *piece;
	struct block **blocks; /* by address, modulo NBLOCKS */
	uint8_t *
		near; /* of each GRAIN bytes of the address space a bit: whether chunks are there */
	uint64_t searched, missing, dead; /* bytes of roots */
};

/* A chunk that has leaked, and that no other one holds. */
struct leak {
	uint32_t chunk;
	uint64_t held; /* bytes of it, and of what it holds */
	taddr class;   /* its first word, if that is an address in a file: a table of functions */
};
typedef VEC(struct leak) leak_list;

/* ---- words ----------------------------------------------------------------------------------- */

/* Most words are no pointers, or lead to memory that is far from any chunk. */
static void near_make(struct leaks *l)
{
	uint64_t n = 1ull << (arch.user_bits - GRAIN_SHIFT);

	l->near = xcalloc((size_t)n / 8, 1);
	for (uint32_t i = 0; i < l->h->spans.len; i++) {
		const struct heap_span *s = &l->h->spans.data[i];

		for (uint64_t k = s->start >> GRAIN_SHIFT;
		     k <= (s->end - 1) >> GRAIN_SHIFT && k < n; k++)
			l->near[k / 8] |= (uint8_t)(1u << k % 8);
	}
}

static bool word_is_near(const struct leaks *l, uint64_t word)
{
	uint64_t grain = word >> GRAIN_SHIFT;

	return word >> arch.user_bits == 0 && l->near[grain / 8] >> grain % 8 & 1;
}

/* The busy chunk to whose memory a word points; UINT32_MAX: it points to none. */
static uint32_t pointee_find(const struct leaks *l, uint64_t word)
{
	const struct chunk *c = heap_chunk_at(l->h, word);

	if (!c || !chunk_is_busy(c) || word < chunk_memory(c) ||
	    word - chunk_memory(c) >= chunk_usable(c))
		return UINT32_MAX;
	return (uint32_t)(c - l->h->chunks.data);
}

/* Notes that a word was found, which is part of a chunk or of a root, UINT32_MAX. */
typedef void word_found(struct leaks *l, uint32_t in, uint64_t word);

static void word_reach(struct leaks *l, uint32_t in, uint64_t word)
{
	uint32_t to = pointee_find(l, word);

	if (to == UINT32_MAX || l->marks[to] & IS_REACHED)
		return;
	l->marks[to] |= IS_REACHED;
	vec_push(&l->todo, to);
}

static void word_point(struct leaks *l, uint32_t in, uint64_t word)
{
	uint32_t to = pointee_find(l, word);

	if (to != UINT32_MAX && to != in && !(l->marks[to] & IS_REACHED))
		l->marks[to] |= IS_POINTED;
}

static void word_take(struct leaks *l, uint32_t in, uint64_t word)
{
	uint32_t to = pointee_find(l, word);

	if (to == UINT32_MAX || l->marks[to] & (IS_REACHED | IS_TAKEN))
		return;
	l->marks[to] |= IS_TAKEN;
	vec_push(&l->todo, to);
}

static void words_search(struct leaks *l, uint32_t in, taddr start, taddr end, word_found *found)
{
	taddr at = ROUND_UP(start, 8);

	while (at < end && end - at >= 8 && !l->m->is_interrupted) {
		size_t want = (size_t)MIN((uint64_t)PIECE, end - at);
		size_t n = memory_some(l->m, at, l->piece, want);
		taddr next = n >= 8 ? at + n / 8 * 8 : MIN(memory_skip(l->m, at), end);

		for (size_t i = 0; i + 8 <= n; i += 8)
			if (word_is_near(l, word_at(l->piece, i)))
				found(l, in, word_at(l->piece, i));
		if (in == UINT32_MAX)
			*(n >= 8 ? &l->searched : &l->missing) += next - at;
		at = next;
	}
}

/* The block with all of some memory; NULL: it is in several, or not all of it is there. */
static const struct block *block_read(struct leaks *l, taddr at, uint64_t size)
{
	taddr begin = at / BLOCK * BLOCK;
	struct block **slot = &l->blocks[begin / BLOCK % NBLOCKS];

	if (size > BLOCK - (at - begin))
		return NULL;
	if (!*slot)
		*slot = xcalloc(1, sizeof(**slot));
	if ((*slot)->at != begin) {
		(*slot)->at = begin;
		(*slot)->len = memory_some(l->m, begin, (*slot)->bytes, BLOCK);
	}
	return at - begin + size <= (*slot)->len ? *slot : NULL;
}

static void chunk_search(struct leaks *l, uint32_t i, word_found *found)
{
	const struct chunk *c = &l->h->chunks.data[i];
	const struct block *b = block_read(l, chunk_memory(c), chunk_usable(c));

	for (uint64_t k = 0; b && k < chunk_usable(c); k += 8) {
		uint64_t word = word_at(b->bytes, (size_t)(chunk_memory(c) - b->at + k));

		if (word_is_near(l, word))
			found(l, i, word);
	}
	if (!b)
		words_search(l, i, chunk_memory(c), chunk_memory(c) + chunk_usable(c), found);
}

/* Searches what is to be searched, and what is found there; returns the bytes of all chunks. */
static uint64_t todo_search(struct leaks *l, word_found *found)
{
	uint64_t bytes = 0;

	while (l->todo.len && !l->m->is_interrupted) {
		uint32_t i = l->todo.data[--l->todo.len];

		bytes += l->h->chunks.data[i].size;
		chunk_search(l, i, found);
	}
	return bytes;
}

/* ---- roots ----------------------------------------------------------------------------------- */

static void skip_add(struct leaks *l, taddr start, taddr end)
{
	if (start < end)
		vec_push(&l->skips, (struct range){start, end});
}

static void skip_dead(struct leaks *l, taddr start, taddr end)
{
	if (start >= end)
		return;
	skip_add(l, start, end);
	l->dead += end - start;
}

/*
 * Finds the stack that glibc has made for a thread by the members of its struct pthread:
 * stackblock, stackblock_size, guardsize. Returns where it begins; 0: it is not found.
 */
static taddr stack_begin(struct leaks *l, taddr tp, taddr sp)
{
	size_t n = memory_some(l->m, tp, l->piece, PTHREAD_SIZE);

	for (size_t i = 0; i + 24 <= n; i += 8) {
		uint64_t block = word_at(l->piece, i), size = word_at(l->piece, i + 8);
		uint64_t guard = word_at(l->piece, i + 16);

		if (block && block < sp && size > tp - block && size - (tp - block) <= ABOVE_MAX &&
		    guard < sp - block && block <= UINT64_MAX - size)
			return block + guard;
	}
	return 0;
}

/* The address of bytes that the kernel has put on the first thread's stack; 0: not known. */
static taddr random_find(struct leaks *l)
{
	Elf64_auxv_t auxv[64] = {0};
	size_t n = target_auxv(l->m->t, auxv, sizeof(auxv)) / sizeof(*auxv);

	for (size_t i = 0; i < n; i++)
		if (auxv[i].a_type == AT_RANDOM)
			return auxv[i].a_un.a_val;
	return 0;
}

/* Registers are roots; what is below the stack pointer is none. */
static void thread_search(struct leaks *l, pid_t tid, taddr random)
{
	const struct proc_map *map;
	struct arch_regs regs;
	struct err *e = target_regs(l->m->t, tid, &regs);
	taddr sp, begin = 0;

	if (e) {
		err_destroy(e); /* a thread that has ended has no roots */
		return;
	}
	for (uint32_t i = 0; i < arch.nregs; i++)
		word_reach(l, UINT32_MAX, regs.words[i]);
	word_reach(l, UINT32_MAX, regs.thread_pointer);
	sp = regs.words[arch.sp / 8];
	map = proc_maps_find(target_maps(l->m->t), sp);
	if (map && random > sp && random < map->end)
		begin = map->start;
	else if (map && regs.thread_pointer > sp)
		begin = stack_begin(l, regs.thread_pointer, sp);
	if (begin)
		skip_dead(l, MAX(begin, map->start), sp - MIN(sp, (taddr)RED_ZONE));
}

static int range_compare(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

static void skips_make(struct leaks *l)
{
	const struct heap *h = l->h;
	taddr random = random_find(l);
	uint32_t n = 0;

	for (uint32_t i = 0; i < h->chunks.len;) {
		taddr start = h->chunks.data[i].addr, end = start;

		while (i < h->chunks.len && h->chunks.data[i].addr == end)
			end += h->chunks.data[i++].size;
		skip_add(l, start, end);
	}
	for (uint32_t i = 0; i < h->arenas.len; i++)
		skip_add(l, h->arenas.data[i].addr, h->arenas.data[i].addr + ARENA_SIZE);
	for (uint32_t i = 0; i < l->m->tids.len; i++)
		thread_search(l, l->m->tids.data[i], random);
	qsort(l->skips.data, l->skips.len, sizeof(*l->skips.data), range_compare);
	for (uint32_t i = 1; i < l->skips.len; i++) {
		struct range *last = &l->skips.data[n];

		if (l->skips.data[i].start <= last->end)
			last->end = MAX(last->end, l->skips.data[i].end);
		else
			l->skips.data[++n] = l->skips.data[i];
	}
	l->skips.len = n + 1; /* there is an arena at least */
}

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

static void roots_search(struct leaks *l)
{
	const struct proc_maps *maps = target_maps(l->m->t);
	uint32_t k = 0;

	for (uint32_t i = 0; i < maps->maps.len; i++) {
		taddr at = maps->maps.data[i].start, end = maps->maps.data[i].end;

		if (!map_has_roots(maps, i))
			continue;
		if (k && l->skips.data[k - 1].end > at)
			k--; /* it goes on from the mapping before */
		while (at < end && !l->m->is_interrupted) {
			taddr until = end;

			while (k < l->skips.len && l->skips.data[k].end <= at)
				k++;
			if (k < l->skips.len)
				until = MIN(end, MAX(at, l->skips.data[k].start));
			words_search(l, UINT32_MAX, at, until, word_reach);
			at = k < l->skips.len && until < end ? l->skips.data[k].end : until;
		}
	}
}

/* ---- leaks ----------------------------------------------------------------------------------- */

static bool chunk_has_leaked(const struct leaks *l, uint32_t i)
{
	return chunk_is_busy(&l->h->chunks.data[i]) && !(l->marks[i] & IS_REACHED);
}

static void leak_add(struct leaks *l, uint32_t i, leak_list *ret)
{
	struct leak leak = {.chunk = i};
	uint64_t word;

	l->marks[i] |= IS_TAKEN;
	vec_push(&l->todo, i);
	leak.held = todo_search(l, word_take);
	if (mdb_read(l->m, chunk_memory(&l->h->chunks.data[i]), &word, sizeof(word)) &&
	    mdb_object_at(l->m, word))
		leak.class = word;
	vec_push(ret, leak);
}

static void leaks_find(struct leaks *l, leak_list *ret)
{
	uint32_t n = l->h->chunks.len;

	skips_make(l);
	roots_search(l);
	(void)todo_search(l, word_reach);
	for (uint32_t i = 0; i < n && !l->m->is_interrupted; i++)
		if (chunk_has_leaked(l, i))
			chunk_search(l, i, word_point);
	for (uint32_t i = 0; i < n && !l->m->is_interrupted; i++)
		if (chunk_has_leaked(l, i) && !(l->marks[i] & (IS_POINTED | IS_TAKEN)))
			leak_add(l, i, ret);
	for (uint32_t i = 0; i < n && !l->m->is_interrupted; i++)
		if (chunk_has_leaked(l, i) && !(l->marks[i] & IS_TAKEN))
			leak_add(l, i, ret);
}

/* ---- output ---------------------------------------------------------------------------------- */

static void class_emit(struct mdb *m, taddr class)
{
	struct strbuf name = {0};

	if (class && mdb_name_add(m, class, false, &name))
		emit_bytes(&m->out, "first-word", strbuf_text(&name), name.len, 1);
	strbuf_deinit(&name);
}

static void leaks_list(struct leaks *l, const leak_list *list)
{
	struct mdb *m = l->m;

	if (list->len)
		emit_say(&m->out, "%16s %12s %12s %s\n", "MEMORY", "SIZE", "HOLDS", "FIRST WORD");
	for (uint32_t i = 0; i < list->len && !m->is_interrupted; i++) {
		const struct chunk *c = &l->h->chunks.data[list->data[i].chunk];

		emit_row(&m->out);
		emit_value(&m->out, chunk_memory(c));
		emit_addr(&m->out, "memory", chunk_memory(c), 16);
		emit_int(&m->out, "size", (int64_t)c->size, 12);
		emit_int(&m->out, "holds", (int64_t)list->data[i].held, 12);
		class_emit(m, list->data[i].class);
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

static void groups_make(const struct leaks *l, const leak_list *list, group_list *ret)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < list->len; i++) {
		const struct leak *k = &list->data[i];
		const struct chunk *c = &l->h->chunks.data[k->chunk];

		vec_push(ret, (struct group){.size = c->size,
					     .count = 1,
					     .bytes = c->size,
					     .held = k->held,
					     .class = k->class,
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

static void groups_show(struct leaks *l, const leak_list *list)
{
	struct mdb *m = l->m;
	group_list groups = {0};

	groups_make(l, list, &groups);
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

static void sums_show(struct leaks *l, const leak_list *list, bool is_verbose)
{
	struct mdb *m = l->m;
	uint64_t n = 0, bytes = 0, busy = 0;

	for (uint32_t i = 0; i < l->h->chunks.len; i++) {
		busy += chunk_is_busy(&l->h->chunks.data[i]);
		if (!chunk_has_leaked(l, i))
			continue;
		n++;
		bytes += l->h->chunks.data[i].size;
	}
	emit_row(&m->out);
	emit_say(&m->out, "nothing points to ");
	emit_int(&m->out, "leaks", list->len, 1);
	emit_say(&m->out, "of ");
	emit_int(&m->out, "busy-chunks", (int64_t)busy, 1);
	emit_say(&m->out, "busy chunks; with what they hold, ");
	emit_int(&m->out, "leaked-chunks", (int64_t)n, 1);
	emit_say(&m->out, "chunks of ");
	emit_int(&m->out, "leaked-bytes", (int64_t)bytes, 1);
	emit_say(&m->out, "bytes have leaked");
	emit_end(&m->out);
	if (is_verbose) {
		emit_row(&m->out);
		emit_say(&m->out, "searched: registers of ");
		emit_int(&m->out, "threads", l->m->tids.len, 1);
		emit_say(&m->out, "threads, ");
		emit_int(&m->out, "searched-bytes", (int64_t)l->searched, 1);
		emit_say(&m->out, "bytes that are no chunks; not searched: ");
		emit_int(&m->out, "dead-stack-bytes", (int64_t)l->dead, 1);
		emit_say(&m->out, "bytes below stack pointers");
		emit_end(&m->out);
	}
	if (!l->missing)
		return;
	emit_row(&m->out);
	emit_say(&m->out, "missing: ");
	emit_int(&m->out, "missing-bytes", (int64_t)l->missing, 1);
	emit_say(&m->out, "bytes that may have pointers to these chunks cannot be read");
	emit_end(&m->out);
}

/* -d: each leak, -v: what was searched. */
struct err *cmd_findleaks(struct mdb *m, const struct call *c)
{
	struct leaks l = {.m = m};
	leak_list list = {0};
	struct err *e = heap_get(m, &l.h);

	if (e)
		return e;
	l.marks = xcalloc(l.h->chunks.len + 1, 1);
	l.piece = xmalloc(PIECE);
	l.blocks = xcalloc(NBLOCKS, sizeof(struct block *));
	near_make(&l);
	leaks_find(&l, &list);
	if (!m->is_interrupted) {
		if (c->opts['d'])
			leaks_list(&l, &list);
		else
			groups_show(&l, &list);
	}
	if (!m->is_interrupted && !m->out.is_piped) {
		sums_show(&l, &list, c->opts['v']);
		heap_notes_show(m, l.h);
	}
	vec_deinit(&list);
	vec_deinit(&l.todo);
	vec_deinit(&l.skips);
	free(l.marks);
	free(l.piece);
	free(l.near);
	for (uint32_t i = 0; i < NBLOCKS; i++)
		free(l.blocks[i]);
	free(l.blocks);
	return NULL;
}
