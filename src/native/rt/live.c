/* SPDX-License-Identifier: MIT */
/*
 * live() and dead(): the addresses that are followed (struct blob_live).
 *
 * A block is entered in the slot that its address owns, or may own. If another address has that, it
 * is entered in a second table: in one of the slots of its home there, or in a later one when these
 * are taken; the home counts those that are elsewhere, so that an address that is not there costs
 * one look at the home. Nothing is moved, and no slot of the second table is a tombstone.
 *
 * Who may change the same address at the same time
 *     The program itself puts live() and dead() of one address in order: a block is its caller's
 *     when malloc() returns, where live() is, before anybody can free it; and the next malloc() can
 *     return the address only after the free(), at whose entry dead() is, has begun and given it
 *     back. So nobody else fills or leaves an own slot, which is done by a comparison that is one
 *     instruction, not divided by a signal or another thread on the same CPU, but not locked, which
 *     takes 20 cycles and waits for all stores before it. There are three exceptions.
 *
 *     realloc() frees inside, and dead(old, since) comes when it returns: another thread may have
 *     the address by then. That block has a later time, which tells: word and time of a slot are
 *     compared and changed by one locked instruction. If the owner's comparison has read the time
 *     before that, and writes behind it, the block that comes is entered, and the one before is
 *     gone either way.
 *
 *     Another address wants the slot, whose owner is not alive. It says so in the time, locked, and
 *     enters itself elsewhere. An owner that comes back meanwhile sees the changed time, and
 *     compares locked; or its instruction has begun before, and then it overwrites that mark. Only
 *     when the mark has stood for a millisecond, in which each instruction that had begun has
 *     ended, is the slot taken, locked. A thread that has slept between its look at the slot and
 *     its comparison finds another time there: that of a slot at rest is the word of its address.
 *     So the time is read before the word.
 *
 *     Programs with an error may free a block twice, which changes a time that another one has
 *     read: at most that block is wrong. In the second table a free() compares the word alone, and
 *     not locked: another block can be wrong if two CPUs free one in the same cycles, and a third
 *     one uses the slot in between.
 *
 *     A signal handler comes between two instructions of the same thread, which the above covers.
 *     If it never returns there, the slot that was being filled is its address's, or is lost.
 */
#include "native/rt/rt.h"

#define NO_LIMIT  (~0ull)
#define TRIES	  8
#define STRAY_MAX 255u /* so many or more are elsewhere: it stays */

struct home {
	struct blob_live *table;
	u64 first, mask; /* numbers of slots */
	u64 word;
};

static inline struct home home_of(struct blob_data *d, u64 addr)
{
	u64 mask = blob_conf.live_mask;

	return (struct home){(struct blob_live *)((u8 *)d + blob_conf.live_off),
			     (addr * BLOB_HASH_FACTOR >> 32) * BLOB_LIVE_WAYS & mask, mask,
			     addr ^ BLOB_LIVE_XOR};
}

/* The first slot of the home, with which the others of it lie. */
static inline struct blob_live *home_slots(const struct home *h)
{
	return &h->table[h->first];
}

/* The first slot of the home that has this word, an address or 0; NULL: none has. */
static inline struct blob_live *home_find(const struct home *h, u64 word)
{
	struct blob_live *s = home_slots(h);

	_Static_assert(BLOB_LIVE_WAYS == 4, "all of them are looked at");
	if (word_load(&s[0].word) == word)
		return &s[0];
	if (word_load(&s[1].word) == word)
		return &s[1];
	if (word_load(&s[2].word) == word)
		return &s[2];
	return word_load(&s[3].word) == word ? &s[3] : 0;
}

static inline struct blob_live *slot_at(const struct home *h, u64 i)
{
	return &h->table[(h->first + i) & h->mask];
}

static inline u8 *strays_of(const struct home *h)
{
	return &home_slots(h)->strays;
}

/* Adds 1 or -1 to the number of addresses of the home that are elsewhere. */
static void strays_count(u8 *strays, u8 n)
{
	u8 old = __atomic_load_n(strays, __ATOMIC_RELAXED);

	for (u32 i = 0; i < TRIES; i++) {
		if (old == STRAY_MAX || (n != 1 && !old))
			return;
		if (__atomic_compare_exchange_n(strays, &old, (u8)(old + n), 0, __ATOMIC_ACQ_REL,
						__ATOMIC_RELAXED))
			return;
	}
	__atomic_store_n(strays, STRAY_MAX, __ATOMIC_RELEASE);
}

/* The slot that an address owns, or may own. */
static inline struct blob_live *own_slot(struct blob_data *d, u64 addr)
{
	return (struct blob_live *)((u8 *)d + blob_conf.own_off) +
	       blob_live_own(addr, blob_conf.own_shift);
}

/* ---- giving back ----------------------------------------------------------------------------- */

