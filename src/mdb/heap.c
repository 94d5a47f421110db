/* SPDX-License-Identifier: MIT */
/* Walks the chunks of glibc's malloc (heap.h). */
#include "mdb/heap.h"

#include "base/sorted.h"
#include "mdb/impl.h"

#define PAGE	    4096u
#define HEAP_ALIGN  (64ull << 20)
#define CHUNKS_MAX  (1u << 25)
#define DAMAGES_MAX 1000u
#define HEAPS_MAX   65536u
#define WINDOW	    65536u
#define ALIGN_MAX   (4u << 20) /* of mmapped memory that was asked for with an alignment */

const char *chunk_state_name(enum chunk_state s)
{
	switch (s) {
	case CHUNK_BUSY: return "busy";
	case CHUNK_MMAPPED: return "mmapped";
	case CHUNK_TCACHE: return "tcache";
	case CHUNK_FASTBIN: return "fastbin";
	case CHUNK_FREE: return "free";
	case CHUNK_TOP: return "top";
	case CHUNK_NSTATES: break;
	}
	return "?";
}

void heap_damage_add(struct heap *h, taddr at, const char *what, uint64_t found, bool has_stopped,
		     taddr goes_on)
{
	if (h->damages.len >= DAMAGES_MAX) {
		h->nhidden++;
		return;
	}
	vec_push(&h->damages, (struct heap_damage){.at = at,
						   .what = what,
						   .found = found,
						   .has_stopped = has_stopped,
						   .goes_on = goes_on});
}

/* ---- memory ---------------------------------------------------------------------------------- */

bool map_is_low(const struct proc_map *map)
{
	return map->end <= 1ull << arch.user_bits;
}

size_t memory_some(struct mdb *m, taddr addr, void *to, size_t size)
{
	const struct proc_map *map = proc_maps_find(target_maps(m->t), addr);
	uint64_t there = map ? map->end - addr : 0;
	size_t n;

	/* Of memory without a file, a core file has only the first in_core bytes. */
	if (map && m->opts.core && !proc_map_has_file(map))
		there = map->in_core > addr - map->start ? map->in_core - (addr - map->start) : 0;
	n = (size_t)MIN((uint64_t)size, there);
	if (n && mdb_read(m, addr, to, n))
		return n;
	n = MIN(n, (size_t)(PAGE - addr % PAGE));
	return n && mdb_read(m, addr, to, n) ? n : 0;
}

/*
 * A process may lack single pages. What a core file lacks of a mapping is its end, and of memory
 * that is shared, such as that of a device, the rest is not tried.
 */
taddr memory_skip(struct mdb *m, taddr addr)
{
	const struct proc_map *map = proc_maps_find(target_maps(m->t), addr);

	if (map && (m->opts.core || map->is_shared))
		return map->end;
	return (addr / PAGE + 1) * PAGE;
}

/* A buffer for reading that goes forward. */
struct window {
	struct mdb *m;
	taddr at;
	size_t len;
	uint8_t bytes[WINDOW];
};

/* Reads the two words of a header. */
static bool header_read(struct window *w, taddr at, uint64_t ret[2])
{
	if (at < w->at || at - w->at + CHUNK_HEADER > w->len) {
		w->at = at;
		w->len = memory_some(w->m, at, w->bytes, WINDOW);
		if (w->len < CHUNK_HEADER)
			return mdb_read(w->m, at, ret, CHUNK_HEADER);
	}
	memcpy(ret, w->bytes + (at - w->at), CHUNK_HEADER);
	return true;
}

/* ---- spans ----------------------------------------------------------------------------------- */

static bool map_is_memory(const struct proc_map *map)
{
	return map->is_write && !map->is_shared && !proc_map_has_file(map) && map_is_low(map);
}

