/* SPDX-License-Identifier: MIT */
/*
 * What live() follows in the process: it is what a plain set of addresses would have, also when
 * threads and signal handlers take and give back, and move blocks, at the same time; what finds no
 * room is counted; elements that were taken out keep their entries; falsified slots lead nowhere.
 */
#include <sys/resource.h>

#include "native/hammer.h"

#include "base/hashmap.h"

#define NKEYS 7u
#define PID   4711u

/* ---- what the tracer sees -------------------------------------------------------------------- */

/* The bytes of a block that live() was given at that time. */
static uint64_t bytes_of(uint64_t addr, uint64_t time)
{
	return (addr * 31 + time * 1000003) & 0xffffff;
}

struct view {
	struct hashmap *times; /* address -> time + 1 */
	uint64_t n, bytes, nwrong, ntwice, nkernel;
	struct rt_live_key last;
	uint64_t last_key, last_agg, last_time;
	bool is_checked; /* bytes and keys are those of bytes_of() and the address */
};

static void entry_see(void *arg, const struct rt_live_key *key, const struct rt_live *entry)
{
	struct view *v = arg;
	uint64_t of = 0;

	memcpy(&of, entry->key, sizeof(of));
	v->n++;
	v->nkernel += !key->pid;
	v->bytes += entry->bytes;
	v->last = *key;
	v->last_key = of;
	v->last_agg = entry->agg;
	v->last_time = entry->time;
	v->ntwice += hashmap_find(v->times, &key->addr, sizeof(key->addr)) != NULL;
	hashmap_set(v->times, &key->addr, sizeof(key->addr), (void *)(entry->time + 1));
	if (v->is_checked &&
	    (entry->bytes != bytes_of(key->addr, entry->time) || of != key->addr / 16 % NKEYS))
		v->nwrong++;
}

static void view_read(struct env *t, struct view *v, bool is_checked)
{
	*v = (struct view){.times = hashmap_create(), .is_checked = is_checked};
	(void)env_ok(ndata_aggs.alive(t->d, entry_see, v), "alive");
}

static uint64_t view_count(struct env *t)
{
	struct view v;

	view_read(t, &v, false);
	hashmap_destroy(v.times);
	return v.n;
}

/* ---- what a clause does ---------------------------------------------------------------------- */

static void live_env_open(struct env *t, uint32_t livesize, uint32_t key_size)
{
	(void)env_agg(t, AGGFUNC_COUNT, 8, 100);
	(void)env_agg(t, AGGFUNC_LIVE, key_size, 100);
	t->layout.live_size = sizeof(struct rt_live) + 8;
	t->layout.opts.livesize = livesize;
	t->has_live = true;
	t->hooks.pid = PID;
	env_open(t, 4096);
}

static void live_call(struct env *t, u64 addr, u64 bytes, u64 time, u64 key, u64 cpu)
{
	u64 *v = t->aggs[1].key_size ? BLOB(t, VALUE, value)(t->head, 1, &key, cpu)
				     : BLOB(t, CELL, cell)(t->head, 1, 0, cpu);

	if (v)
		BLOB(t, LIVE, live)(t->head, addr, bytes, time, v, cpu);
}

static void dead_call(struct env *t, u64 addr, u64 until)
{
	BLOB(t, DEAD, dead)(t->head, addr, until);
}

/* The slots that addresses own, those of all others, and the one that this address may own. */
static struct blob_live *own_slots(const struct env *t)
{
	return (void *)((uint8_t *)t->head + t->plan->own_off);
}

static struct blob_live *all_slots(const struct env *t)
{
	return (void *)((uint8_t *)t->head + t->plan->live_off);
}

static struct blob_live *own_slot(const struct env *t, uint64_t addr)
{
	uint32_t bits = (uint32_t)__builtin_ctz(t->plan->own_slots);

	return own_slots(t) + blob_live_own(addr, 64 - bits);
}

static bool owns_slot(const struct env *t, uint64_t addr)
{
	return __atomic_load_n(&own_slot(t, addr)->word, __ATOMIC_SEQ_CST) ==
	       (addr ^ BLOB_LIVE_XOR);
}

