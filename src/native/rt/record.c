/* SPDX-License-Identifier: MIT */
/*
 * Records in the ring of a CPU, the clock, and the end of the session.
 *
 * The tracer says how much of a ring it has read in parts of the ring, by one byte. A record does
 * not wrap around: what is left at the ring's end becomes a piece that says so.
 */
#include "native/rt/rt.h"
#include "record/format.h"

/* pos: a multiple of BLOB_REC_ALIGN, so that the piece does not begin in the ring's last bytes. */
static inline void piece_begin(u8 *ring, u64 pos, u64 len, u32 state, u64 thread)
{
	struct blob_rec *r = (struct blob_rec *)(ring + (pos & (blob_conf.ring_size - 1)));

	/* a fault of a read maps the pages around that are there, one of a write only its own */
	(void)*(volatile u64 *)&r->word;
	__atomic_store_n(&r->thread, thread, __ATOMIC_RELAXED);
	__atomic_store_n(&r->word, (len << 8 | state) ^ blob_rec_mask(blob_conf.cookie, pos),
			 __ATOMIC_RELEASE);
}

FUNC void *blob_record_begin(struct blob_data *d, u64 cpu, u64 len, u64 thread)
{
	struct blob_cpu *c = cpu_of(d, cpu);
	u64 ring_size = blob_conf.ring_size;
	u8 *ring = (u8 *)d + blob_conf.rings_off + cpu_bounded(cpu) * ring_size;
	u64 size = blob_rec_size(len), head = word_load(&c->head), pos, rest;
	u64 shift = (u64)__builtin_ctzll(ring_size / BLOB_RING_PARTS | 1ull << 63);

	for (;;) {
		u64 left;
		u8 last;

		pos = head & ~(u64)(BLOB_REC_ALIGN - 1); /* it is one, unless somebody lies */
		left = ring_size - (pos & (ring_size - 1));
		rest = left < size ? left : 0;
		last = (u8)((pos + rest + size - 1) >> shift);
		last -= __atomic_load_n(&c->tail, __ATOMIC_ACQUIRE);
		if (size > ring_size / 2 || last >= BLOB_RING_PARTS) {
			word_add(&c->drops, 1);
			return 0;
		}
		if (word_swap(&c->head, &head, pos + rest + size))
			break;
	}
	if (rest)
		piece_begin(ring, pos, rest - sizeof(struct blob_rec), BLOB_REC_NONE, thread);
	piece_begin(ring, pos + rest, len, BLOB_REC_BEGUN, thread);
	return ring + ((pos + rest) & (ring_size - 1)) + sizeof(struct blob_rec);
}

FUNC void blob_record_end(void *rec)
{
	blob_rec_end(rec, BLOB_REC_DONE);
}

FUNC void blob_record_drop(void *rec)
{
	blob_rec_end(rec, BLOB_REC_NONE);
}

/* ---- time ------------------------------------------------------------------------------------ */

static inline u64 tsc_read(void)
{
	u32 low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return (u64)high << 32 | low;
}

/*
 * The tracer fills the factors in turn: those that are read here stay for BLOB_CLOCKS - 1
 * corrections. A thread that was off its CPU for longer than that reads again.
 */
FUNC u64 blob_time(struct blob_data *d)
{
	u64 ns = 0;

	for (u32 i = 0; i < 4; i++) {
		u8 clock = __atomic_load_n(&d->clock, __ATOMIC_ACQUIRE);
		const struct blob_clock *c = &d->clocks[clock % BLOB_CLOCKS];

		ns = word_load(&c->ns);
		ns += (u64)((unsigned __int128)(tsc_read() - word_load(&c->tsc)) *
				    word_load(&c->mult) >>
			    32);
		clock = (u8)(__atomic_load_n(&d->clock, __ATOMIC_ACQUIRE) - clock);
		if (clock < BLOB_CLOCKS - 1)
			break;
	}
	return ns;
}

FUNC u64 blob_order(struct blob_data *d)
{
	u64 time = blob_time(d), last = word_load(&d->order), next;

	do
		next = time > last ? time : last + 1;
	while (!word_swap(&d->order, &last, next)); /* else another thread has got a later one */
	return next;
}

FUNC void blob_exit(struct blob_data *d)
{
	u8 on = RT_STATE_ON;

	(void)__atomic_compare_exchange_n(&d->state, &on, RT_STATE_EXITING, 0, __ATOMIC_ACQ_REL,
					  __ATOMIC_RELAXED);
}
