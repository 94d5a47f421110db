/* SPDX-License-Identifier: MIT */
/*
 * Drains BPF ring buffers.
 *
 * A buffer's mapping is: one page with the consumer's position (ours to write), one with the
 * producer's, then the data twice in a row, so that a record that wraps around is contiguous. A
 * record is an 8-byte header (length, with a busy and a discard bit; page offset) and its bytes,
 * rounded up to 8. Positions count bytes since the beginning and never wrap.
 *
 * Ordering   a program writes a record and clears its busy bit with a release; we read the header
 *            with an acquire. A release store of our position past a record gives its bytes back
 *            to the kernel. The position is stored every PUBLISH bytes, not after each record,
 *            which would bounce the cache line between the CPUs.
 *
 * Merging    each CPU's records are in order of their reservation, so the merge takes the earliest
 *            head of all CPUs from a heap of CPUs. As long as one CPU's next head is not later than
 *            the second in the heap, the heap stays as it is, which is nearly always the case.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <sched.h>
#include <sys/mman.h>

#include "base/vec.h"
#include "kernel/kernel.h"
#include "bpf/rings.h"

#define WINDOW	   (256u << 10)
#define PUBLISH	   (64u << 10)
#define SPINS	   200
#define FINAL_WAIT 2000000 /* ns that the last drain waits for a record that is being written */

struct cpu_ring {
	uint32_t cpu; /* CPU_TAGGED: each record has its CPU (abi.h, RT_REC_CPU_SHIFT) */
	int fd;
	uint32_t size;
	uint64_t *consumer, *producer; /* NULL: no ring on this CPU */
	uint8_t *win;		       /* mapped data from win_pos on */
	uint64_t win_pos;
	size_t win_len;
	uint64_t pos, end, published; /* next record; end of data at the drain's begin; as stored */
	/* Length and time of the record at pos, if there is one. */
	uint32_t head_len;
	uint64_t head_time;
};

struct rings {
	struct cpu_ring *rings;
	uint32_t n;
	uint32_t page;
	uint32_t fill;
	struct cpu_ring **heap; /* rings that have a record, earliest first */
	uint32_t nheap;
	VEC(uint8_t) copy; /* a record whose tag is taken off */
};
#define CPU_TAGGED UINT32_MAX

static uint32_t record_size(uint32_t len)
{
	return ROUND_UP(len + BPF_RINGBUF_HDR_SZ, 8u);
}

/* ---- mapping -------------------------------------------------------------------------------- */

static void window_unmap(struct cpu_ring *ring)
{
	if (ring->win)
		(void)munmap(ring->win,
			     ring->win_len); /* fails only for addresses that are not ours */
	ring->win = NULL;
	ring->win_len = 0;
}

/* Makes [pos, pos + len) addressable; the window then begins in pos's page. */
static struct err *window_ensure(const struct rings *r, struct cpu_ring *ring, uint64_t pos,
				 uint32_t len)
{
	uint64_t start = pos & ~(uint64_t)(r->page - 1);
	uint64_t want;
	void *p;

	if (ring->win && pos >= ring->win_pos && pos + len <= ring->win_pos + ring->win_len)
		return NULL;
	want = MIN(ring->end - start, (uint64_t)WINDOW);
	want = MAX(want, pos - start + len);
	want = ROUND_UP(want, (uint64_t)r->page);
	window_unmap(ring);
	p = sys_mmap(NULL, want, PROT_READ, MAP_SHARED, ring->fd,
		     (off_t)(2 * r->page + (start & (ring->size - 1))));
	if (p == MAP_FAILED)
		return err_sys(errno, "cannot map the buffer of CPU %u", ring->cpu);
	ring->win = p;
	ring->win_pos = start;
	ring->win_len = want;
	return NULL;
}

static uint8_t *window_at(const struct cpu_ring *ring, uint64_t pos)
{
	return ring->win + (pos - ring->win_pos);
}

static struct err *ring_open(const struct rings *r, struct cpu_ring *ring)
{
	void *p = sys_mmap(NULL, r->page, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);

	if (p == MAP_FAILED)
		return err_sys(errno, "cannot map the buffer of CPU %u", ring->cpu);
	ring->consumer = p;
	p = sys_mmap(NULL, r->page, PROT_READ, MAP_SHARED, ring->fd, r->page);
	if (p == MAP_FAILED)
		return err_sys(errno, "cannot map the buffer of CPU %u", ring->cpu);
	ring->producer = p;
	ring->pos = ring->published = __atomic_load_n(ring->consumer, __ATOMIC_RELAXED);
	return NULL;
}

/* ---- one ring ------------------------------------------------------------------------------- */

static void pos_publish(struct cpu_ring *ring)
{
	if (ring->published == ring->pos)
		return;
	__atomic_store_n(ring->consumer, ring->pos, __ATOMIC_RELEASE);
	ring->published = ring->pos;
}