/* Another address that may own the slot of this one. */
static uint64_t rival_of(const struct env *t, uint64_t addr)
{
	uint64_t rival = addr;

	do
		rival += 16;
	while (own_slot(t, rival) != own_slot(t, addr));
	return rival;
}

/* ---- one after another ----------------------------------------------------------------------- */

static void test_entries(void)
{
	struct env t = {0};
	struct view v;

	live_env_open(&t, 1000, 8);
	live_call(&t, 0x1000, 10, 5, 3, 2);
	view_read(&t, &v, false);
	ok(v.n == 1 && v.bytes == 10 && v.last.addr == 0x1000 && v.last.pid == PID &&
		   v.last_key == 3 && v.last_agg == 2 && v.last_time == 5,
	   "an entry has its address, process, bytes, time and key");
	hashmap_destroy(v.times);
	live_call(&t, 0x1000, 77, 6, 4, 1);
	view_read(&t, &v, false);
	ok(v.n == 1 && v.bytes == 77 && v.last_key == 4 && v.last_time == 6,
	   "the same address again takes its place");
	hashmap_destroy(v.times);
	dead_call(&t, 0x1000, 5);
	is_int(view_count(&t), 1, "dead() of a time before it leaves it");
	dead_call(&t, 0x2000, UINT64_MAX);
	is_int(view_count(&t), 1, "dead() of another address leaves it");
	dead_call(&t, 0x1000, 6);
	is_int(view_count(&t), 0, "dead() of its time does not");
	live_call(&t, 0, 1, 1, 1, 0);
	live_call(&t, UINT64_MAX, 1, 1, 1, 0);
	live_call(&t, 0xffff888000000000, 1, 1, 1, 0);
	view_read(&t, &v, false);
	ok(v.n == 3 && v.nkernel == 2,
	   "any number is followed, and those of the kernel have no process");
	hashmap_destroy(v.times);
	dead_call(&t, UINT64_MAX, UINT64_MAX);
	dead_call(&t, 0, UINT64_MAX);
	is_int(view_count(&t), 1, "and given back");
	env_close(&t);
}

static void test_without_keys(void)
{
	struct env t = {0};
	struct view v;

	live_env_open(&t, 1000, 0);
	live_call(&t, 0x1000, 10, 5, 0, 2);
	live_call(&t, 0x2000, 20, 5, 0, 3);
	view_read(&t, &v, false);
	ok(v.n == 2 && v.bytes == 30 && v.last_agg == 2, "an aggregation without keys");
	hashmap_destroy(v.times);
	env_close(&t);
}

/* Operations on random addresses, and a plain set beside them. */
static void test_random(void)
{
	struct env t = {0};
	struct hashmap *model = hashmap_create();
	struct view v;
	uint64_t seed = 99, nwrong = 0, n = 0;
	const void *addr;
	const void *time;
	size_t pos = 0, len;

	live_env_open(&t, 4000, 8);
	for (uint64_t i = 1; i <= 200000; i++) {
		uint64_t r = env_random(&seed), a = (r >> 8) % 6000 * 16, at;
		uintptr_t known = (uintptr_t)hashmap_find(model, &a, sizeof(a));

		switch (r % 5) {
		case 0:
		case 1:
			live_call(&t, a, bytes_of(a, i), i, a / 16 % NKEYS, r % ENV_CPUS);
			hashmap_set(model, &a, sizeof(a), (void *)(uintptr_t)(i + 1));
			break;
		case 2: /* of a time around that of the entry */
			at = known ? known - 1 + (r >> 40) % 3 - 1 : i;
			dead_call(&t, a, at);
			if (known && known - 1 <= at)
				hashmap_remove(model, &a, sizeof(a));
			break;
		default:
			dead_call(&t, a, UINT64_MAX);
			if (known)
				hashmap_remove(model, &a, sizeof(a));
		}
	}
	view_read(&t, &v, true);
	while ((time = hashmap_next(model, &pos, &addr, &len))) {
		n++;
		nwrong += hashmap_find(v.times, addr, len) != time;
	}
	is_int(v.n, n, "as many entries as a plain set has");
	ok(n > 1000 && !nwrong && !v.nwrong && !v.ntwice, "and the same");
	hashmap_destroy(v.times);
	hashmap_destroy(model);
	env_close(&t);
}

