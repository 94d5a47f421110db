/* SPDX-License-Identifier: MIT */
/*
 * The blob: C functions that generated code calls inside a traced process, and the memory on which
 * they work, the data part.
 *
 * The functions are in rt/. They are compiled to one flat piece of position-independent code, which
 * the engine copies into the process as it is: no relocations, no calls out of it, general
 * registers only. The only data of its own is struct blob_conf, which the engine places behind it.
 * They never wait: a signal handler may enter them again at every instruction, a thread may move to
 * another CPU or end anywhere. What they cannot do at once they count as dropped.
 *
 * The data part begins with struct blob_data. Behind it, at offsets that the tracer has chosen
 * (struct blob_plan, of which functions have what they need in struct blob_conf), lie:
 *
 *     struct blob_cpu[]           counters, and the head of the ring of records, of each CPU: as
 *                                 many as plan_ncounter_blocks()
 *     rings                       one a CPU
 *     tables                      aggregations: one a map and CPU; arrays: one a map; threads: one
 *     counters                    of sites that do nothing but count under a key which they fix
 *     struct blob_samples         threads in sampled calls, and addresses that are followed
 *     struct blob_live[]          what live() follows: slots of addresses, and those for all others
 *     global variables            layout.gvars_size bytes
 *
 * Tables    A table has a power of two of slots: a word, the key, the value. Searching begins at
 *           the slot of the key's hash, and ends at an empty one, or after BLOB_PROBES slots. A key
 *           is entered by changing the word from empty to busy; when the key is complete, the word
 *           becomes live. Whoever meets a busy slot goes on to the next one, so that a key can be
 *           in two slots, which the reader adds up.
 * Cells     Aggregations without keys have a value at a fixed place for each CPU. Those of min()
 *           and max() have BLOB_BANKS of them; a byte that the tracer changes says which is used.
 * Records   A record is reserved by changing the CPU's head. Its word is then BLOB_REC_BEGUN, and
 *           after the last byte is written BLOB_REC_DONE. Words are disguised by their position, so
 *           that bytes of older records do not pass for one.
 * Trust     Children of fork() share the data part with the process, may have fewer privileges than
 *           it, and can write anything there at any time. So nothing that is read from it leads
 *           anywhere: where things lie and how large they are stands in the code, which is memory
 *           of each process alone, and a position or number from the data part is masked before it
 *           is used. Wrong bytes make wrong numbers, and nothing else.
 * Writers   The tracer writes while functions run: single bytes only, because nothing says that its
 *           writes are atomic beyond. Otherwise it writes what no function can be reading.
 *
 * Included by host C and by the blob itself, hence fixed-width types only.
 */
#pragma once

#include "base/ints.h"

#define BLOB_MAGIC     0x61746164656e7564ull
#define BLOB_LINE      64u
#define BLOB_PROBES    64u
#define BLOB_BANKS     8u
#define BLOB_CLOCKS    16u
#define BLOB_STACK_MAX 256u /* bytes of stack that a function of the blob uses */

/* ---- the data part --------------------------------------------------------------------------- */

/*
 * How the time stamp counter becomes CLOCK_MONOTONIC: ns + ((counter - tsc) * mult >> 32). tsc lies
 * in the past.
 */
struct blob_clock {
	u64 tsc, ns, mult, pad;
};

/* Of a map of aggregations or arrays, or of the threads; slots == 0: it has no table. */
struct blob_table {
	u64 off;      /* of the first slot, or cell, in the data part */
	u64 cpu_size; /* from one CPU's to the next one's; 0: all CPUs use the same */
	u32 slots;    /* a power of two; cells: their number */
	u32 slot_size, key_size, val_off; /* multiples of 8; key_size 0: cells */
	u32 val_size;			  /* a multiple of 8 */
	u32 pad;
	u64 banks_off; /* cells: one byte each, the bank that is used */
};

