/* SPDX-License-Identifier: MIT */
/* Aggregations: finds and enters elements, and updates their values. */
#include "native/rt/rt.h"

FUNC u64 *blob_cell(struct blob_data *d, u64 table, u64 elem, u64 cpu)
{
	const struct blob_table *t = &blob_conf.tables[table];
	u8 *banks = (u8 *)d + t->banks_off;
	u64 bank = __atomic_load_n(&banks[elem], __ATOMIC_RELAXED) % BLOB_BANKS;

	return (u64 *)((u8 *)d + t->off + cpu_bounded(cpu) * t->cpu_size + elem * t->slot_size +
		       bank * t->val_size);
}

/* A search in one CPU's table. */
struct search {
	const struct blob_table *t;
	u8 *base;
	const u64 *key;
	u32 nwords;
	u64 hash;
	u64 *free, free_word; /* the first slot on the way that may be used again */
};

static inline u64 *slot_at(const struct search *s, u32 i)
{
	return (u64 *)(s->base + ((s->hash + i) & (s->t->slots - 1)) * s->t->slot_size);
}

/*
 * Makes the slot the key's, unless somebody else was faster. The value of a slot that is empty or
 * free is zero.
 */
static inline int slot_enter(const struct search *s, u64 *slot, u64 *word)
{
	if (!word_swap(slot, word, BLOB_SLOT_WORD(BLOB_SLOT_BUSY, s->hash)))
		return 0;
	key_copy(slot + 1, s->key, s->nwords);
	__atomic_store_n(slot, BLOB_SLOT_WORD(BLOB_SLOT_LIVE, s->hash), __ATOMIC_RELEASE);
	return 1;
}

/* Returns the slot of the key, which it enters if it is not there; NULL: there is no room. */
static inline u64 *slot_get(struct search *s)
{
	u64 live = BLOB_SLOT_WORD(BLOB_SLOT_LIVE, s->hash);

	s->free = 0;
	for (u32 i = 0; i < BLOB_PROBES; i++) {
		u64 *slot = slot_at(s, i), word = word_load(slot);

		if (word == BLOB_SLOT_EMPTY && s->free)
			break;
		/* If this fails, the slot is somebody else's: perhaps it has the same key now. */
		if (word == BLOB_SLOT_EMPTY && slot_enter(s, slot, &word))
			return slot;
		if (word == live && key_is(slot + 1, s->key, s->nwords))
			return slot;
		if (slot_state(word) == BLOB_SLOT_FREE && !s->free) {
			s->free = slot;
			s->free_word = word;
		}
	}
	return s->free && slot_enter(s, s->free, &s->free_word) ? s->free : 0;
}

#define TRIES 4 /* others may be faster; then there is another free slot, or none */

static inline struct search search_of(struct blob_data *d, const struct blob_table *t,
				      const u64 *key, u64 hash, u64 cpu)
{
	return (struct search){.t = t,
			       .base = (u8 *)d + t->off + cpu_bounded(cpu) * t->cpu_size,
			       .key = key,
			       .nwords = t->key_size / 8,
			       .hash = hash};
}

/* Returns the value of a key that is not in the first slot of its hash. */
static __attribute__((noinline)) u64 *value_find(struct blob_data *d, const struct blob_table *t,
						 const u64 *key, u64 hash, u64 cpu)
{
	struct search s = search_of(d, t, key, hash, cpu);
	u64 *slot = 0;

	for (u32 i = 0; t->slots && !slot && i < TRIES; i++) {
		slot = slot_get(&s);
		if (!slot && !s.free)
			break;
	}
	if (slot)
		return (u64 *)((u8 *)slot + t->val_off);
	word_add(&cpu_of(d, cpu)->agg_drops, 1);
	return 0;
}

FUNC u64 *blob_value(struct blob_data *d, u64 table, const u64 *key, u64 cpu)
{
	const struct blob_table *t = &blob_conf.tables[table];
	u64 hash = blob_key_hash(blob_conf.cookie, key, t->key_size / 8);
	struct search s = search_of(d, t, key, hash, cpu);
	u64 *slot = slot_at(&s, 0);

	if (t->slots && word_load(slot) == BLOB_SLOT_WORD(BLOB_SLOT_LIVE, hash) &&
	    key_is(slot + 1, key, s.nwords))
		return (u64 *)((u8 *)slot + t->val_off);
	return value_find(d, t, key, hash, cpu);
}

/* ---- values: record/layout.h ----------------------------------------------------------------- */

#define MIN_NEUTRAL 0x7fffffffffffffffull
#define MAX_NEUTRAL 0x8000000000000000ull

FUNC void blob_min(u64 *value, s64 x)
{
	u64 old = word_load(value);

	while (x < (s64)(old ^ MIN_NEUTRAL))
		if (word_swap(value, &old, (u64)x ^ MIN_NEUTRAL))
			return;
}

FUNC void blob_max(u64 *value, s64 x)
{
	u64 old = word_load(value);

	while (x > (s64)(old ^ MAX_NEUTRAL))
		if (word_swap(value, &old, (u64)x ^ MAX_NEUTRAL))
			return;
}

FUNC void blob_avg(u64 *value, s64 x)
{
	word_add(&value[0], 1);
	word_add(&value[1], (u64)x);
}

FUNC void blob_stddev(u64 *value, s64 x)
{
	unsigned __int128 square = (unsigned __int128)((__int128)x * x);
	u64 low = (u64)square, high = (u64)(square >> 64);

	blob_avg(value, x);
	if (__atomic_add_fetch(&value[2], low, __ATOMIC_RELAXED) < low)
		high++;
	word_add(&value[3], high);
}