/* The memory without a file around an address, which may be several mappings; false: none is. */
static bool region_find(struct heap *h, taddr addr, taddr *ret_start, taddr *ret_end)
{
	const struct proc_maps *maps = target_maps(h->m->t);
	const struct proc_map *map = proc_maps_find(maps, addr);
	uint32_t first, last;

	if (!map || !map->is_write || map->is_shared || !map_is_low(map))
		return false;
	first = last = (uint32_t)(map - maps->maps.data);
	while (first && map_is_memory(&maps->maps.data[first - 1]) &&
	       maps->maps.data[first - 1].end == maps->maps.data[first].start)
		first--;
	while (last + 1 < maps->maps.len && map_is_memory(&maps->maps.data[last + 1]) &&
	       maps->maps.data[last + 1].start == maps->maps.data[last].end)
		last++;
	*ret_start = maps->maps.data[first].start;
	*ret_end = maps->maps.data[last].end;
	return true;
}

static void span_add(struct heap *h, uint32_t arena, taddr start, taddr end)
{
	if (start < end)
		vec_push(&h->spans, (struct heap_span){.arena = arena, .start = start, .end = end});
}

static bool span_contains(const struct heap *h, taddr addr)
{
	for (uint32_t i = 0; i < h->spans.len; i++)
		if (addr >= h->spans.data[i].start && addr < h->spans.data[i].end)
			return true;
	return false;
}

/* Whether a header can be that of the first chunk of a main arena's memory. */
static bool first_is_here(struct heap *h, taddr at, taddr end)
{
	uint64_t head[2];

	return mdb_read(h->m, at, head, sizeof(head)) && SIZE_OF(head[1]) >= CHUNK_SIZE_MIN &&
	       SIZE_OF(head[1]) % 16 == 0 && SIZE_OF(head[1]) <= end - at &&
	       IS_PREV_BUSY(head[1]) && !IS_MMAPPED(head[1]) && !IS_NOT_MAIN(head[1]);
}

/* The memory around a chunk of a main arena: from the first chunk that can be found on. */
static void main_span_add(struct heap *h, uint32_t arena, taddr chunk)
{
	taddr start, end, base = ROUND_UP(h->sbrk_base, 16), top = h->arenas.data[arena].top;
	uint64_t head[2];

	if (span_contains(h, chunk) || !region_find(h, chunk, &start, &end))
		return;
	if (base >= start && base <= chunk)
		start = base;
	else if (!first_is_here(h, start, end))
		start = chunk;
	if (top >= start && top < end && mdb_read(h->m, top, head, sizeof(head)) &&
	    SIZE_OF(head[1]) < end - top)
		end = top + MAX(SIZE_OF(head[1]), (uint64_t)CHUNK_HEADER);
	span_add(h, arena, start, end);
}

/* What a main arena has: around its end, and around free chunks, if sbrk() has failed once. */
static void main_spans(struct heap *h, uint32_t arena)
{
	const struct heap_arena *a = &h->arenas.data[arena];
	taddr last = 0;

	if (a->top && a->top != ARENA_BIN(a->addr, 0))
		main_span_add(h, arena, a->top);
	for (uint32_t i = 0; a->is_scattered && i < h->known.len; i++) {
		taddr at = h->known.data[i];
		uint64_t head[2];

		/* The chunks of one region need not all be tried: they are ascending. */
		if (at < last || span_contains(h, at))
			continue;
		if (mdb_read(h->m, at, head, sizeof(head)) && !IS_NOT_MAIN(head[1]) &&
		    first_is_here(h, at, UINT64_MAX))
			main_span_add(h, arena, at);
		last = at + PAGE;
	}
}

/* The heaps of another arena, from the one of its end back to the first. */
static void heap_spans(struct heap *h, uint32_t arena)
{
	const struct heap_arena *a = &h->arenas.data[arena];
	taddr first = a->addr & ~(HEAP_ALIGN - 1), header = a->addr - first;
	taddr heap = a->top & ~(HEAP_ALIGN - 1);

	for (uint32_t n = 0; n < HEAPS_MAX; n++) {
		uint64_t info[3]; /* ar_ptr, prev, size */
		taddr start, end;

		if (!mdb_read(h->m, heap, info, sizeof(info)) || info[0] != a->addr ||
		    info[2] > HEAP_ALIGN || span_contains(h, heap + header)) {
			heap_damage_add(h, heap, "there is no heap of the arena", a->addr, false,
					0);
			if (heap == first || span_contains(h, first + header + ARENA_SIZE))
				return;
			heap = first;
			continue;
		}
		if (!region_find(h, heap, &start, &end))
			return;
		start = heap == first ? ROUND_UP(a->addr + ARENA_SIZE, 16) : heap + header;
		span_add(h, arena, start, MIN(heap + info[2], end));
		if (heap == first)
			return;
		heap = info[1];
	}
}