struct blob_cpu {
	u64 drops, agg_drops, dyn_drops; /* as those of struct rt_cpu */
	/*
	 * sample(): the bytes that are left until the next one of the sample, of this mean
	 * distance, and how many distances were drawn.
	 */
	u64 sample_left, sample_mean, sample_draws;
	u64 live_drops; /* as that of struct rt_cpu */
	u64 pad;
	u64 head; /* bytes that were ever reserved in the ring */
	u8 tail;  /* how many BLOB_RING_PARTS-ths of the ring the tracer has read, modulo 256 */
	u8 pad2[55];
};

_Static_assert(!(sizeof(struct blob_cpu) & (sizeof(struct blob_cpu) - 1)), "stubs shift by it");

struct blob_data {
	u64 magic;
	u8 state; /* enum rt_state */
	u8 clock; /* clocks[clock % BLOB_CLOCKS] is the newest */
	u8 pad[6];
	struct blob_clock clocks[BLOB_CLOCKS];
	/*
	 * The latest time that ORDER has returned: one more is the time of live() where only the
	 * order counts. It is read often, on a line that is seldom changed.
	 */
	u64 order;
	u64 pad2[5];
};
_Static_assert(sizeof(struct blob_data) % BLOB_LINE == 0, "its last line is its own");

/*
 * What sample(), sampled() and followed() have noted. An address is in its set, which all addresses
 * of the same hash share, and counted in pages, where most addresses that are not noted are told by
 * one byte (bits 12 to 27 of the address are its index), at which the stub looks. Neither
 * ever loses an address: a set without room raises is_full, and from then on every address whose
 * page is counted counts as noted.
 */
#define BLOB_SAMPLE_THREADS 256u   /* powers of two */
#define BLOB_SAMPLE_PAGES   65536u /* of 4 KB of addresses; every 256 MB have the same */
#define BLOB_SAMPLE_SETS    65536u
#define BLOB_SAMPLE_WAYS    8u
#define BLOB_PAGE_MANY	    255u /* so many or more were noted: it stays */

struct blob_samples {
	u64 is_full;
	u32 ncalls; /* at least as many as there are thread blocks in threads[] */
	u32 pad0;
	u64 pad[6];
	u64 threads[BLOB_SAMPLE_THREADS]; /* thread blocks of those in a sampled call */
	u8 pages[BLOB_SAMPLE_PAGES];
	u64 sets[BLOB_SAMPLE_SETS][BLOB_SAMPLE_WAYS]; /* addresses; 0: room */
};

/*
 * What live() follows: a slot for each address that is alive. Word and time are changed together.
 *
 * An address has one slot that it may own (blob_live_own()), and keeps while it is not alive: then
 * the time is the word. An address that wants the slot of another one, which is not alive, writes
 * into the time that it does, and when (BLOB_LIVE_WANTED).
 *
 * An address whose own slot has another one is in one of the slots of its home, BLOB_LIVE_WAYS that
 * follow one another in a second table, or in one of the BLOB_LIVE_REACH from there on.
 */
struct blob_live {
	u64 word; /* address ^ BLOB_LIVE_XOR; 0: room; BLOB_LIVE_BUSY: somebody is filling it */
	u64 time; /* when live() was called; of an own slot not above BLOB_LIVE_TIME_MAX: alive */
	u64 bytes;
	u32 elem; /* the value of the element, in words from the beginning of the data part */
	u8 pad[3];
	u8 strays; /* of the first slot of a home: how many of its addresses are elsewhere */
};
#define BLOB_LIVE_WAYS	4u
#define BLOB_LIVE_REACH 64u
#define BLOB_LIVE_BUSY	1ull
#define BLOB_LIVE_XOR	0x8000000000000000ull /* it is no address, and not followed */

#define BLOB_LIVE_TIME_MAX (~0ull >> 1)
#define BLOB_LIVE_WANTED   (3ull << 62) /* and the other bits of the time stamp counter */
#define BLOB_LIVE_FILLING  (~0ull)	/* the owner fills it */
#define BLOB_LIVE_GRACE	   (1ull << 22) /* cycles from when a slot is wanted until it is taken */
/*
 * Numbers above are the kernel's addresses, or none: they own nothing. So the word of an owner has
 * the bits 10 above, and is neither a time nor one of the numbers above.
 */
