/* SPDX-License-Identifier: MIT */
/*
 * Variables: the blocks of threads, and the elements of arrays.
 *
 * An element is stored by one instruction that compares the slot's word and changes the value, so
 * that a thread that was interrupted in between does not store into a slot that has become another
 * key's. The word counts how often the slot was used. The slot of an array:
 *
 *     u64 word    state, 16 bits of the count, 40 bits of the key's hash
 *     u64 value
 *     u64 key[]
 */
#include "native/rt/rt.h"

/* ---- threads --------------------------------------------------------------------------------- */

static inline u64 *thread_slot(const struct blob_data *d, const struct blob_table *t, u64 i)
{
	return (u64 *)((u8 *)d + t->off + (i & (t->slots - 1)) * t->slot_size);
}

static u64 *thread_search(const struct blob_data *d, const struct blob_table *t, u64 thread,
			  u64 hash, u64 makes, int *again)
{
	u64 *free = 0, free_word = 0;

	*again = 0;
	for (u32 i = 0; i < BLOB_PROBES; i++) {
		u64 *slot = thread_slot(d, t, hash + i), word = word_load(slot);

		if (word == BLOB_SLOT_EMPTY && (!makes || free))
			break;
		if (word == BLOB_SLOT_EMPTY && word_swap(slot, &word, thread))
			return slot;
		if (word == thread)
			return slot;
		if (slot_state(word) == BLOB_THREAD_FREE && !free) {
			free = slot;
			free_word = word;
		}
	}
	if (!makes || !free)
		return 0;
	if (word_swap(free, &free_word, thread))
		return free;
	*again = 1;
	return 0;
}

#define TRIES 4

/* Returns the block of a thread that is not in the first slot of its hash. */
static __attribute__((noinline)) u64 *thread_find(struct blob_data *d, u64 thread, u64 hash,
						  u64 cpu, u64 makes)
{
	const struct blob_table *t = &blob_conf.tables[blob_conf.threads];
	int again = 1;

	for (u32 i = 0; thread >> 32 && t->slots && again && i < TRIES; i++) {
		u64 *slot = thread_search(d, t, thread, hash, makes, &again);

		if (slot)
			return (u64 *)((u8 *)slot + t->val_off);
	}
	if (makes)
		word_add(&cpu_of(d, cpu)->dyn_drops, 1);
	return 0;
}

FUNC u64 *blob_thread(struct blob_data *d, u64 thread, u64 cpu, u64 makes)
{
	const struct blob_table *t = &blob_conf.tables[blob_conf.threads];
	u64 hash = blob_thread_hash(thread), *slot = thread_slot(d, t, hash);

	if (thread >> 32 && t->slots && word_load(slot) == thread)
		return (u64 *)((u8 *)slot + t->val_off);
	return thread_find(d, thread, hash, cpu, makes);
}

/* ---- arrays ---------------------------------------------------------------------------------- */

#define HASH_BITS	40
#define WORD_BITS(word) ((word) & ((1ull << BLOB_SLOT_SHIFT) - 1))

struct array {
	u8 *base;
	const u64 *key;
	u32 slots, slot_size, nwords;
	u64 hash;
};

struct found {
	u64 *slot; /* NULL: the key is not there */
	u64 word;
	u64 *room, room_word; /* the first slot that the key could have; NULL: none */
};

static inline struct array array_of(struct blob_data *d, u64 table, const u64 *key)
{
	const struct blob_table *t = &blob_conf.tables[table];
	u32 nwords = t->key_size / 8;

	return (struct array){(u8 *)d + t->off, key,
			      t->slots,		t->slot_size,
			      nwords,		blob_key_hash(blob_conf.cookie, key, nwords)};
}

/* Searches from slot *i of the chain on, and leaves there the one behind what it has found. */
static struct found array_find(const struct array *a, u32 *i)
{
	struct found f = {0};

	for (; a->slots && *i < BLOB_PROBES; ++*i) {
		u64 *slot = (u64 *)(a->base + ((a->hash + *i) & (a->slots - 1)) * a->slot_size);
		u64 word = word_load(slot);
		u8 state = slot_state(word);

		if ((state == BLOB_SLOT_EMPTY || state == BLOB_SLOT_FREE) && !f.room) {
			f.room = slot;
			f.room_word = word;
		}
		if (state == BLOB_SLOT_EMPTY)
			break;
		if (state != BLOB_SLOT_LIVE || (word ^ a->hash) << (64 - HASH_BITS))
			continue;
		if (key_is(slot + 2, a->key, a->nwords)) {
			f.slot = slot;
			f.word = word;
			++*i;
			break;
		}
	}
	return f;
}

/* Changes word and value of a slot together, if both are still what they were. */
static inline int slot_swap(u64 *slot, u64 word, u64 value, u64 new_word, u64 new_value)
{
	u8 done;

	__asm__ volatile("lock cmpxchg16b %[slot]"
			 : [slot] "+m"(*(unsigned __int128 *)slot), "+a"(word), "+d"(value),
			   "=@cce"(done)
			 : "b"(new_word), "c"(new_value)
			 : "memory");
	return done;
}

FUNC u64 blob_load(struct blob_data *d, u64 table, const u64 *key)
{
	struct array a = array_of(d, table, key);

	for (u32 n = 0; n < TRIES; n++) {
		u32 i = 0;
		struct found f = array_find(&a, &i);
		u64 x;

		if (!f.slot)
			return 0;
		x = word_load(&f.slot[1]);
		if (word_load(f.slot) == f.word)
			return x;
	}
	return 0;
}

/* Stores to a slot that was the key's; 0: it is not any more. */
static int slot_store(const struct found *f, u64 new_word, u64 x)
{
	do {
		u64 old = word_load(&f->slot[1]);

		if (slot_swap(f->slot, f->word, old, new_word, x))
			return 1;
	} while (word_load(f->slot) == f->word);
	return 0;
}

/* Two threads may have entered the key at the same time: both elements are removed. */
static void array_remove(const struct array *a)
{
	u32 i = 0;

	for (;;) {
		struct found f = array_find(a, &i);

		if (!f.slot)
			return;
		(void)slot_store(&f, BLOB_SLOT_WORD(BLOB_SLOT_FREE, WORD_BITS(f.word)), 0);
	}
}

/* Makes the room that was found the key's, with its value. */
static int room_enter(const struct array *a, struct found *f, u64 x)
{
	u64 count = (WORD_BITS(f->room_word) >> HASH_BITS) + 1;
	u64 bits = count << HASH_BITS | (a->hash & ((1ull << HASH_BITS) - 1));

	if (!word_swap(f->room, &f->room_word, BLOB_SLOT_WORD(BLOB_SLOT_BUSY, bits)))
		return 0;
	key_copy(f->room + 2, a->key, a->nwords);
	__atomic_store_n(&f->room[1], x, __ATOMIC_RELAXED);
	__atomic_store_n(f->room, BLOB_SLOT_WORD(BLOB_SLOT_LIVE, bits), __ATOMIC_RELEASE);
	return 1;
}

FUNC void blob_store(struct blob_data *d, u64 table, const u64 *key, u64 x, u64 cpu)
{
	struct array a = array_of(d, table, key);

	if (!x) {
		array_remove(&a);
		return;
	}
	for (u32 n = 0; n < 2 * TRIES; n++) {
		u32 i = 0;
		struct found f = array_find(&a, &i);

		if (f.slot ? slot_store(&f, f.word, x) : f.room && room_enter(&a, &f, x))
			return;
		if (!f.slot && !f.room)
			break;
	}
	word_add(&cpu_of(d, cpu)->dyn_drops, 1);
}