/* Changes word and time of a slot together, if both are still what they were. */
static inline int pair_swap(struct blob_live *s, u64 word, u64 time, u64 new_word, u64 new_time)
{
	u8 done;

	__asm__ volatile("lock cmpxchg16b %[pair]"
			 : [pair] "+m"(*(unsigned __int128 *)s), "+a"(word), "+d"(time),
			   "=@cce"(done)
			 : "b"(new_word), "c"(new_time)
			 : "memory");
	return done;
}

/* Changes the time of an own slot if it is still this one, for the block's owner: not locked. */
static inline int time_swap(struct blob_live *s, u64 time, u64 new_time)
{
	u8 done;

	__asm__ volatile("cmpxchg %[new], %[time]"
			 : [time] "+m"(s->time), "+a"(time), "=@cce"(done)
			 : [new] "r"(new_time)
			 : "memory");
	return done;
}

/* Gives the slot back if it still has the address, of a time up to this one. */
static int slot_leave(struct blob_live *s, u64 word, u64 until)
{
	if (until == NO_LIMIT)
		return word_swap(&s->word, &word, 0);
	for (u32 i = 0; i < TRIES; i++) {
		u64 time = word_load(&s->time);

		if (time > until || word_load(&s->word) != word)
			return 0;
		if (pair_swap(s, word, time, 0, time))
			return 1;
	}
	return 0;
}

/*
 * The owner of an address gives a slot back for any address: no signal interrupts it, and other
 * CPUs need not wait.
 */
static inline void own_leave(struct blob_live *s, u64 word)
{
	__asm__ volatile("cmpxchg %[none], %[word]"
			 : [word] "+m"(s->word), "+a"(word)
			 : [none] "r"(0ull)
			 : "memory", "cc");
}

static __attribute__((noinline)) void stray_leave(const struct home *h, u64 until)
{
	for (u64 i = BLOB_LIVE_WAYS; i < BLOB_LIVE_REACH; i++) {
		struct blob_live *s = slot_at(h, i);

		if (word_load(&s->word) != h->word)
			continue;
		if (slot_leave(s, h->word, until))
			strays_count(strays_of(h), (u8)-1);
		return;
	}
}

/* Gives an address back that does not own a slot. */
static __attribute__((noinline)) void addr_leave(struct blob_data *d, u64 addr, u64 until)
{
	struct home h = home_of(d, addr);
	struct blob_live *s = home_find(&h, h.word);

	if (h.word <= BLOB_LIVE_BUSY)
		return;
	if (s && until == NO_LIMIT)
		own_leave(s, h.word);
	else if (s)
		(void)slot_leave(s, h.word, until);
	else if (__atomic_load_n(strays_of(&h), __ATOMIC_ACQUIRE))
		stray_leave(&h, until);
}

/* The block of an own slot is not alive any more, if its time is up to this one. */
static __attribute__((noinline)) void owner_leave(struct blob_live *s, u64 word, u64 until)
{
	for (u32 i = 0; i < TRIES; i++) {
		u64 time = word_load(&s->time);

		if (time > until || time > BLOB_LIVE_TIME_MAX || word_load(&s->word) != word ||
		    pair_swap(s, word, time, word, word))
			return;
	}
}

FUNC void blob_dead(struct blob_data *d, u64 addr, u64 until)
{
	struct blob_live *s = own_slot(d, addr);
	u64 word = addr ^ BLOB_LIVE_XOR, time = word_load(&s->time);

	if (word_load(&s->word) != word) {
		addr_leave(d, addr, until);
		return;
	}
	if (until != NO_LIMIT)
		owner_leave(s, word, until);
	else if (time <= BLOB_LIVE_TIME_MAX && word > BLOB_LIVE_BUSY)
		(void)time_swap(s, time, word);
}

/* ---- entering -------------------------------------------------------------------------------- */

struct entry {
	u64 time, bytes;
	u32 elem;
};

static inline struct entry entry_of(const struct blob_data *d, u64 bytes, u64 time,
				    const u64 *value)
{
	return (struct entry){time, bytes, (u32)((u64)((const u8 *)value - (const u8 *)d) / 8)};
}

/* Fills a slot that has this word, 0 or the address, unless somebody else was faster. */
static inline int slot_fill(const struct home *h, struct blob_live *s, u64 had,
			    const struct entry *e)
{
	if (!word_swap(&s->word, &had, BLOB_LIVE_BUSY))
		return 0;
	__atomic_store_n(&s->time, e->time, __ATOMIC_RELAXED);
	__atomic_store_n(&s->bytes, e->bytes, __ATOMIC_RELAXED);
	__atomic_store_n(&s->elem, e->elem, __ATOMIC_RELAXED);
	__atomic_store_n(&s->word, h->word, __ATOMIC_RELEASE);
	return 1;
}