/* ---- slots that addresses own ---------------------------------------------------------------- */

/* A rival of the address owns the slot, and is alive. */
static void rival_enter(struct env *t, uint64_t addr)
{
	uint64_t rival = rival_of(t, addr);

	live_call(t, rival, bytes_of(rival, 0), 0, rival / 16 % NKEYS, 0);
}

#define FIRST 0x55550010ull

/* Waits until a slot that is wanted may be taken. */
static void grace_wait(void)
{
	uint64_t begin = __builtin_ia32_rdtsc();

	while (__builtin_ia32_rdtsc() - begin <= BLOB_LIVE_GRACE)
		;
}

/* Whether the reading has two blocks, of that many bytes in all. */
static bool has_two(struct env *t, uint64_t bytes)
{
	struct view v;
	bool is_right;

	view_read(t, &v, false);
	is_right = v.n == 2 && v.bytes == bytes && !v.ntwice;
	hashmap_destroy(v.times);
	return is_right;
}

static void test_owners(void)
{
	struct env t = {0};
	uint64_t rival;
	u64 word;

	live_env_open(&t, 1000, 8);
	rival = rival_of(&t, FIRST);
	live_call(&t, FIRST, 1, 5, 3, 0);
	live_call(&t, rival, 20, 5, 3, 0);
	ok(owns_slot(&t, FIRST) && has_two(&t, 21), "a slot has one owner, and another place");
	dead_call(&t, FIRST, UINT64_MAX);
	dead_call(&t, rival, UINT64_MAX);
	ok(owns_slot(&t, FIRST) && !view_count(&t), "it is the owner's when nothing is alive");
	live_call(&t, FIRST, 300, 6, 3, 0);
	dead_call(&t, FIRST, 5);
	is_int(view_count(&t), 1, "the end of the block before leaves the next one there");
	dead_call(&t, FIRST, 6);
	is_int(view_count(&t), 0, "that of its time does not");
	live_call(&t, rival, 4000, 7, 3, 0);
	live_call(&t, rival, 4000, 7, 3, 0);
	ok(owns_slot(&t, FIRST), "who wants it does not get it at once");
	live_call(&t, FIRST, 50000, 8, 3, 0);
	ok(has_two(&t, 54000), "and its owner has it back");
	grace_wait();
	live_call(&t, rival, 4000, 9, 3, 0);
	ok(owns_slot(&t, FIRST) && has_two(&t, 54000), "as long as that is alive it stays");
	dead_call(&t, FIRST, UINT64_MAX);
	live_call(&t, rival, 4000, 10, 3, 0);
	grace_wait();
	live_call(&t, rival, 600000, 11, 3, 0);
	ok(owns_slot(&t, rival), "who wants a slot of which the owner does not come gets it");
	live_call(&t, FIRST, 1, 12, 3, 0);
	ok(has_two(&t, 600001), "and nothing is left elsewhere");
	word = own_slot(&t, rival)->word;
	live_call(&t, FIRST | 3ull << 62, 1, 12, 3, 0);
	dead_call(&t, FIRST | 3ull << 62, UINT64_MAX);
	ok(own_slot(&t, rival)->word == word && has_two(&t, 600001),
	   "a number that is no address owns nothing");
	env_close(&t);
}

/* An address leaves its own slot while the table is read, and comes again elsewhere. */
struct leaver {
	struct view view;
	struct env *t;
	uint64_t bytes;
};

static void leaver_see(void *arg, const struct rt_live_key *key, const struct rt_live *entry)
{
	struct leaver *l = arg;

	entry_see(&l->view, key, entry);
	if (l->view.n > 1)
		return;
	dead_call(l->t, FIRST, UINT64_MAX);
	own_slot(l->t, FIRST)->word = rival_of(l->t, FIRST) ^ BLOB_LIVE_XOR;
	own_slot(l->t, FIRST)->time = 7;
	live_call(l->t, FIRST, 20, 8, 3, 0);
}

static void test_leaver(void)
{
	struct env t = {0};
	struct leaver l = {.t = &t};

	live_env_open(&t, 1000, 8);
	l.view.times = hashmap_create();
	live_call(&t, FIRST, 1, 5, 3, 0);
	(void)env_ok(ndata_aggs.alive(t.d, leaver_see, &l), "alive");
	ok(l.view.n == 1 && l.view.bytes == 1, "an address that leaves its own slot counts once");
	hashmap_destroy(l.view.times);
	is_int(view_count(&t), 2, "the next reading has it, and the new owner");
	env_close(&t);
}