/* Reads the header at pos; waits a little while it is busy. Returns false if it stays busy. */
static bool header_read(const struct cpu_ring *ring, uint64_t pos, bool patient, uint32_t *ret_hdr)
{
	const uint32_t *hdr = (const uint32_t *)window_at(ring, pos);
	uint64_t deadline = 0;

	for (uint32_t i = 0;; i++) {
		uint32_t v = __atomic_load_n(hdr, __ATOMIC_ACQUIRE);

		if (!(v & BPF_RINGBUF_BUSY_BIT)) {
			*ret_hdr = v;
			return true;
		}
		if (i < SPINS)
			continue;
		if (!patient)
			return false;
		if (!deadline)
			deadline = now_ns() + FINAL_WAIT;
		else if (now_ns() > deadline)
			return false;
		(void)sched_yield(); /* always succeeds */
	}
}

/* Moves to the next record, past discarded ones; *ret_has is false when there is none yet. */
static struct err *head_load(const struct rings *r, struct cpu_ring *ring, bool patient,
			     bool *ret_has)
{
	uint32_t hdr;
	struct err *e;

	*ret_has = false;
	while (ring->pos < ring->end) {
		e = window_ensure(r, ring, ring->pos, BPF_RINGBUF_HDR_SZ);
		if (e)
			return e;
		if (!header_read(ring, ring->pos, patient, &hdr))
			return NULL;
		ring->head_len = hdr & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);
		if (hdr & BPF_RINGBUF_DISCARD_BIT) {
			ring->pos += record_size(ring->head_len);
			continue;
		}
		e = window_ensure(r, ring, ring->pos, record_size(ring->head_len));
		if (e)
			return e;
		ring->head_time =
			((const struct rt_rec *)window_at(ring, ring->pos + BPF_RINGBUF_HDR_SZ))
				->time;
		*ret_has = true;
		return NULL;
	}
	return NULL;
}

/* Finds the record after the head if it is complete already; only flow indent needs it. */
static struct err *next_peek(const struct rings *r, struct cpu_ring *ring,
			     const struct rt_rec **ret_next)
{
	uint32_t head_size = record_size(ring->head_len), len = 0;
	uint64_t next = ring->pos + head_size;
	uint32_t hdr = BPF_RINGBUF_DISCARD_BIT;
	struct err *e;

	*ret_next = NULL;
	for (; hdr & BPF_RINGBUF_DISCARD_BIT; next += record_size(len)) {
		if (next + BPF_RINGBUF_HDR_SZ > ring->end)
			return NULL;
		/* One window for both: the head must stay addressable. */
		e = window_ensure(r, ring, ring->pos,
				  (uint32_t)(next - ring->pos) + BPF_RINGBUF_HDR_SZ);
		if (e)
			return e;
		hdr = __atomic_load_n((const uint32_t *)window_at(ring, next), __ATOMIC_ACQUIRE);
		if (hdr & BPF_RINGBUF_BUSY_BIT)
			return NULL;
		len = hdr & ~BPF_RINGBUF_DISCARD_BIT;
		if (!(hdr & BPF_RINGBUF_DISCARD_BIT))
			break;
	}
	e = window_ensure(r, ring, ring->pos, (uint32_t)(next - ring->pos) + record_size(len));
	if (!e)
		*ret_next = (const struct rt_rec *)window_at(ring, next + BPF_RINGBUF_HDR_SZ);
	return e;
}

/* ---- merging -------------------------------------------------------------------------------- */

static void heap_sift_down(struct rings *r)
{
	struct cpu_ring **h = r->heap, *top = h[0];
	uint32_t i = 0;

	for (;;) {
		uint32_t child = 2 * i + 1;

		if (child >= r->nheap)
			break;
		if (child + 1 < r->nheap && h[child + 1]->head_time < h[child]->head_time)
			child++;
		if (top->head_time <= h[child]->head_time)
			break;
		h[i] = h[child];
		i = child;
	}
	h[i] = top;
}

static void heap_add(struct rings *r, struct cpu_ring *ring)
{
	uint32_t i = r->nheap++;

	for (; i && ring->head_time < r->heap[(i - 1) / 2]->head_time; i = (i - 1) / 2)
		r->heap[i] = r->heap[(i - 1) / 2];
	r->heap[i] = ring;
}

/* Returns the earliest time in the heap, without the top. */
static uint64_t heap_second(const struct rings *r)
{
	uint64_t t = UINT64_MAX;

	for (uint32_t i = 1; i < MIN(r->nheap, 3u); i++)
		t = MIN(t, r->heap[i]->head_time);
	return t;
}

