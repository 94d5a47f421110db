/* SPDX-License-Identifier: MIT */
/*
 * Reads the rings of records (native/blob.h).
 *
 * A ring is read in windows: copies of what lies between the tracer's position and the first record
 * that is not complete. A window is copied twice. The first copy says which records are complete;
 * only bytes that are read after that are known to be theirs. From then on the process can write to
 * the ring again: the tracer moves its position, and keeps what it does not hand out yet.
 *
 * Records of a window are sorted by time, because a signal handler may put its record before that
 * of the clause that it interrupts. Windows of the CPUs are merged by a heap.
 *
 * A hole is a record that somebody has begun. Its length is known, unless its thread was stopped
 * between reserving it and writing its first word. Once such a hole is given up, reading goes on at
 * the next place whose word is valid: words are disguised by their position, so other bytes pass
 * for one with a chance of 2^-40.
 */
#include "native/data_impl.h"

#include <sched.h>

#include "base/vec.h"

#define WINDOW_BYTES (256u << 10)
#define LOOK_BYTES   4096u	 /* are read at first behind a hole: more may follow soon */
#define READY_BYTES  (16u << 20) /* of all rings, which exist before the first record */
#define READY_STEP   (64u << 10)
#define FUTURE_NS    1000000000ull /* a record that is later than now by more has no time */

struct item {
	uint64_t time;
	uint32_t off, len; /* of struct rt_rec in the window */
};

struct ring {
	struct ndata *owner;
	uint32_t cpu;
	uint64_t pos, end; /* next byte to be read; end of what was reserved when the drain began */
	uint8_t tail;	   /* as the process sees it */
	uint8_t *window;
	size_t window_size, look_size; /* how much there is room for, and is read next */
	VEC(struct item) items;
	uint32_t next;
	uint64_t hole, hole_since, hole_end; /* where the hole is; since 0: there is none */
};

/* ---- words ----------------------------------------------------------------------------------- */

struct piece {
	uint32_t len; /* of the record */
	uint8_t state;
	uint64_t thread;
};

static uint64_t room_of(const struct ndata *d, uint64_t pos)
{
	return d->plan->ring_size - (pos & (d->plan->ring_size - 1));
}

/* Decodes what is at pos; false: nothing valid. left: the bytes that are known to be reserved. */
static bool piece_decode(const struct ndata *d, const uint8_t *bytes, uint64_t pos, uint64_t left,
			 struct piece *ret)
{
	struct blob_rec r;
	uint64_t word, len;

	if (left < sizeof(r))
		return false;
	memcpy(&r, bytes, sizeof(r));
	word = r.word ^ blob_rec_mask(d->cookie, pos);
	len = word >> 8;
	*ret = (struct piece){(uint32_t)len, (uint8_t)word, r.thread};
	if (ret->state != BLOB_REC_BEGUN && ret->state != BLOB_REC_DONE &&
	    ret->state != BLOB_REC_NONE)
		return false;
	return len <= d->plan->max_record && blob_rec_size(len) <= MIN(left, room_of(d, pos));
}

/* ---- whether it is a record ------------------------------------------------------------------ */

static bool clause_allowed(const struct ndata *d, uint32_t clause, uint32_t probe)
{
	return clause < d->layout->nclauses &&
	       (!d->hooks.allows || d->hooks.allows(d->hooks.ctx, clause, probe));
}

static bool record_is_valid(const struct ndata *d, const uint8_t *bytes, uint32_t len, uint64_t now)
{
	const struct clause_layout *cl;
	struct rt_rec_fault f;

	if (len < sizeof(f.rec))
		return false;
	memcpy(&f.rec, bytes, sizeof(f.rec));
	if (f.rec.time > now + FUTURE_NS)
		return false;
	if (f.rec.clause == RT_REC_FAULT) {
		if (len != sizeof(f))
			return false;
		memcpy(&f, bytes, sizeof(f));
		return clause_allowed(d, f.fault.clause, f.rec.probe);
	}
	if (!clause_allowed(d, f.rec.clause, f.rec.probe))
		return false;
	cl = &d->layout->clauses[f.rec.clause];
	return len >= cl->heap_off && len <= cl->max_size;
}