/* ---- limits ---------------------------------------------------------------------------------- */

static struct rt_control *counts_read(struct env *t)
{
	struct rt_control *c = xcalloc(1, sizeof(*c) + ENV_CPUS * sizeof(c->cpu[0]));

	c->ncpus = ENV_CPUS;
	(void)env_ok(ndata_count(t->d, c), "count");
	return c;
}

static void lost_see(void *arg, const uint8_t *key, const uint8_t *values, uint32_t ncpus)
{
	uint64_t *lost = arg;

	(void)key, (void)ncpus;
	for (uint32_t cpu = 0; cpu < ENV_CPUS; cpu++)
		for (uint32_t i = 0; i < 2; i++) {
			uint64_t w;

			memcpy(&w, values + cpu * 40 + (3 + i) * 8, sizeof(w));
			lost[i] += w;
		}
}

static void test_full(void)
{
	struct env t = {0};
	struct rt_control *c;
	uint64_t lost[2] = {0}, n;

	live_env_open(&t, 1000, 8);
	for (uint64_t i = 0; i < 1000; i++)
		live_call(&t, 0x100000 + i * 48, 7, i, i % NKEYS, 0);
	is_int(view_count(&t), 1000, "all that the option allows are followed");
	for (uint64_t i = 0; i < 10000; i++)
		live_call(&t, 0x200000 + i * 32, 5, i, i % NKEYS, 1);
	n = view_count(&t);
	(void)env_ok(ndata_aggs.each(t.d, 1, lost_see, lost), "each");
	c = counts_read(&t);
	ok(n < 11000 && n + lost[0] == 11000, "what finds no room is counted by its element");
	is_int(lost[1], 5 * lost[0], "with its bytes");
	is_int(c->cpu[1].live_drops, lost[0], "and by its CPU");
	is_int(ndata_dropped(t.d).lives, lost[0], "and told");
	for (uint64_t i = 0; i < 1000; i++)
		dead_call(&t, 0x100000 + i * 48, UINT64_MAX);
	for (uint64_t i = 0; i < 10000; i++)
		dead_call(&t, 0x200000 + i * 32, UINT64_MAX);
	is_int(view_count(&t), 0, "all of them are given back");
	for (uint64_t i = 0; i < 1000; i++)
		live_call(&t, 0x300000 + i * 16, 1, i, 1, 0);
	is_int(view_count(&t), 1000, "and their slots are used again");
	/* two numbers that are no addresses stand for slots without one */
	live_call(&t, BLOB_LIVE_XOR, 3, 1, 1, 2);
	live_call(&t, BLOB_LIVE_XOR + 1, 3, 1, 1, 2);
	free(c);
	c = counts_read(&t);
	is_int(c->cpu[2].live_drops, 2, "two numbers cannot be followed, which is counted");
	free(c);
	env_close(&t);
}

/* An element that is taken out is there again for its entries, and is not another one's slot. */
static void test_taken(void)
{
	struct env t = {0};
	struct view v;
	const uint8_t *values;
	uint32_t ncpus;
	uint64_t key = 3;

	live_env_open(&t, 1000, 8);
	t.d->grace_ns = 0;
	live_call(&t, 0x1000, 10, 5, key, 2);
	(void)env_ok(ndata_aggs.take(t.d, 1, &key, &values, &ncpus), "take");
	for (uint32_t i = 0; i < 3; i++) {
		uint64_t lost[2];

		view_read(&t, &v, false);
		ok(v.n == 1 && v.last_key == 3, "the entry of an element that was taken");
		hashmap_destroy(v.times);
		(void)env_ok(ndata_aggs.each(t.d, 1, lost_see, lost), "each");
		for (u64 other = 100; other < 130; other++) /* they look for free slots */
			(void)BLOB(&t, VALUE, value)(t.head, 1, &other, 2);
	}
	dead_call(&t, 0x1000, UINT64_MAX);
	is_int(view_count(&t), 0, "is given back as others");
	ndata_aggs.bury(t.d, &(struct rt_live_key){.addr = 0x2000, .pid = PID}, 8);
	live_call(&t, 0x2000, 10, 8, 5, 0);
	live_call(&t, 0x3000, 10, 8, 5, 0);
	view_read(&t, &v, false);
	ok(v.n == 1 && v.last.addr == 0x3000, "an entry that is buried is not handed out");
	hashmap_destroy(v.times);
	is_int(view_count(&t), 1, "nor the next time");
	live_call(&t, 0x2000, 10, 9, 5, 0);
	is_int(view_count(&t), 2, "a younger one is");
	t.layout.opts.liveorder = true;
	ok(!ndata_aggs.bury(t.d, &(struct rt_live_key){.addr = 0x2000, .pid = PID}, 9),
	   "where times only say an order, nothing is buried");
	is_int(view_count(&t), 2, "because the next object there may have the same time");
	env_close(&t);
}

