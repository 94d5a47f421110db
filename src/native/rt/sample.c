/* SPDX-License-Identifier: MIT */
/*
 * Samples of bytes, the threads in sampled calls, and the addresses that are followed.
 *
 * The bytes until the next one of the sample are counted down for each CPU. Two threads that change
 * the same CPU's count at once lose what one of them has counted, and nothing else: a distance that
 * is drawn says nothing about what was passed before.
 */
#include "base/exponential.h"
#include "native/rt/rt.h"

#define GOLDEN 0x9e3779b97f4a7c15ull /* 2^64 / golden ratio */

static inline struct blob_samples *samples_of(struct blob_data *d)
{
	return (struct blob_samples *)((u8 *)d + blob_conf.samples_off);
}

/* ---- samples --------------------------------------------------------------------------------- */

static u64 distance_draw(struct blob_cpu *c, u64 cpu, u64 mean)
{
	u64 n = __atomic_fetch_add(&c->sample_draws, 1, __ATOMIC_RELAXED);
	u64 x = blob_conf.cookie + (n << 12 | cpu) * GOLDEN;

	/* the mixing of splitmix64 */
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return exponential_draw((u32)(x >> 32), mean);
}

static inline u64 *thread_of(struct blob_samples *s, u64 fs)
{
	return &s->threads[fs * GOLDEN >> 32 & (BLOB_SAMPLE_THREADS - 1)];
}

/*
 * The thread is in a sampled call. Calls are counted before the first and after the last moment at
 * which the thread is noted, so that none is noted where the count is 0.
 */
static void call_begin(struct blob_samples *s, u64 fs)
{
	__atomic_fetch_add(&s->ncalls, 1, __ATOMIC_ACQ_REL);
	if (__atomic_exchange_n(thread_of(s, fs), fs, __ATOMIC_ACQ_REL))
		__atomic_fetch_sub(&s->ncalls, 1, __ATOMIC_ACQ_REL); /* of the one before */
}

static void call_end(struct blob_samples *s, u64 fs)
{
	if (__atomic_exchange_n(thread_of(s, fs), 0, __ATOMIC_ACQ_REL))
		__atomic_fetch_sub(&s->ncalls, 1, __ATOMIC_ACQ_REL);
}

static __attribute__((noinline)) u64 sample_take(struct blob_data *d, u64 bytes, u64 mean, u64 cpu,
						 u64 fs)
{
	struct blob_cpu *c = cpu_of(d, cpu);
	u64 left = c->sample_left;

	cpu = cpu_bounded(cpu);
	if (c->sample_mean != mean || !left) { /* nothing was drawn for it yet */
		c->sample_mean = mean;
		left = distance_draw(c, cpu, mean);
	}
	if (left > bytes) {
		c->sample_left = left - bytes;
		return 0;
	}
	c->sample_left = distance_draw(c, cpu, mean);
	call_begin(samples_of(d), fs);
	return 1;
}

FUNC u64 blob_sample(struct blob_data *d, u64 bytes, u64 mean, u64 cpu, u64 fs)
{
	struct blob_cpu *c = cpu_of(d, cpu);
	u64 left = c->sample_left;

	if (c->sample_mean != mean || left <= bytes)
		return sample_take(d, bytes, mean, cpu, fs);
	c->sample_left = left - bytes;
	return 0;
}

/* ---- addresses ------------------------------------------------------------------------------- */

static inline u8 *page_of(struct blob_samples *s, u64 addr)
{
	return &s->pages[addr >> 12 & (BLOB_SAMPLE_PAGES - 1)];
}

static inline u64 *set_of(struct blob_samples *s, u64 addr)
{
	return s->sets[(addr >> 4) * GOLDEN >> 48 & (BLOB_SAMPLE_SETS - 1)];
}

#define TRIES 64

/* Adds 1 or -1 to the number of addresses that are noted in a page. */
static void page_count(u8 *page, u8 n)
{
	u8 old = __atomic_load_n(page, __ATOMIC_RELAXED);

	for (u32 i = 0; i < TRIES; i++) {
		if (old == BLOB_PAGE_MANY || (n != 1 && !old))
			return;
		if (__atomic_compare_exchange_n(page, &old, (u8)(old + n), 0, __ATOMIC_ACQ_REL,
						__ATOMIC_RELAXED))
			return;
	}
	__atomic_store_n(page, BLOB_PAGE_MANY, __ATOMIC_RELEASE);
}

/*
 * The page is counted before the address is entered, and after it was taken out, so that an address
 * in a set is always in a page that is counted.
 */
static void address_note(struct blob_samples *s, u64 addr)
{
	u64 *set = set_of(s, addr);

	for (u32 i = 0; i < BLOB_SAMPLE_WAYS; i++)
		if (word_load(&set[i]) == addr)
			return;
	page_count(page_of(s, addr), 1);
	for (u32 i = 0; i < BLOB_SAMPLE_WAYS; i++) {
		u64 room = 0;

		if (word_load(&set[i]) == 0 && word_swap(&set[i], &room, addr))
			return;
	}
	__atomic_store_n(&s->is_full, 1, __ATOMIC_RELEASE);
}

FUNC u64 blob_sampled(struct blob_data *d, u64 addr, u64 fs)
{
	struct blob_samples *s = samples_of(d);

	if (__atomic_load_n(thread_of(s, fs), __ATOMIC_RELAXED) != fs)
		return 0;
	call_end(s, fs);
	if (addr)
		address_note(s, addr);
	return 1;
}

static __attribute__((noinline)) u64 address_drop(struct blob_samples *s, u64 addr)
{
	u64 *set = set_of(s, addr);

	for (u32 i = 0; i < BLOB_SAMPLE_WAYS; i++) {
		u64 had = addr;

		if (word_load(&set[i]) == addr && word_swap(&set[i], &had, 0)) {
			page_count(page_of(s, addr), (u8)-1);
			return 1;
		}
	}
	return word_load(&s->is_full) != 0;
}

FUNC u64 blob_followed(struct blob_data *d, u64 addr)
{
	struct blob_samples *s = samples_of(d);

	if (!__atomic_load_n(page_of(s, addr), __ATOMIC_RELAXED) && !word_load(&s->is_full))
		return 0;
	return address_drop(s, addr);
}