/* Returns a copy of the record without the tag of its CPU, valid until the next call. */
static const struct rt_rec *record_untag(struct rings *r, const struct rt_rec *rec, uint32_t len,
					 uint32_t *ret_cpu)
{
	const uint32_t clauses = (1u << RT_REC_CPU_SHIFT) - 1;
	struct rt_rec *copy;

	vec_reserve(&r->copy, len);
	copy = (struct rt_rec *)(void *)r->copy.data;
	memcpy(copy, rec, len);
	*ret_cpu = (copy->clause >> RT_REC_CPU_SHIFT) - 1;
	copy->clause &= clauses;
	if (copy->clause >= (RT_REC_COMMIT & clauses))
		copy->clause |= ~clauses;
	return copy;
}

static struct err *head_emit(struct rings *r, struct cpu_ring *ring, engine_record_f *func,
			     void *ctx)
{
	const struct rt_rec *rec, *next;
	uint32_t cpu = ring->cpu;
	struct err *e = next_peek(r, ring, &next);

	if (e)
		return e;
	rec = (const struct rt_rec *)window_at(ring, ring->pos + BPF_RINGBUF_HDR_SZ);
	if (cpu == CPU_TAGGED) {
		rec = record_untag(r, rec, ring->head_len, &cpu);
		next = NULL; /* may come from another CPU */
	}
	e = func(ctx, rec, ring->head_len, cpu, next);
	ring->pos += record_size(ring->head_len);
	if (ring->pos - ring->published >= PUBLISH)
		pos_publish(ring);
	return e;
}

/* Hands out records of the ring on top of the heap as long as they are the earliest. */
static struct err *drain_top(struct rings *r, uint64_t horizon, engine_record_f *func, void *ctx)
{
	struct cpu_ring *ring = r->heap[0];
	uint64_t limit = MIN(heap_second(r), horizon);
	bool has = true;
	struct err *e;

	do {
		e = head_emit(r, ring, func, ctx);
		if (!e)
			e = head_load(r, ring, horizon == ENGINE_EVERYTHING, &has);
		if (e)
			return e;
	} while (has && ring->head_time <= limit);
	if (!has || ring->head_time > horizon)
		r->heap[0] = r->heap[--r->nheap];
	if (r->nheap)
		heap_sift_down(r);
	return NULL;
}

struct err *rings_drain(struct rings *r, uint64_t horizon, engine_record_f *func, void *ctx)
{
	struct err *e = NULL;

	r->fill = 0;
	r->nheap = 0;
	for (uint32_t i = 0; i < r->n && !e; i++) {
		struct cpu_ring *ring = &r->rings[i];
		bool has;

		ring->end = __atomic_load_n(ring->producer, __ATOMIC_ACQUIRE);
		if (ring->end == ring->pos)
			continue;
		r->fill = MAX(r->fill, (uint32_t)((ring->end - ring->pos) * 256 / ring->size));
		e = head_load(r, ring, horizon == ENGINE_EVERYTHING, &has);
		if (!e && has && ring->head_time <= horizon)
			heap_add(r, ring);
	}
	while (!e && r->nheap)
		e = drain_top(r, horizon, func, ctx);
	for (uint32_t i = 0; i < r->n; i++)
		pos_publish(&r->rings[i]);
	return e;
}

uint32_t rings_fill(const struct rings *r)
{
	return r->fill;
}

/* ---- beginning and end ----------------------------------------------------------------------- */

static struct err *ring_add(struct rings *r, uint32_t cpu, int fd, uint32_t size)
{
	struct cpu_ring *ring = &r->rings[r->n];

	if (fd < 0)
		return NULL;
	*ring = (struct cpu_ring){.cpu = cpu, .fd = fd, .size = size};
	r->n++;
	return ring_open(r, ring);
}

struct err *rings_create(const struct ring_fds *fds, struct rings **ret_rings)
{
	struct rings *r = xcalloc(1, sizeof(*r));
	struct err *e = NULL;

	r->page = (uint32_t)sysconf(_SC_PAGESIZE);
	r->rings = xcalloc(fds->ncpus + 1, sizeof(*r->rings));
	r->heap = xcalloc(fds->ncpus + 1, sizeof(struct cpu_ring *));
	for (uint32_t cpu = 0; cpu < fds->ncpus && !e; cpu++)
		e = ring_add(r, cpu, fds->fds[cpu], fds->size);
	if (!e)
		e = ring_add(r, CPU_TAGGED, fds->spare, fds->spare_size);
	if (e) {
		rings_destroy(r);
		return e;
	}
	*ret_rings = r;
	return NULL;
}

void rings_destroy(struct rings *r)
{
	if (!r)
		return;
	for (uint32_t i = 0; i < r->n; i++) {
		window_unmap(&r->rings[i]);
		if (r->rings[i].consumer)
			(void)munmap(r->rings[i].consumer, r->page);
		if (r->rings[i].producer)
			(void)munmap(r->rings[i].producer, r->page);
	}
	free(r->heap);
	free(r->rings);
	vec_deinit(&r->copy);
	free(r);
}