/* ---- at the same time ------------------------------------------------------------------------ */

#define NOPS	200000u
#define NBLOCKS 256u

/*
 * A program: blocks that an allocator has, and places of the program that have one each. Whoever
 * takes a block from either is its only owner.
 */
static struct {
	uint64_t free[NBLOCKS], places[NBLOCKS];
	uint64_t time, next;
	uint64_t nmoved, nfreed;
	uint32_t nslots; /* 0, or: all blocks may own the same slots, so many */
} program;

#define KEPT	   500u
#define KEPT_FIRST 0x7000000ull

static uint64_t time_next(void)
{
	return __atomic_add_fetch(&program.time, 1, __ATOMIC_SEQ_CST);
}

/* The time of an entry of live(): of a clock, or of the order that ends have, as in the code. */
static uint64_t time_of_entry(const struct env *t)
{
	if (!t->layout.opts.liveorder)
		return time_next();
	return __atomic_load_n(&t->head->order, __ATOMIC_ACQUIRE) + 1;
}

/* The time up to which entries of a block end. */
static uint64_t time_of_end(const struct env *t)
{
	return t->layout.opts.liveorder ? BLOB(t, ORDER, order)(t->head) : time_next();
}

static uint64_t block_swap(uint64_t *at, uint64_t block)
{
	return __atomic_exchange_n(at, block, __ATOMIC_SEQ_CST);
}

static uint64_t block_make(const struct env *t)
{
	uint64_t block;

	do
		block = __atomic_add_fetch(&program.next, 16, __ATOMIC_SEQ_CST);
	while (program.nslots && own_slot(t, block) >= own_slots(t) + program.nslots);
	return block;
}

static void op_blocks(struct hammer *h, uint64_t *seed, uint32_t writer)
{
	uint64_t r = env_random(seed), block = block_swap(&program.free[r % NBLOCKS], 0), time, old;

	(void)writer;
	if (!block)
		block = block_make(h->env);
	time = time_of_entry(h->env);
	live_call(h->env, block, bytes_of(block, time), time, block / 16 % NKEYS,
		  (r >> 20) % ENV_CPUS);
	old = block_swap(&program.places[(r >> 32) % NBLOCKS], block);
	if (!old)
		return;
	if (r >> 60 & 1) { /* free(): the block goes back behind dead() */
		dead_call(h->env, old, UINT64_MAX);
		(void)block_swap(&program.free[(r >> 40) % NBLOCKS], old);
		(void)__atomic_add_fetch(&program.nfreed, 1, __ATOMIC_RELAXED);
		return;
	}
	/* realloc() that moves: others may have the block before dead() */
	time = time_of_end(h->env);
	(void)block_swap(&program.free[(r >> 40) % NBLOCKS], old);
	dead_call(h->env, old, time);
	(void)__atomic_add_fetch(&program.nmoved, 1, __ATOMIC_RELAXED);
}

/* How many own slots have another owner than words[] has, which has the present ones then. */
static uint32_t owners_note(const struct env *t, uint64_t *words)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < program.nslots; i++) {
		uint64_t word = __atomic_load_n(&own_slots(t)[i].word, __ATOMIC_SEQ_CST);

		n += words[i] && word != words[i];
		words[i] = word;
	}
	return n;
}

#define CROWDED 64u /* own slots, for some 400 blocks */

