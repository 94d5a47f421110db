/* SPDX-License-Identifier: MIT */
/* Option livecheck: a snapshot leaves out objects whose memory says that they are gone. */
#include "agg/fake.h"
#include "agg/impl.h"
#include "tap.h"

#define MEMORY	 0x10000u /* of process 9, which is all here */
#define BASE	 0x400000u
#define CLASS	 0x5000u
#define NEW_WORD 8

struct memory {
	uint64_t words[MEMORY / 8];
	uint64_t hole, hole_end; /* addresses that cannot be read */
	bool has_ended;
	uint32_t nreads, nreads_max; /* the latter: so many are answered; 0: all */
};

static enum live_memory memory_read(void *arg, uint64_t pid, uint64_t addr, void *to, size_t size)
{
	struct memory *m = arg;

	m->nreads++;
	if (m->has_ended || (m->nreads_max && m->nreads > m->nreads_max))
		return LIVE_MEMORY_UNKNOWN;
	if (pid != 9 || size > LIVE_READ_MAX || addr < BASE || addr + size > BASE + MEMORY ||
	    (addr < m->hole_end && addr + size > m->hole))
		return LIVE_MEMORY_NONE;
	memcpy(to, (const char *)m->words + (addr - BASE), size);
	return LIVE_MEMORY_READ;
}

static void word_set(struct memory *m, uint64_t addr, uint64_t word)
{
	m->words[(addr - BASE) / 8] = word;
}

static void object_add(struct fake *f, uint32_t id, uint64_t addr, uint64_t class)
{
	struct fake_alive a = {.key = {.addr = addr, .pid = 9},
			       .value = {.time = now_ns() - 1000, .bytes = 1, .agg = id}};

	memcpy(a.value.key, &class, sizeof(class));
	vec_push(&f->alive, a);
}

static uint32_t check_open(struct fake *f, uint32_t key_size, struct memory *m, bool has_base)
{
	const struct live_check check = {.is_on = true,
					 .has_base = has_base,
					 .offset = NEW_WORD,
					 .base = 16,
					 .read = memory_read,
					 .arg = m};
	uint32_t id;

	fake_init(f);
	id = fake_agg(f, AGGFUNC_LIVE, "a");
	fake_key_int(f, id, key_size, false);
	fake_open(f);
	aggs_set_livecheck(f->aggs, &check);
	return id;
}

static int64_t count_of(const struct agg_view *v, uint64_t key)
{
	for (uint32_t i = 0; i < v->nelems; i++)
		if (v->elems[i]->keys[0].ival == key)
			return v->elems[i]->state[LIVE_COUNT];
	return 0;
}

static void test_gone(void)
{
	static struct memory m;
	struct agg_view *v;
	struct fake f;
	uint32_t id = check_open(&f, 8, &m, false);

	for (uint64_t i = 0; i < 1000; i++) {
		object_add(&f, id, BASE + 40 * i, CLASS);
		word_set(&m, BASE + 40 * i + NEW_WORD, i % 4 ? CLASS : 0);
	}
	v = fake_snap(&f, id);
	is_int(count_of(v, CLASS), 750, "an object with another word is gone");
	is_int((int64_t)aggs_live_checked(f.aggs).ngone, 250, "and counted");
	is_int(f.nburied, 250, "and leaves the table");
	is_int(m.nreads, 1, "objects that lie close are read at once");
	v = fake_snap(&f, id);
	is_int((int64_t)aggs_live_checked(f.aggs).ngone, 250, "once");
	m.hole = BASE + 40 * 500;
	m.hole_end = BASE + 40 * 501;
	v = fake_snap(&f, id);
	is_int(count_of(v, CLASS), 750, "without the word of an object nothing can be read");
	m.hole = BASE + 40 * 501;
	m.hole_end = BASE + 40 * 503;
	v = fake_snap(&f, id);
	is_int(count_of(v, CLASS), 748, "objects whose memory is no more are gone, and no others");
	m.has_ended = true;
	v = fake_snap(&f, id);
	is_int(count_of(v, CLASS), 748, "a process that has ended has what it had");
	is_int((int64_t)aggs_live_checked(f.aggs).nunknown, 748, "which could not be checked");
	fake_deinit(&f);
}