/* ---- windows --------------------------------------------------------------------------------- */

static struct err *bytes_read(const struct ndata *d, const struct ring *r, uint64_t pos, size_t len)
{
	uint64_t ring = d->plan->rings_off + r->cpu * d->plan->ring_size;
	size_t first = (size_t)MIN((uint64_t)len, room_of(d, pos));
	struct err *e = ndata_read(d, ring + (pos & (d->plan->ring_size - 1)), r->window, first);

	return e || first == len ? e : ndata_read(d, ring, r->window + first, len - first);
}

/* Returns how many bytes of the window, from its beginning, are complete records. */
static size_t pieces_complete(const struct ndata *d, const struct ring *r, size_t len)
{
	struct piece p;
	size_t off = 0;

	while (piece_decode(d, r->window + off, r->pos + off, len - off, &p) &&
	       p.state != BLOB_REC_BEGUN)
		off += blob_rec_size(p.len);
	return off;
}

static int items_compare(const void *pa, const void *pb)
{
	const struct item *a = pa, *b = pb;

	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return a->off < b->off ? -1 : a->off > b->off;
}

/* Lists the records of the first len bytes of the window; returns how many bytes they took. */
static size_t items_list(struct ndata *d, struct ring *r, size_t len)
{
	uint64_t now = now_ns();
	bool is_sorted = true;
	struct piece p;
	size_t off = 0;

	while (piece_decode(d, r->window + off, r->pos + off, len - off, &p) &&
	       p.state != BLOB_REC_BEGUN) {
		uint8_t *rec = r->window + off + sizeof(struct blob_rec);
		struct item it = {.off = (uint32_t)(rec - r->window), .len = p.len};

		off += blob_rec_size(p.len);
		if (p.state == BLOB_REC_NONE)
			continue;
		if (!record_is_valid(d, rec, p.len, now)) {
			d->nbad++;
			d->lost[r->cpu]++; /* whatever it was before the process has changed it */
			continue;
		}
		memcpy(&it.time, rec + offsetof(struct rt_rec, time), sizeof(it.time));
		is_sorted &= !r->items.len || vec_last(&r->items)->time <= it.time;
		vec_push(&r->items, it);
	}
	if (!is_sorted)
		qsort(r->items.data, r->items.len, sizeof(*r->items.data), items_compare);
	return off;
}

/* Gives the process back what lies before pos. */
static struct err *pos_set(struct ndata *d, struct ring *r, uint64_t pos)
{
	uint64_t part = d->plan->ring_size / BLOB_RING_PARTS;
	uint8_t tail = (uint8_t)(pos / part);

	r->pos = pos;
	r->hole_since = 0;
	if (tail == r->tail)
		return NULL;
	r->tail = tail;
	return ndata_write_byte(d,
				d->plan->cpus_off + r->cpu * sizeof(struct blob_cpu) +
					offsetof(struct blob_cpu, tail),
				tail);
}

/* ---- holes ----------------------------------------------------------------------------------- */

/* Goes on behind a hole. len: the bytes in the window. */
static struct err *hole_leave(struct ndata *d, struct ring *r, const struct piece *p, size_t len)
{
	size_t off;
	struct piece next;
	uint64_t since = r->hole_since, end = r->hole_end;
	struct err *e;

	d->lost[r->cpu]++;
	if (p)
		return pos_set(d, r, r->pos + blob_rec_size(p->len));
	len = (size_t)MIN((uint64_t)len, r->hole_end - r->pos);
	for (off = BLOB_REC_ALIGN; off < len; off += BLOB_REC_ALIGN)
		if (piece_decode(d, r->window + off, r->pos + off, len - off, &next))
			break;
	e = pos_set(d, r, r->pos + MIN(off, len));
	if (r->pos < end) { /* what follows is no younger */
		r->hole = r->pos;
		r->hole_since = since;
		r->hole_end = end;
	}
	return e;
}