static void test_hammer(bool is_ordered, uint32_t nslots)
{
	struct env t = {.layout.opts.liveorder = is_ordered};
	struct hammer h = {.env = &t, .op = op_blocks, .n = NOPS};
	struct view v;
	uint64_t nsnaps = 0, nwrong = 0, nmissing = 0, n = 0, words[CROWDED] = {0}, nchanges = 0;

	live_env_open(&t, 4096, 8);
	memset(&program, 0, sizeof(program));
	program.next = 0x10000;
	program.nslots = nslots;
	for (uint64_t i = 0; i < KEPT; i++)
		live_call(&t, KEPT_FIRST + i * 16, bytes_of(KEPT_FIRST + i * 16, 0), 0,
			  (KEPT_FIRST / 16 + i) % NKEYS, 0);
	hammer_start(&h);
	while (hammer_runs(&h)) {
		view_read(&t, &v, true);
		nwrong += v.nwrong + v.ntwice;
		for (uint64_t i = 0, a; i < KEPT; i++) {
			a = KEPT_FIRST + i * 16;
			nmissing += !hashmap_find(v.times, &a, sizeof(a));
		}
		hashmap_destroy(v.times);
		nchanges += owners_note(&t, words);
		nsnaps++;
	}
	hammer_join(&h);
	printf("# %llu signals, %llu snapshots, %llu moved, %llu freed\n",
	       (unsigned long long)h.nsignals, (unsigned long long)nsnaps,
	       (unsigned long long)program.nmoved, (unsigned long long)program.nfreed);
	ok(h.nsignals > 100 && nsnaps && program.nmoved && program.nfreed,
	   "blocks were moved and freed, and the handler has run");
	ok(nchanges || !nslots, "%llu times a slot was seen to have another owner",
	   (unsigned long long)nchanges);
	is_int(nwrong, 0, "an entry that is seen is never made of two");
	is_int(nmissing, 0, "what is there is in every snapshot");
	view_read(&t, &v, true);
	for (uint64_t i = 0; i < NBLOCKS; i++) {
		n += program.places[i] != 0;
		if (program.places[i] && !hashmap_find(v.times, &program.places[i], 8))
			nmissing++;
	}
	is_int(nmissing, 0, "all blocks that the program has are there");
	is_int(v.n, n + KEPT, "and no others");
	hashmap_destroy(v.times);
	is_int(ndata_dropped(t.d).lives, 0, "none was lost");
	env_close(&t);
}

static void test_order(void)
{
	struct env t = {.layout.opts.liveorder = true};
	uint64_t first, second;

	live_env_open(&t, 1000, 8);
	first = BLOB(&t, ORDER, order)(t.head);
	t.head->order = UINT64_MAX / 2; /* as if another thread's clock were ahead */
	second = BLOB(&t, ORDER, order)(t.head);
	ok(first < second && second == UINT64_MAX / 2 + 1,
	   "a time of the order is behind all before it, whatever the clock says");
	env_close(&t);
}

/*
 * One address: a thread enters it again and again, while another one takes out what was there
 * before, as realloc() does.
 */
#define ROUNDS 3000000u
#define BLOCK  0x5000ull

struct duel {
	struct env t;
	struct blob_live *home; /* its slots are those that the address may have */
	uint32_t nhome;
	uint64_t until; /* the time of the entry before */
	uint64_t nlost;
	bool is_done;
};

static bool home_has_block(const struct duel *u)
{
	for (uint32_t k = 0; k < u->nhome; k++)
		if (__atomic_load_n(&u->home[k].word, __ATOMIC_SEQ_CST) ==
			    (BLOCK ^ BLOB_LIVE_XOR) &&
		    __atomic_load_n(&u->home[k].time, __ATOMIC_SEQ_CST) <= BLOB_LIVE_TIME_MAX)
			return true;
	return false;
}

static void *duel_enter(void *arg)
{
	struct duel *u = arg;

	for (uint64_t i = 2; i < ROUNDS; i++) {
		__atomic_store_n(&u->until, i - 1, __ATOMIC_SEQ_CST);
		live_call(&u->t, BLOCK, bytes_of(BLOCK, i), i, BLOCK / 16 % NKEYS, 0);
		u->nlost += !home_has_block(u);
	}
	__atomic_store_n(&u->is_done, true, __ATOMIC_SEQ_CST);
	return NULL;
}