/* What stays in the table is looked at again each time, and each object is counted once. */
static void test_kept(void)
{
	static struct memory m;
	struct agg_view *v;
	struct fake f;
	uint32_t id = check_open(&f, 8, &m, false);

	f.keeps = true;
	for (uint64_t i = 0; i < 100; i++) {
		object_add(&f, id, BASE + 40 * i, CLASS);
		word_set(&m, BASE + 40 * i + NEW_WORD, i % 4 ? CLASS : 0);
	}
	for (uint32_t i = 0; i < 2; i++) {
		v = fake_snap(&f, id);
		is_int(count_of(v, CLASS), 75, "an entry that stays does not count");
		is_int((int64_t)aggs_live_checked(f.aggs).ngone, 25, "and is counted as gone once");
	}
	for (uint64_t i = 0; i < 20; i++) { /* one of the same time, as with liveorder */
		word_set(&m, BASE + 160 * i + NEW_WORD, CLASS);
		word_set(&m, BASE + 160 * i + 40 + NEW_WORD, 0);
	}
	v = fake_snap(&f, id);
	is_int(count_of(v, CLASS), 75, "until objects are there again");
	is_int((int64_t)aggs_live_checked(f.aggs).ngone, 45, "others that go are counted");
	m.has_ended = true;
	v = fake_snap(&f, id);
	is_int(count_of(v, CLASS), 100, "memory that does not answer");
	m.has_ended = false;
	v = fake_snap(&f, id);
	is_int(count_of(v, CLASS), 75, "and answers again");
	is_int((int64_t)aggs_live_checked(f.aggs).ngone, 45, "the same are not counted again");
	word_set(&m, BASE + NEW_WORD, 0);
	f.alive.data[4].value.time++; /* another object, which no snapshot has seen alive */
	word_set(&m, BASE + 160 + NEW_WORD, 0);
	v = fake_snap(&f, id);
	is_int(count_of(v, CLASS), 73, "an object that goes at an address from which one went");
	is_int((int64_t)aggs_live_checked(f.aggs).ngone, 47, "is counted as well");
	f.alive.data[1].value.time++; /* the next one came and went between two snapshots */
	v = fake_snap(&f, id);
	is_int((int64_t)aggs_live_checked(f.aggs).ngone, 48, "also one that was never seen alive");
	is_int(f.nburied, 0, "none has left the table");
	fake_deinit(&f);
}

/* A new object may come to the address after the first reading of the table. */
static void test_time(void)
{
	static struct memory m;
	struct rt_live_key key;
	struct fake f;
	uint32_t id = check_open(&f, 8, &m, false);
	uint64_t time;

	object_add(&f, id, BASE, CLASS);
	key = f.alive.data[0].key;
	time = f.alive.data[0].value.time;
	(void)fake_snap(&f, id);
	ok(livecheck_is_gone(&f.aggs->alive, &key, time), "the entry that was compared is gone");
	ok(!livecheck_is_gone(&f.aggs->alive, &key, time + 1), "a younger one is not");
	key.addr++;
	ok(!livecheck_is_gone(&f.aggs->alive, &key, time), "nor another address");
	fake_deinit(&f);
}

static void test_base(bool has_base)
{
	static struct memory m;
	struct agg_view *v;
	struct fake f;
	uint32_t id = check_open(&f, 8, &m, has_base);

	object_add(&f, id, BASE, CLASS);
	word_set(&m, BASE + NEW_WORD, BASE + 0x100);   /* a class of its own */
	word_set(&m, BASE + 0x100 + 16, BASE + 0x200); /* whose base leads to the class */
	word_set(&m, BASE + 0x200 + 16, CLASS);
	object_add(&f, id, BASE + 0x40, CLASS);
	word_set(&m, BASE + 0x40 + NEW_WORD, BASE + 0x300); /* one that leads to itself */
	word_set(&m, BASE + 0x300 + 16, BASE + 0x300);
	v = fake_snap(&f, id);
	is_int(count_of(v, CLASS), has_base, "a class that is derived from the key");
	is_int((int64_t)aggs_live_checked(f.aggs).ngone, 2 - has_base, "a ring has an end");
	fake_deinit(&f);
}

/* A class that cannot be read now may lead to the expected one: the object is there as before. */
static void test_base_silent(void)
{
	static struct memory m;
	struct agg_view *v;
	struct fake f;
	uint32_t id = check_open(&f, 8, &m, true);

	for (uint64_t i = 0; i < 3; i++) {
		object_add(&f, id, BASE + 0x40 * i, CLASS);
		word_set(&m, BASE + 0x40 * i + NEW_WORD, BASE + 0x1000);
	}
	word_set(&m, BASE + 0x1000 + 16, CLASS);
	m.nreads_max = 2;
	v = fake_snap(&f, id);
	is_int(count_of(v, CLASS), 3, "objects whose class is not read");
	is_int((int64_t)aggs_live_checked(f.aggs).ngone, 0, "none of them is gone");
	is_int((int64_t)aggs_live_checked(f.aggs).nunknown, 3, "they could not be checked");
	fake_deinit(&f);
}

static void test_others(void)
{
	static struct memory m;
	struct agg_view *v;
	struct fake f;
	uint32_t id = check_open(&f, 4, &m, false);

	object_add(&f, id, BASE, 5);
	v = fake_snap(&f, id);
	is_int(count_of(v, 5), 1, "a key of 4 bytes is no class");
	fake_deinit(&f);
	id = check_open(&f, 8, &m, false);
	object_add(&f, id, 0xffff800000000010, CLASS);
	f.alive.data[0].key.pid = 0;
	v = fake_snap(&f, id);
	is_int(count_of(v, CLASS), 1, "objects of the kernel are not checked");
	is_int(m.nreads, 0, "nor read");
	fake_deinit(&f);
}

int main(void)
{
	test_gone();
	test_kept();
	test_time();
	test_base(false);
	test_base(true);
	test_base_silent();
	test_others();
	return tap_done();
}