/* Looks at what is at pos and not complete; *ret_left: it was left behind. */
static struct err *hole_look(struct ndata *d, struct ring *r, size_t len, bool gives_up,
			     bool *ret_left)
{
	struct piece p;
	bool is_known = piece_decode(d, r->window, r->pos, len, &p);
	uint64_t now = now_ns();

	if (!r->hole_since || r->hole != r->pos) {
		r->hole = r->pos;
		r->hole_since = now;
		r->hole_end = r->end;
	}
	*ret_left = gives_up || now - r->hole_since >= d->grace_ns ||
		    (is_known && ndata_is_dead(d, p.thread));
	return *ret_left ? hole_leave(d, r, is_known ? &p : NULL, len) : NULL;
}

/* So much that a record is in it, wherever it begins. */
static size_t look_least(const struct ndata *d)
{
	return (size_t)MAX(2 * blob_rec_size(d->plan->max_record), (uint64_t)LOOK_BYTES);
}

/* ---- one ring -------------------------------------------------------------------------------- */

/*
 * Reads the next records into the window, when all of the last have been handed out. is_last:
 * nobody will read what is not complete now.
 */
static struct err *window_fill(struct ndata *d, struct ring *r, bool is_last)
{
	struct err *e = NULL;

	vec_clear(&r->items);
	r->next = 0;
	while (!e && !r->items.len && r->pos < r->end) {
		size_t len = (size_t)MIN(r->end - r->pos, (uint64_t)r->look_size), complete;
		bool is_left = false;

		e = bytes_read(d, r, r->pos, len);
		complete = e ? 0 : pieces_complete(d, r, len);
		if (complete)
			e = bytes_read(d, r, r->pos, complete);
		if (!e && complete)
			e = pos_set(d, r, r->pos + items_list(d, r, complete));
		if (e || complete) {
			r->look_size = MIN(2 * r->look_size, r->window_size);
			continue;
		}
		r->look_size = look_least(d);
		if (is_last && !d->waits_until)
			d->waits_until = now_ns() + d->final_ns;
		e = hole_look(d, r, len, is_last && now_ns() >= d->waits_until, &is_left);
		if (!e && !is_left && !is_last)
			break;
		if (!is_left)
			(void)sched_yield(); /* always succeeds */
	}
	return e;
}

static const struct item *head_of(const struct ring *r)
{
	return r->next < r->items.len ? &r->items.data[r->next] : NULL;
}

static const struct rt_rec *record_at(const struct ring *r, const struct item *it)
{
	return it ? (const struct rt_rec *)(const void *)(r->window + it->off) : NULL;
}

/* ---- merging --------------------------------------------------------------------------------- */

static void heap_sift_down(struct ndata *d)
{
	struct ring **h = d->heap, *top = h[0];
	uint64_t time = head_of(top)->time;
	uint32_t i = 0;

	for (;;) {
		uint32_t child = 2 * i + 1;

		if (child >= d->nheap)
			break;
		if (child + 1 < d->nheap && head_of(h[child + 1])->time < head_of(h[child])->time)
			child++;
		if (time <= head_of(h[child])->time)
			break;
		h[i] = h[child];
		i = child;
	}
	h[i] = top;
}

static void heap_add(struct ndata *d, struct ring *r)
{
	uint32_t i = d->nheap++;
	uint64_t time = head_of(r)->time;

	for (; i && time < head_of(d->heap[(i - 1) / 2])->time; i = (i - 1) / 2)
		d->heap[i] = d->heap[(i - 1) / 2];
	d->heap[i] = r;
}

/* Hands out the earliest record of all CPUs. */
static struct err *earliest_emit(struct ndata *d, uint64_t horizon, engine_record_f *func,
				 void *ctx)
{
	struct ring *r = d->heap[0];
	const struct item *it = head_of(r);
	struct err *e;

	r->next++;
	e = func(ctx, record_at(r, it), it->len, r->cpu, record_at(r, head_of(r)));
	if (!e && !head_of(r))
		e = ndata_member_err(d, r->owner,
				     window_fill(r->owner, r, horizon == ENGINE_EVERYTHING));
	it = head_of(r);
	if (!it || it->time > horizon)
		d->heap[0] = d->heap[--d->nheap];
	if (d->nheap)
		heap_sift_down(d);
	return e;
}