static void *duel_leave(void *arg)
{
	struct duel *u = arg;

	while (!__atomic_load_n(&u->is_done, __ATOMIC_SEQ_CST))
		dead_call(&u->t, BLOCK, __atomic_load_n(&u->until, __ATOMIC_SEQ_CST));
	return NULL;
}

/* is_owner: the address owns its slot; else a rival does, which is alive. */
static void test_duel(bool is_owner)
{
	struct duel u = {.nhome = is_owner ? 1 : BLOB_LIVE_WAYS};
	pthread_t enter, leave;
	struct view v;
	uint64_t nwrong = 0, nseen = 0;

	live_env_open(&u.t, 32, 8);
	u.home = is_owner ? own_slot(&u.t, BLOCK) : all_slots(&u.t);
	if (!is_owner)
		rival_enter(&u.t, BLOCK);
	live_call(&u.t, BLOCK, bytes_of(BLOCK, 1), 1, BLOCK / 16 % NKEYS, 0);
	while (!home_has_block(&u))
		u.home += BLOB_LIVE_WAYS;
	if (pthread_create(&enter, NULL, duel_enter, &u) != 0 ||
	    pthread_create(&leave, NULL, duel_leave, &u) != 0)
		BUG("pthread_create");
	while (!__atomic_load_n(&u.is_done, __ATOMIC_SEQ_CST)) {
		view_read(&u.t, &v, true);
		hashmap_destroy(v.times);
		nwrong += v.nwrong;
		nseen += v.n;
	}
	(void)pthread_join(enter, NULL);
	(void)pthread_join(leave, NULL);
	ok(nseen > 0 && owns_slot(&u.t, BLOCK) == is_owner, "%llu entries were seen",
	   (unsigned long long)nseen);
	is_int(nwrong, 0, "no entry that is seen is made of two");
	is_int(u.nlost, 0, "the end of the block before does not take out the next one");
	env_close(&u.t);
}

/* ---- slots that a child has falsified -------------------------------------------------------- */

/* Writes what is random to all slots that are free; returns how many entries it has made. */
static uint64_t slots_spoil(struct env *t, struct blob_live *slots, uint32_t n, uint64_t *seed)
{
	uint64_t nmade = 0;

	for (uint64_t i = 0; i < n; i++) {
		if (slots[i].word)
			continue;
		slots[i] = (struct blob_live){env_random(seed) | 2,
					      env_random(seed),
					      env_random(seed),
					      (uint32_t)env_random(seed),
					      {0},
					      200};
		nmade += slots != own_slots(t) || slots[i].time <= BLOB_LIVE_TIME_MAX;
	}
	return nmade;
}

static void test_falsified(void)
{
	struct env t = {0};
	struct view v;
	uint64_t seed = 7, n;

	live_env_open(&t, 1000, 8);
	live_call(&t, 0x1000, 10, 5, 3, 2);
	/* an entry of an element, in a slot that its address may not own */
	own_slots(&t)[(own_slot(&t, 0x1000) - own_slots(&t)) ^ 1] = *own_slot(&t, 0x1000);
	n = 1 + slots_spoil(&t, all_slots(&t), t.plan->live_slots, &seed);
	n += slots_spoil(&t, own_slots(&t), t.plan->own_slots, &seed);
	for (uint32_t i = 0; i < 2; i++) {
		view_read(&t, &v, false);
		hashmap_destroy(v.times);
		is_int(v.n, 1, "an entry of no element, or elsewhere, is not handed out");
		is_int(ndata_nbad_lives(t.d), n, "and counted as bad, by the last reading");
	}
	for (uint64_t i = 0; i < 2000; i++) {
		live_call(&t, env_random(&seed), 1, i, 1, 0);
		dead_call(&t, env_random(&seed), env_random(&seed));
	}
	ok(t.head->magic == BLOB_MAGIC, "the functions go on");
	env_close(&t);
}

static uint64_t peak_bytes(void)
{
	struct rusage use;

	if (getrusage(RUSAGE_SELF, &use) != 0)
		BUG("getrusage");
	return (uint64_t)use.ru_maxrss * 1024;
}