#define BLOB_LIVE_OWNER_MAX (~0ull >> 2)
#define BLOB_LIVE_OWN_MIN   256u /* slots: those of 4 KB of addresses follow one another */

/*
 * Where a runtime keeps the frames of its language (SITE): offsets in bytes. A thread-local
 * variable has the address of the thread's context, or 0; the context has the address of a stack of
 * frames, the number of its words, and the address of the innermost frame. Outer frames follow at
 * higher addresses. What is read is the thread's own, and its runtime uses it at the same time.
 */
struct blob_frames {
	s64 context;	       /* of the variable, from the thread block */
	u32 stack, words, top; /* in the context */
	u32 size;	       /* of a frame; 0: nothing is known, and there are no sites */
	u32 code, at;	       /* in a frame: the code that it runs, and the position in that */
	u32 depth, pad;	       /* so many frames are looked at */
};

/* What the functions know of the data part: it stands behind their code, which nobody changes. */
struct blob_conf {
	u64 cookie; /* a random number, by which words of records and places of keys differ */
	u32 pid;    /* read by code that children of the process execute, too */
	u32 pad;
	u32 ncpus;
	u32 threads; /* the number of the table of thread-local variables */
	u64 cpus_off, rings_off;
	u64 ring_size;	 /* of each CPU's, a power of two */
	u64 samples_off; /* of struct blob_samples; 0: there is none */
	u64 live_off;	 /* of the slots of live(), if a clause has such */
	u64 live_mask;	 /* their number, a power of two, less 1 */
	u64 own_off;	 /* of the slots that addresses own */
	u64 own_shift;	 /* 64 less the binary logarithm of their number */
	struct blob_frames frames;
	struct blob_table tables[];
};

/* Where things lie; the tracer's own copy, which is not read from the process. */
struct blob_plan {
	u64 size; /* of the data part */
	u32 ncpus;
	u32 nagg, narr; /* as layout.nagg_maps, narr_maps */
	u64 cpus_off, rings_off, ring_size, gvars_off;
	/*
	 * Counters of sites: ncounters words, and 1 << counters_shift bytes on those of the next
	 * CPU, for plan_ncounter_blocks() CPUs; and then those of the owner thread.
	 */
	u64 counters_off;
	u32 ncounters, counters_shift;
	u64 samples_off; /* of struct blob_samples; 0: no clause samples */
	u64 live_off;	 /* of the slots of live(); 0: no clause calls it */
	u32 live_slots;	 /* a power of two, a multiple of BLOB_LIVE_WAYS */
	u64 own_off;	 /* of the slots of live() that addresses own; 0: there are none */
	u32 own_slots;	 /* a power of two, at least BLOB_LIVE_OWN_MIN */
	u32 max_record;	 /* the most bytes of a record */
	/* What SITE knows; size 0 until it is set, which is before ndata_conf(). */
	struct blob_frames frames;
	/*
	 * Table i is that of layout.agg_maps[i], nagg + i that of layout.arr_maps[i], and
	 * nagg + narr that of thread-local scalars.
	 */
	u32 ntables;
	struct blob_table *tables;
};

/* A power of two, so that a stub need not compare the number of a CPU, but only mask it. */
static inline u32 plan_ncounter_blocks(u32 ncpus)
{
	u32 n = 1;

	while (n < ncpus)
		n *= 2;
	return n;
}

/* The word of a slot: what it is, and bits of the key's hash, or a number that counts uses. */
#define BLOB_SLOT_EMPTY 0ull
#define BLOB_SLOT_BUSY	1ull /* somebody is writing the key */
#define BLOB_SLOT_LIVE	2ull
#define BLOB_SLOT_DEAD	3ull /* taken out by the tracer; changed by late writers only */
#define BLOB_SLOT_FREE	4ull /* may become busy again */
#define BLOB_SLOT_SHIFT 56   /* the byte of these */
#define BLOB_SLOT_WORD(state, bits)                                                                \
	((state) << BLOB_SLOT_SHIFT | ((bits) & ((1ull << BLOB_SLOT_SHIFT) - 1)))