/* The head that the process says, if it can be true. */
static uint64_t head_bounded(struct ndata *d, const struct ring *r, uint64_t head)
{
	if (head - r->pos <= d->plan->ring_size && head % BLOB_REC_ALIGN == 0)
		return head;
	d->nbad++;
	return r->pos;
}

/* Begins a drain of the rings of one process, whose first records go to the heap of d. */
static struct err *member_begin(struct ndata *d, struct ndata *x, uint64_t horizon)
{
	struct err *e = ndata_read_cpus(x);

	x->waits_until = 0;
	for (uint32_t i = 0; i < x->plan->ncpus && !e; i++) {
		struct ring *r = &x->rings[i];

		r->end = head_bounded(x, r, x->cpus[i].head);
		d->fill = MAX(d->fill, (uint32_t)((r->end - r->pos) * 256 / x->plan->ring_size));
		if (!head_of(r))
			e = window_fill(x, r, horizon == ENGINE_EVERYTHING);
		if (!e && head_of(r) && head_of(r)->time <= horizon)
			heap_add(d, r);
	}
	return e;
}

static void heap_make(struct ndata *d)
{
	uint32_t n = (d->kin.len + 1) * d->plan->ncpus;

	d->nheap = 0;
	if (n <= d->heap_room)
		return;
	d->heap_room = 2 * n;
	free(d->heap);
	d->heap = xcalloc(d->heap_room, sizeof(struct ring *));
}

bool rings_are_empty(struct ndata *d)
{
	struct err *e = ndata_read_cpus(d);
	bool is_empty = true;

	for (uint32_t i = 0; i < d->plan->ncpus && !e; i++)
		is_empty &= !head_of(&d->rings[i]) &&
			    head_bounded(d, &d->rings[i], d->cpus[i].head) == d->rings[i].pos;
	err_destroy(e); /* nothing of it can be read any more */
	return is_empty;
}

struct err *ndata_drain(struct ndata *d, uint64_t horizon, engine_record_f *func, void *ctx)
{
	struct err *e = NULL;
	struct ndata *x;

	d->fill = 0;
	heap_make(d);
	for (uint32_t i = 0; !e && (x = ndata_member(d, i)); i++)
		e = ndata_member_err(d, x, member_begin(d, x, horizon));
	while (!e && d->nheap)
		e = earliest_emit(d, horizon, func, ctx);
	return e;
}

uint32_t ndata_fill(const struct ndata *d)
{
	return d->fill;
}

/* ---- beginning and end ----------------------------------------------------------------------- */

struct err *ndata_rings_make(const struct ndata *d)
{
	uint64_t size = MIN(d->plan->ring_size, (uint64_t)READY_BYTES / MAX(d->plan->ncpus, 1u));
	CLEANUP(free) uint8_t *zeros = xcalloc(1, READY_STEP);
	struct err *e = NULL;

	for (uint32_t i = 0; i < d->plan->ncpus; i++)
		for (uint64_t at = 0; at < size && !e; at += READY_STEP)
			e = ndata_write(d, d->plan->rings_off + i * d->plan->ring_size + at, zeros,
					(size_t)MIN(size - at, (uint64_t)READY_STEP));
	return e;
}

void rings_init(struct ndata *d)
{
	uint64_t size = MIN(d->plan->ring_size, (uint64_t)WINDOW_BYTES);

	size = MAX(size, 2 * blob_rec_size(d->plan->max_record));
	d->rings = xcalloc(d->plan->ncpus, sizeof(*d->rings));
	for (uint32_t i = 0; i < d->plan->ncpus; i++) {
		d->rings[i].owner = d;
		d->rings[i].cpu = i;
		d->rings[i].window_size = (size_t)size;
		d->rings[i].look_size = (size_t)size;
		d->rings[i].window = xmalloc((size_t)size);
	}
}

void rings_deinit(struct ndata *d)
{
	for (uint32_t i = 0; i < d->plan->ncpus; i++) {
		vec_deinit(&d->rings[i].items);
		free(d->rings[i].window);
	}
	free(d->rings);
	free(d->heap);
}