/* Slots that lead to as many places without an element take no memory of the tracer. */
static void test_memory(void)
{
	struct env t = {0};
	struct blob_live *slots;
	struct view v;
	uint64_t before;

	live_env_open(&t, 500000, 8);
	slots = all_slots(&t);
	for (uint64_t i = 0; i < t.plan->live_slots; i++)
		slots[i] = (struct blob_live){.word = i + 2, .elem = (uint32_t)(UINT32_MAX - i)};
	before = peak_bytes();
	view_read(&t, &v, false);
	hashmap_destroy(v.times);
	is_int(v.n, 0, "none of a million falsified slots is handed out");
	ok(peak_bytes() - before < 16ull << 20, "and they take %llu bytes to read",
	   (unsigned long long)(peak_bytes() - before));
	env_close(&t);
}

/* ---- an address that goes and comes while the table is read ---------------------------------- */

#define PART_SLOTS 4096u /* that are read at one time */
#define MOVER	   0x77000ull
#define MARK	   0x88000ull

struct mover {
	struct view view;
	struct blob_live *from, *to;
	uint64_t bytes; /* of the address that moves */
};

/* When the mark is seen, the address goes, and comes again in another slot. */
static void mover_see(void *arg, const struct rt_live_key *key, const struct rt_live *entry)
{
	struct mover *m = arg;

	entry_see(&m->view, key, entry);
	if (key->addr == MOVER)
		m->bytes = entry->bytes;
	if (key->addr != MARK || !m->from->word)
		return;
	*m->to = *m->from;
	m->to->time++;
	m->to->bytes = 222;
	m->from->word = 0;
}

static void move_check(uint32_t mark, uint32_t from, uint32_t to, const char *what)
{
	struct env t = {0};
	struct mover m = {0};
	struct blob_live *slots, entry;

	live_env_open(&t, PART_SLOTS, 8);
	live_call(&t, MOVER, 111, 5, 3, 2);
	slots = all_slots(&t);
	entry = *own_slot(&t, MOVER);
	own_slot(&t, MOVER)->word = 0;
	for (uint32_t i = 0; i < t.plan->live_slots; i++)
		slots[i].bytes = 1; /* else pages of the table do not exist, and are not read */
	is_int(t.plan->live_slots, 2 * PART_SLOTS, "the table is read in two parts");
	m.view.times = hashmap_create();
	m.from = &slots[from];
	m.to = &slots[to];
	slots[from] = slots[mark] = entry;
	slots[mark].word = MARK ^ BLOB_LIVE_XOR;
	(void)env_ok(ndata_aggs.alive(t.d, mover_see, &m), "alive");
	hashmap_destroy(m.view.times);
	ok(m.view.n == 2 && !m.view.ntwice, "%s: it counts once", what);
	is_int(m.bytes, 222, "and the later one does");
	env_close(&t);
}

/* It may have gone, come, and gone back at the same time, if that says only an order. */
static void test_equal_times(void)
{
	struct env t = {.layout.opts.liveorder = true};
	struct view v;
	struct blob_live *slots;

	live_env_open(&t, PART_SLOTS, 8);
	live_call(&t, MOVER, 111, 5, 3, 2);
	slots = all_slots(&t);
	slots[100] = slots[101] = *own_slot(&t, MOVER);
	own_slot(&t, MOVER)->word = 0;
	view_read(&t, &v, false);
	hashmap_destroy(v.times);
	is_int(v.n, 1, "an address that is met twice at the same time counts once");
	env_close(&t);
}

static void test_moves(void)
{
	move_check(1000, PART_SLOTS - 2, PART_SLOTS + 2, "an address that goes to the next part");
	move_check(1000, 2, 2 * PART_SLOTS - 2, "an address that goes from the begin to the end");
}

int main(void)
{
	test_entries();
	test_without_keys();
	test_random();
	test_owners();
	test_leaver();
	test_full();
	test_taken();
	test_hammer(false, 0);
	test_hammer(true, 0);
	test_hammer(false, CROWDED);
	test_hammer(true, CROWDED);
	test_order();
	test_duel(true);
	test_duel(false);
	test_falsified();
	test_memory();
	test_moves();
	test_equal_times();
	return tap_done();
}