/* Enters an address in its home, or, when all slots of that are taken, in a later one. */
static __attribute__((noinline)) int stray_enter(const struct home *h, const struct entry *e)
{
	for (u64 i = 0; i < BLOB_LIVE_WAYS; i++)
		if (!word_load(&slot_at(h, i)->word) && slot_fill(h, slot_at(h, i), 0, e))
			return 1;
	strays_count(strays_of(h), 1);
	for (u64 i = BLOB_LIVE_WAYS; i < BLOB_LIVE_REACH; i++)
		if (!word_load(&slot_at(h, i)->word) && slot_fill(h, slot_at(h, i), 0, e))
			return 1;
	strays_count(strays_of(h), (u8)-1);
	return 0;
}

/* value: of the element, in the data part. Its words behind the first three are what is lost. */
static __attribute__((noinline)) void entry_lose(struct blob_data *d, u64 bytes, u64 *value,
						 u64 cpu)
{
	word_add(&value[3], 1);
	word_add(&value[4], bytes);
	word_add(&cpu_of(d, cpu)->live_drops, 1);
}

/* Enters an address in the table for all addresses. */
static __attribute__((noinline)) void addr_enter(struct blob_data *d, u64 addr,
						 const struct entry *e, u64 *value, u64 cpu)
{
	struct home h = home_of(d, addr);
	struct blob_live *s;

	if (h.word <= BLOB_LIVE_BUSY) {
		entry_lose(d, e->bytes, value, cpu);
		return;
	}
	s = home_find(&h, h.word);
	if (s && slot_fill(&h, s, h.word, e))
		return;
	if (__atomic_load_n(strays_of(&h), __ATOMIC_ACQUIRE))
		stray_leave(&h, NO_LIMIT);
	if (!stray_enter(&h, e))
		entry_lose(d, e->bytes, value, cpu);
}

/* Fills a slot that the address owns, of which the time is BLOB_LIVE_FILLING. */
static inline void own_fill(struct blob_live *s, const struct entry *e)
{
	__atomic_store_n(&s->bytes, e->bytes, __ATOMIC_RELAXED);
	__atomic_store_n(&s->elem, e->elem, __ATOMIC_RELAXED);
	__atomic_store_n(&s->time, e->time, __ATOMIC_RELEASE);
}

/* Whether a slot is wanted for so long that no instruction of its owner is under way any more. */
static inline int is_due(u64 time)
{
	u64 past = (__builtin_ia32_rdtsc() - time) & ~BLOB_LIVE_WANTED;

	return time >= BLOB_LIVE_WANTED && time != BLOB_LIVE_FILLING && past > BLOB_LIVE_GRACE &&
	       past < BLOB_LIVE_WANTED >> 2;
}

/*
 * Makes a slot the address's, which then fills it; 0: it has another owner. *ret_may_be_elsewhere:
 * another address had it until now, so this one may have been entered in the second table.
 */
static __attribute__((noinline)) int own_take(struct blob_live *s, u64 word,
					      int *ret_may_be_elsewhere)
{
	for (u32 i = 0; i < TRIES && word >> 62 == BLOB_LIVE_XOR >> 62; i++) {
		u64 had = word_load(&s->word), time = word_load(&s->time);

		*ret_may_be_elsewhere = had && had != word;
		if (!*ret_may_be_elsewhere || is_due(time)) {
			if (pair_swap(s, had, time, word, BLOB_LIVE_FILLING))
				return 1;
		} else if (time != had || pair_swap(s, had, time, had,
						    __builtin_ia32_rdtsc() | BLOB_LIVE_WANTED)) {
			return 0;
		}
	}
	return 0;
}

/* Enters an address that does not own its slot, or not alone. */
static __attribute__((noinline)) void other_enter(struct blob_data *d, u64 addr, u64 bytes,
						  u64 time, u64 *value, u64 cpu)
{
	struct entry e = entry_of(d, bytes, time, value);
	struct blob_live *s = own_slot(d, addr);
	int may_be_elsewhere = 0;

	if (!own_take(s, addr ^ BLOB_LIVE_XOR, &may_be_elsewhere)) {
		addr_enter(d, addr, &e, value, cpu);
		return;
	}
	if (may_be_elsewhere)
		addr_leave(d, addr, NO_LIMIT);
	own_fill(s, &e);
}

FUNC void blob_live(struct blob_data *d, u64 addr, u64 bytes, u64 time, u64 *value, u64 cpu)
{
	struct entry e = entry_of(d, bytes, time, value);
	struct blob_live *s = own_slot(d, addr);
	u64 word = addr ^ BLOB_LIVE_XOR, had = word_load(&s->time);

	if (word_load(&s->word) == word && word > BLOB_LIVE_BUSY && had < BLOB_LIVE_WANTED &&
	    time_swap(s, had, BLOB_LIVE_FILLING))
		own_fill(s, &e);
	else
		other_enter(d, addr, bytes, time, value, cpu);
}