/*
 * A thread, as functions are told it: its id, and bits of the address of its thread block. Id 0:
 * not known.
 */
#define BLOB_THREAD(tid, fs) ((u64)(tid) << 32 | (u32)((u64)(fs) >> 6))
/*
 * The word of a slot of the threads' table is the thread, without a hash and without being busy: it
 * is changed by one instruction. Its highest byte is never used by a thread's id.
 */
#define BLOB_THREAD_FREE 0xffull

#define BLOB_HASH_FACTOR 0x9e3779b97f4a7c15ull /* 2^64 / golden ratio */

/*
 * Generated code computes it, too (gen.c). Only the upper bits of a product depend on all bits of
 * what is multiplied, and tables are searched from the lower bits of the hash on: so the halves are
 * exchanged, and the last word is multiplied once more.
 */
static inline u64 blob_key_hash(u64 cookie, const u64 *key, u32 nwords)
{
	u64 h = cookie;

	for (u32 i = 0; i < nwords; i++) {
		h = (h ^ key[i]) * BLOB_HASH_FACTOR;
		h = h >> 32 | h << 32;
	}
	h *= BLOB_HASH_FACTOR;
	return h >> 32 | h << 32;
}

/*
 * The number of the slot that an address may own. Blocks are multiples of 16: those of 4 KB have
 * slots of their own that are as near to one another. Other numbers are spread by their last bits.
 */
static inline u64 blob_live_own(u64 addr, u64 own_shift)
{
	u64 n = addr >> 4 | addr << 60;

	return (n >> 8) * BLOB_HASH_FACTOR >> own_shift ^ (n & (BLOB_LIVE_OWN_MIN - 1));
}

/* By its lower bits, searching for the slot of a thread begins. */
static inline u64 blob_thread_hash(u64 thread)
{
	return thread * BLOB_HASH_FACTOR >> 32;
}

/* ---- rings ----------------------------------------------------------------------------------- */

#define BLOB_RING_PARTS 64u
#define BLOB_REC_ALIGN	16u /* of records, and of their sizes in the ring */

/* Stands before each record. The bytes of struct rt_rec follow. */
struct blob_rec {
	u64 word;   /* (len << 8 | state) ^ blob_rec_mask() */
	u64 thread; /* whose record it is */
};
#define BLOB_REC_BEGUN 0x11u
#define BLOB_REC_DONE  0x22u
#define BLOB_REC_NONE  0x44u /* nothing to be read: given up, or the rest of the ring's end */

static inline u64 blob_rec_mask(u64 cookie, u64 pos)
{
	u64 x = cookie ^ pos * 0x9e3779b97f4a7c15ull;

	return x ^ x >> 29;
}

/* The bytes that a record of len takes in the ring. */
static inline u64 blob_rec_size(u64 len)
{
	return (sizeof(struct blob_rec) + len + (BLOB_REC_ALIGN - 1)) & ~(u64)(BLOB_REC_ALIGN - 1);
}

/*
 * Generated code may do these itself: rec is what BLOB_RECORD_BEGIN has returned. All bytes of the
 * record must be written before.
 */
static inline void blob_rec_end(void *rec, u8 state)
{
	u8 *word = (u8 *)((struct blob_rec *)rec - 1);

	__atomic_store_n(word, (u8)(*word ^ BLOB_REC_BEGUN ^ state), __ATOMIC_RELEASE);
}

/* ---- functions ------------------------------------------------------------------------------- */