static int span_compare(const void *a, const void *b)
{
	const struct heap_span *x = a, *y = b;

	return x->start != y->start ? (x->start > y->start) - (x->start < y->start)
				    : (x->end < y->end) - (x->end > y->end);
}

/* Sorts the spans, and shortens those that overlap: a damaged arena may say anything. */
static void spans_sort(struct heap *h)
{
	uint32_t n = 0;

	if (h->spans.len)
		qsort(h->spans.data, h->spans.len, sizeof(*h->spans.data), span_compare);
	for (uint32_t i = 0; i < h->spans.len; i++) {
		struct heap_span s = h->spans.data[i];

		if (n)
			s.start = MAX(s.start, h->spans.data[n - 1].end);
		if (s.start < s.end)
			h->spans.data[n++] = s;
	}
	h->spans.len = n;
}

/* ---- mmapped chunks -------------------------------------------------------------------------- */

/*
 * Where memory was asked for with an alignment, the chunk begins later in its mapping: its first
 * word is the distance, and its size what is left of that of the header at the begin, which stays.
 */
static taddr aligned_find(struct heap *h, taddr at, uint64_t size)
{
	uint8_t bytes[PAGE];
	uint64_t head[2];

	if (size < PAGE || memory_some(h->m, at, bytes, PAGE) != PAGE)
		return at;
	for (uint64_t lead = CHUNK_HEADER; lead + CHUNK_HEADER <= PAGE; lead += CHUNK_HEADER)
		if (word_at(bytes, lead) == lead && word_at(bytes, lead + 8) == (size - lead) + 2)
			return at + lead;
	for (uint64_t page = 2 * PAGE; page <= ALIGN_MAX && page < size; page += PAGE)
		if (mdb_read(h->m, at + page - CHUNK_HEADER, head, sizeof(head)) &&
		    head[0] == page - CHUNK_HEADER && head[1] == size - head[0] + 2)
			return at + head[0];
	return at;
}

/* Finds the mmapped chunks in memory that is no arena's; nspans: of arenas, which are sorted. */
static void mapped_spans(struct heap *h, taddr start, taddr end, uint32_t nspans, uint32_t *span)
{
	taddr at = start;

	while (at < end && !h->m->is_interrupted && h->spans.len < CHUNKS_MAX) {
		taddr limit = end;
		uint64_t head[2], size;

		while (*span < nspans && h->spans.data[*span].end <= at)
			(*span)++;
		if (*span < nspans && h->spans.data[*span].start < at + PAGE) {
			at = ROUND_UP(h->spans.data[*span].end, PAGE);
			continue;
		}
		if (*span < nspans)
			limit = MIN(end, h->spans.data[*span].start);
		size = PAGE;
		if (!mdb_read(h->m, at, head, sizeof(head))) {
			size = memory_skip(h->m, at) - at;
		} else if (head[0] == 0 && head[1] % PAGE == 2 && head[1] > 2 &&
			   head[1] - 2 <= limit - at) {
			size = head[1] - 2;
			span_add(h, NO_ARENA, aligned_find(h, at, size), at + size);
		}
		at += size;
	}
}

static void mapped_find(struct heap *h)
{
	const struct proc_maps *maps = target_maps(h->m->t);
	uint32_t nspans = h->spans.len, span = 0;

	for (uint32_t i = 0; i < maps->maps.len; i++) {
		const struct proc_map *map = &maps->maps.data[i];
		taddr start = map->start, end = map->end;

		if (!map_is_memory(map))
			continue;
		while (i + 1 < maps->maps.len && map_is_memory(map + 1) && map[1].start == end &&
		       (!h->m->opts.core || map->in_core == map->end - map->start)) {
			map++;
			i++;
			end = map->end;
		}
		if (h->m->opts.core)
			end = MIN(end, map->start + MIN(map->in_core, end - map->start));
		mapped_spans(h, start, end, nspans, &span);
	}
}