/*
 * They are called by the C calling convention, except that they need no alignment of the stack;
 * they destroy what that allows, general registers only. data is the address of the data part; cpu
 * the number of a CPU, from whatever source (one that is too large counts as 0); thread is
 * BLOB_THREAD().
 *
 * u64 TIME(data)
 *     CLOCK_MONOTONIC in ns.
 * u64 ORDER(data)
 *     The same, but later than what it has returned before, to whichever thread.
 * void EXIT(data)
 *     exit(): changes the state ON to EXITING.
 * u64 *CELL(data, table, elem, cpu)
 *     The value of a keyless aggregation. Code for others than min() and max() may use
 *     tables[table].off + cpu * cpu_size + elem * slot_size instead.
 * u64 *VALUE(data, table, key, cpu)
 *     The value of a key of an aggregation, which is entered if it is new; NULL: there was no room,
 *     which has been counted. key: tables[table].key_size bytes, on an address that is a multiple
 *     of 8, all of them set: padding is zero.
 * void MIN, MAX, AVG, STDDEV(value, x)
 *     Update a value; count() and sum() are one locked add. A keyless value's touched word is the
 *     caller's to set.
 * u64 QUANTIZE(x), LQUANTIZE(x, base, levels, step), LLQUANTIZE(x, factor, low, high, steps)
 *     The bucket's number, which is below agg_layout.nbuckets.
 * void *RECORD_BEGIN(data, cpu, len, thread)
 *     Room for a record of len bytes, which begins with struct rt_rec, on an address that is a
 *     multiple of 16; NULL: there was none, which has been counted. It must be ended soon: nothing
 *     behind it is read before.
 * void RECORD_END(rec), RECORD_DROP(rec)
 *     The record is complete; or there is none after all.
 * u64 *THREAD(data, thread, cpu, makes)
 *     The layout.tls_size bytes of thread-local scalars, zero at first. NULL: there are none yet,
 *     and makes is 0; or there was no room, which has been counted.
 * u64 LOAD(data, table, key)
 *     An element of an array, as u64; 0: not there. table, key: as those of VALUE.
 * void STORE(data, table, key, x, cpu)
 *     Stores an element; 0 removes it.
 * u64 SAMPLE(data, bytes, mean, cpu, fs)
 *     Whether a Poisson sample takes one of the bytes. Then the thread, whose thread block is at
 *     fs, is in a sampled call; of two threads with the same hash, the second one alone is.
 * u64 SAMPLED(data, addr, fs)
 *     Whether the thread was in such a call, which has ended; then the address is noted.
 * u64 FOLLOWED(data, addr)
 *     Whether the address was noted, or may have been; it is not noted any more.
 * void LIVE(data, addr, bytes, time, value, cpu)
 *     Follows an address, instead of what was there before, as one of the element whose value this
 *     is. If there is no room, the element counts it.
 * void DEAD(data, addr, until)
 *     Follows the address no more, if its time is at most until.
 * void SITE(data, fs, to)
 *     Stores the place of the innermost frame of the language that has one: the address of its code
 *     object, and the position there; 0 and 0: there is none. fs: the address of the thread block.
 */
/* clang-format off */
#define BLOB_FUNCS(F)               \
	F(TIME, time)               \
	F(EXIT, exit)               \
	F(CELL, cell)               \
	F(VALUE, value)             \
	F(MIN, min)                 \
	F(MAX, max)                 \
	F(AVG, avg)                 \
	F(STDDEV, stddev)           \
	F(QUANTIZE, quantize)       \
	F(LQUANTIZE, lquantize)     \
	F(LLQUANTIZE, llquantize)   \
	F(RECORD_BEGIN, record_begin) \
	F(RECORD_END, record_end)   \
	F(RECORD_DROP, record_drop) \
	F(THREAD, thread)           \
	F(LOAD, load)               \
	F(STORE, store)             \
	F(SAMPLE, sample)           \
	F(SAMPLED, sampled)         \
	F(FOLLOWED, followed)       \
	F(LIVE, live)               \
	F(DEAD, dead)               \
	F(ORDER, order)             \
	F(SITE, site)
/* clang-format on */

enum blob_func {
#define BLOB_FUNC(id, name) BLOB_##id,
	BLOB_FUNCS(BLOB_FUNC)
#undef BLOB_FUNC
		BLOB_NFUNCS
};

/*
 * The code, for an address that is a multiple of 64, and the offsets of its functions. The code is
 * followed by struct blob_conf (ndata_conf()).
 */
extern const u8 blob_code[];
extern const u32 blob_code_size;
extern const u32 blob_entries[BLOB_NFUNCS];