/* ---- chunks ---------------------------------------------------------------------------------- */

/* The lowest chunk above an address, and below end, to which an arena points; 0: there is none. */
static taddr known_next(const struct heap *h, taddr addr, taddr end)
{
	uint32_t low = 0, high = h->known.len;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (h->known.data[mid] <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low < h->known.len && h->known.data[low] < end ? h->known.data[low] : 0;
}

/* What is wrong with a header; NULL: nothing is. */
static const char *header_check(const struct heap *h, const struct heap_span *s, taddr at,
				uint64_t word)
{
	const struct heap_arena *a = &h->arenas.data[s->arena];
	uint64_t size = SIZE_OF(word);

	if (size < CHUNK_SIZE_MIN || size % 16)
		return "there is no size of a chunk";
	if (at == a->top)
		return NULL;
	if (size > s->end - at || (at < a->top && a->top < s->end && size > a->top - at))
		return "the size of the chunk leads out of the heap";
	if (IS_MMAPPED(word))
		return "the chunk in an arena claims to be mmapped";
	if (IS_NOT_MAIN(word) && a->is_main)
		return "the chunk in the main arena claims to be of another one";
	return NULL;
}

/* The header tells whether the chunk before it is free. */
static void chunk_before_note(struct heap *h, const struct heap_span *s, taddr at,
			      const uint64_t head[2])
{
	struct chunk *before = h->chunks.len > s->first ? vec_last(&h->chunks) : NULL;

	if (!before || before->addr + before->size != at || IS_PREV_BUSY(head[1]))
		return;
	before->state = CHUNK_FREE;
	if (head[0] != before->size)
		heap_damage_add(h, at, "the chunk before is free and has another size than here",
				head[0], false, 0);
}

/* Walks the chunks of one span of an arena. */
static void span_walk(struct heap *h, struct window *w, struct heap_span *s)
{
	taddr at = s->start, top = h->arenas.data[s->arena].top;

	s->first = h->chunks.len;
	while (s->end - at >= CHUNK_HEADER && !h->m->is_interrupted) {
		const char *wrong = NULL;
		bool is_fence = false;
		uint64_t head[2] = {0};

		if (h->chunks.len >= CHUNKS_MAX) {
			h->is_cut = true;
			break;
		}
		if (!header_read(w, at, head))
			wrong = "the memory is missing";
		else if (at != s->start && at != top && SIZE_OF(head[1]) <= CHUNK_HEADER &&
			 SIZE_OF(head[1]) % 16 == 0 && head[1] & 7)
			is_fence = true; /* a heap that cannot grow ends with such headers */
		else
			wrong = header_check(h, s, at, head[1]);
		if (!wrong)
			chunk_before_note(h, s, at, head);
		if (wrong || is_fence) {
			taddr next = known_next(h, at, s->end);

			if (wrong)
				heap_damage_add(h, at, wrong, head[1], true, next);
			if (!next)
				break;
			at = next;
			continue;
		}
		vec_push(&h->chunks, (struct chunk){.addr = at,
						    .size = MIN(SIZE_OF(head[1]), s->end - at),
						    .arena = s->arena,
						    .state = at == top ? CHUNK_TOP : CHUNK_BUSY});
		at += vec_last(&h->chunks)->size;
		if (vec_last(&h->chunks)->state == CHUNK_TOP)
			break;
	}
	s->nchunks = h->chunks.len - s->first;
}

/* Makes the index of a span, of twice as many elements as it has chunks at most. */
static void span_index(struct heap *h, struct heap_span *s)
{
	uint64_t size = s->end - s->start;
	uint32_t k = s->first;

	for (s->shift = 8; size >> s->shift > 2ull * s->nchunks; s->shift++) {
	}
	for (uint64_t i = 0; i <= size >> s->shift; i++) {
		taddr at = s->start + (i << s->shift);

		while (k < s->first + s->nchunks &&
		       h->chunks.data[k].addr + h->chunks.data[k].size <= at)
			k++;
		vec_push(&s->index, k);
	}
}

struct chunk *heap_chunk_at(const struct heap *h, taddr addr)
{
	uint32_t low = sorted_upto(h->spans.data, h->spans.len, end, addr), high;
	const struct heap_span *s;
	uint64_t i;

	s = low < h->spans.len ? &h->spans.data[low] : NULL;
	if (!s || addr < s->start || !s->nchunks)
		return NULL;
	i = (addr - s->start) >> s->shift;
	low = s->index.data[i];
	high = i + 1 < s->index.len ? MIN(s->index.data[i + 1] + 1, s->first + s->nchunks)
				    : s->first + s->nchunks;
	while (low < high) {
		uint32_t mid = low + (high - low) / 2;
		struct chunk *c = &h->chunks.data[mid];

		if (addr < c->addr)
			high = mid;
		else if (addr - c->addr >= c->size)
			low = mid + 1;
		else
			return c;
	}
	return NULL;
}

/* ---- all ------------------------------------------------------------------------------------- */

static struct err *heap_absent(const struct heap *h)
{
	struct err *e = h->has_unused ? err_new("glibc's malloc was never used")
				      : err_new("there is no heap of glibc's malloc");

	if (h->other)
		return err_hint(e, "the program has another allocator: %s", h->other);
	return h->has_unused
		       ? err_hint(e, "the program may have an allocator of its own")
		       : err_hint(e, "the program has another allocator or C library, or the core "
				     "file lacks the writable memory of libc.so.6");
}

static void heap_walk(struct heap *h)
{
	struct window *w = xcalloc(1, sizeof(*w));

	w->m = h->m;
	known_collect(h);
	for (uint32_t i = 0; i < h->arenas.len; i++)
		if (h->arenas.data[i].is_main)
			main_spans(h, i);
		else
			heap_spans(h, i);
	spans_sort(h);
	mapped_find(h);
	spans_sort(h);
	for (uint32_t i = 0; i < h->spans.len; i++) {
		struct heap_span *s = &h->spans.data[i];

		if (s->arena != NO_ARENA) {
			span_walk(h, w, s);
		} else if (h->chunks.len < CHUNKS_MAX) {
			s->first = h->chunks.len;
			s->nchunks = 1;
			vec_push(&h->chunks, (struct chunk){.addr = s->start,
							    .size = s->end - s->start,
							    .arena = NO_ARENA,
							    .state = CHUNK_MMAPPED});
		}
		span_index(h, s);
	}
	free(w);
	caches_mark(h);
}

struct err *heap_get(struct mdb *m, struct heap **ret)
{
	struct heap *h = m->heap;

	if (!h) {
		h = xcalloc(1, sizeof(*h));
		h->m = m;
		arenas_find(h);
		if (h->arenas.len)
			heap_walk(h);
		if (m->is_interrupted) { /* what is not complete is not kept */
			heap_free(h);
			return err_new("the heap was not walked to its end");
		}
		m->heap = h;
	}
	if (!h->arenas.len)
		return heap_absent(h);
	*ret = h;
	return NULL;
}

struct err *heap_check(const struct heap *h)
{
	if (!h->other)
		return NULL;
	return err_hint(err_new("blocks of malloc are those of '%s', whose memory cannot be walked",
				h->other),
			"memprof malloc follows the blocks of every allocator from its start on");
}

void heap_free(struct heap *h)
{
	if (!h)
		return;
	for (uint32_t i = 0; i < h->spans.len; i++)
		vec_deinit(&h->spans.data[i].index);
	vec_deinit(&h->arenas);
	vec_deinit(&h->spans);
	vec_deinit(&h->chunks);
	vec_deinit(&h->damages);
	vec_deinit(&h->known);
	free(h);
}
