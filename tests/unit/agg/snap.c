/* SPDX-License-Identifier: MIT */
/* Snapshots over maps in memory: decoding, merging, values, clear, trunc, normalize. */
#include "agg/fake.h"
#include "agg/impl.h"
#include "dtrace.h"
#include "sym/sym.h"
#include "tap.h"

static const struct agg_sort by_value;

static void test_keys(void)
{
	uint64_t user[2] = {77, 0x401000};
	struct agg_view *v;
	struct fake f;
	uint32_t id, e;

	fake_init(&f);
	id = fake_agg(&f, AGGFUNC_COUNT, "k");
	fake_key_int(&f, id, 1, true);
	fake_key_int(&f, id, 2, false);
	fake_key_str(&f, id, KEY_COMM);
	fake_key_str(&f, id, KEY_STRID);
	fake_key_str(&f, id, KEY_STRHASH);
	fake_key_bytes(&f, id, 16, DATUM_USYM);
	fake_open(&f);
	e = fake_elem(&f, id);
	fake_set_int(&f, id, e, 0, -2);
	fake_set_int(&f, id, e, 1, 0xfffe);
	fake_set_str(&f, id, e, 2, "sixteen-bytes-xx"); /* no room for a NUL */
	fake_set_str(&f, id, e, 3, "probe");
	fake_set_str(&f, id, e, 4, "a longer string");
	fake_set(&f, id, e, 5, user, sizeof(user));
	fake_word(&f, id, e, 0, 0, 3);
	fake_word(&f, id, e, 1, 0, 4);
	v = fake_snap(&f, id);
	is_int(v->nelems, 1, "one element");
	is_int(v->elems[0]->nkeys, 6, "six keys");
	is_int(v->elems[0]->keys[0].ival, -2, "signed byte key is extended");
	is_int(v->elems[0]->keys[1].ival, 0xfffe, "unsigned short key is not");
	is_str(v->elems[0]->keys[2].bytes, "sixteen-bytes-xx", "command name of 16 bytes");
	is_int(v->elems[0]->keys[2].size, 16, "its length");
	is_str(v->elems[0]->keys[3].bytes, "probe", "string by id");
	is_str(v->elems[0]->keys[4].bytes, "a longer string", "string by hash");
	is_int(v->elems[0]->keys[5].size, 16, "user address");
	ok(memcmp(v->elems[0]->keys[5].bytes, user, 16) == 0, "its bytes");
	is_int(agg_value(v, v->elems[0]), 7, "CPUs are added up");
	(void)fake_snap(&f, id);
	is_int(f.nstring, 1, "a string is asked for once");
	fake_deinit(&f);
}

/* Stacks by hash: what was asked for of what was recorded. */
static void test_stack_keys(void)
{
	static const uint64_t hashes[] = {7, 8};
	struct agg_view *v;
	struct fake f;
	uint32_t id, e;

	fake_init(&f);
	id = fake_agg(&f, AGGFUNC_COUNT, "k");
	fake_key(&f, id, KEY_STACK, 8)->datum = DATUM_STACK;
	fake_open(&f);
	for (uint32_t i = 0; i < 2; i++) {
		e = fake_elem(&f, id);
		fake_set(&f, id, e, 0, &hashes[i], sizeof(hashes[i]));
		fake_word(&f, id, e, 0, 0, i + 1);
	}
	v = fake_snap(&f, id);
	is_int(v->nelems, 2, "two stacks");
	agg_view_sort(v, &by_value);
	is_int(v->elems[0]->keys[0].size, 24, "three frames of five");
	ok(memcmp(v->elems[0]->keys[0].bytes, (uint64_t[]){0x1000, 0x2000, 0x3000}, 24) == 0,
	   "the first ones");
	ok(v->elems[1]->keys[0].datum == DATUM_USTACK && v->elems[1]->keys[0].size == 16 &&
		   memcmp(v->elems[1]->keys[0].bytes, (uint64_t[]){0, RT_USTACK_GONE}, 16) == 0,
	   "of a stack that is not in the map, a mark says so");
	fake_deinit(&f);
}

/* Addresses of one function are one key, of one object too (6.4.3). */
static void test_symbol_keys(void)
{
	static const enum datum_kind kinds[] = {DATUM_USYM, DATUM_UMOD, DATUM_UADDR};
	static const uint32_t want[] = {1, 1, 2};
	uint64_t func = (uint64_t)(uintptr_t)(const void *)test_stack_keys;
	struct syms *syms = syms_create();
	struct agg_view *v;
	struct fake f;
	uint32_t id, e;

	fake_init(&f);
	for (uint32_t i = 0; i < ARRAY_LEN(kinds); i++) {
		id = fake_agg(&f, AGGFUNC_COUNT, "k");
		fake_key_bytes(&f, id, 16, kinds[i]);
	}
	fake_open(&f);
	aggs_set_syms(f.aggs, syms);
	for (id = 1; id <= ARRAY_LEN(kinds); id++) {
		for (uint32_t k = 0; k < 2; k++) {
			uint64_t user[2] = {(uint64_t)getpid(), func + k};

			e = fake_elem(&f, id);
			fake_set(&f, id, e, 0, user, sizeof(user));
			fake_word(&f, id, e, 0, 0, 1);
		}
		v = fake_snap(&f, id);
		is_int(v->nelems, want[id - 1], "elements of two addresses in one function");
		is_int(agg_value(v, v->elems[0]), want[id - 1] == 1 ? 2 : 1, "their sum");
	}
	fake_deinit(&f);
	syms_destroy(syms);
}

static uint32_t texts_known(const struct fake *f)
{
	return (uint32_t)hashmap_count(f->aggs->texts.known[AGG_SIDE_STRINGS]);
}

/* As if all that was deleted had been deleted long ago. */
static void texts_age(struct fake *f)
{
	struct key_text *kt;
	size_t pos = 0;

	while ((kt = hashmap_next(f->aggs->texts.known[AGG_SIDE_STRINGS], &pos, NULL, NULL)))
		kt->deleted_at = kt->deleted_at ? 1 : 0; /* when the machine started */
}

/*
 * A string that no key has any more leaves the kernel's table. A probe that had found the string
 * there just before makes a key of it all the same.
 */
static void test_string_ends(void)
{
	struct agg_view *v;
	struct fake f;
	uint32_t id;

	fake_init(&f);
	id = fake_agg(&f, AGGFUNC_COUNT, "k");
	fake_key_str(&f, id, KEY_STRHASH);
	fake_open(&f);
	(void)fake_str_elem(&f, id, "alpha", 1);
	(void)fake_snap(&f, id);
	(void)fake_snap(&f, id);
	is_int(f.nforget, 0, "a key has the string");
	f.maps[id - 1].elems.data[0].is_gone = true;
	(void)fake_snap(&f, id);
	is_int(f.nforget, 1, "no key has it: it leaves the kernel");
	(void)fake_str_elem(&f, id, "alpha", 1);
	v = fake_snap(&f, id);
	is_str(v->elems[0]->keys[0].bytes, "alpha", "it is still known");
	texts_age(&f);
	v = fake_snap(&f, id);
	is_str(v->elems[0]->keys[0].bytes, "alpha", "as long as the key is there");
	f.maps[id - 1].elems.data[1].is_gone = true;
	(void)fake_snap(&f, id);
	is_int(f.nforget, 2, "again no key has it");
	is_int(texts_known(&f), 1, "for some seconds a key may come");
	texts_age(&f);
	(void)fake_snap(&f, id);
	is_int(texts_known(&f), 0, "then it is forgotten");
	fake_deinit(&f);
}

/* What a hostile or racing kernel could hand us. */
static void test_bad_keys(void)
{
	uint32_t bad_off = 0xfffffff0;
	uint64_t bad_hash = 5;
	struct agg_view *v;
	struct fake f;
	uint32_t id, e;

	fake_init(&f);
	id = fake_agg(&f, AGGFUNC_COUNT, "k");
	fake_key_str(&f, id, KEY_STRID);
	fake_key_str(&f, id, KEY_STRHASH);
	fake_open(&f);
	e = fake_elem(&f, id);
	fake_set(&f, id, e, 0, &bad_off, 4);
	fake_set(&f, id, e, 1, &bad_hash, 8);
	v = fake_snap(&f, id);
	is_str(v->elems[0]->keys[0].bytes, "", "string id beyond the table");
	is_str(v->elems[0]->keys[1].bytes, "<lost string 0000000000000005>", "string nobody has");
	fake_deinit(&f);
}

static void test_equal_keys(void)
{
	struct agg_view *v;
	struct fake f;
	uint32_t id;

	fake_init(&f);
	id = fake_agg(&f, AGGFUNC_MAX, "m");
	fake_key_str(&f, id, KEY_COMM);
	fake_open(&f);
	fake_str_elem(&f, id, "sh", 5 ^ INT64_MIN);
	fake_str_elem(&f, id, "sh", 9 ^ INT64_MIN);
	memcpy(f.maps[0].elems.data[1].key + 3, "junk", 4); /* after the NUL */
	v = fake_snap(&f, id);
	is_int(v->nelems, 1, "equal keys become one element");
	is_int(agg_value(v, v->elems[0]), 9, "their states are merged");
	ok(!aggs_clear(f.aggs, id), "clear");
	is_int(f.nput, 2, "both kernel elements are made anew");
	fake_deinit(&f);
}

static void test_minmax(void)
{
	uint32_t min, max, e;
	struct agg_view *v;
	struct fake f;

	fake_init(&f);
	min = fake_agg(&f, AGGFUNC_MIN, "min");
	max = fake_agg(&f, AGGFUNC_MAX, "max");
	fake_key_int(&f, min, 4, true);
	fake_key_int(&f, max, 4, true);
	fake_open(&f);
	e = fake_int_elem(&f, min, 1, 10 ^ INT64_MAX);
	fake_word(&f, min, e, 1, 0, -3ll ^ INT64_MAX);
	fake_int_elem(&f, max, 1, -7ll ^ INT64_MIN); /* the other CPU is untouched */
	v = fake_snap(&f, min);
	is_int(agg_value(v, v->elems[0]), -3, "min by comparison");
	v = aggs_view(f.aggs, max);
	is_int(agg_value(v, v->elems[0]), -7, "an untouched CPU does not count");
	ok(!aggs_clear(f.aggs, max) && !aggs_clear(f.aggs, min), "clear");
	is_int(agg_value(v, v->elems[0]), 0, "untouched max prints 0");
	v = fake_snap(&f, max);
	is_int(v->nelems, 1, "the key stays");
	ok(!v->elems[0]->touched, "not touched since clear");
	is_int(agg_value(v, v->elems[0]), 0, "still 0 after another snapshot");
	fake_word(&f, max, 1, 0, 0, -9ll ^ INT64_MIN); /* the element made anew */
	v = fake_snap(&f, max);
	is_int(agg_value(v, v->elems[0]), -9, "touched again");
	fake_deinit(&f);
}

static void test_avg_stddev(void)
{
	static const int64_t samples[] = {2, 4, 4, 4, 5, 5, 7, 9}; /* stddev 2, avg 5 */
	uint32_t avg, dev, e, d;
	struct agg_view *v;
	struct fake f;

	fake_init(&f);
	avg = fake_agg(&f, AGGFUNC_AVG, "avg");
	dev = fake_agg(&f, AGGFUNC_STDDEV, "dev");
	fake_open(&f);
	e = fake_elem(&f, avg);
	d = fake_elem(&f, dev);
	for (uint32_t i = 0; i < ARRAY_LEN(samples); i++) {
		uint32_t cpu = i % FAKE_CPUS;

		fake_word(&f, avg, e, cpu, 0, 1);
		fake_word(&f, avg, e, cpu, 1, -samples[i] * 100 - 1);
		fake_word(&f, dev, d, cpu, 0, 1);
		fake_word(&f, dev, d, cpu, 1, samples[i] * 1000);
		fake_word(&f, dev, d, cpu, 2, samples[i] * samples[i] * 1000000);
	}
	v = fake_snap(&f, avg);
	is_int(agg_value(v, v->elems[0]), -501, "average truncates towards zero");
	ok(!aggs_normalize(f.aggs, avg, 100), "normalize");
	is_int(agg_value(v, v->elems[0]), -5, "sum/normal/count");
	v = aggs_view(f.aggs, dev);
	is_int(agg_value(v, v->elems[0]), 2000, "standard deviation");
	ok(!aggs_normalize(f.aggs, dev, 1000), "normalize");
	is_int(agg_value(v, v->elems[0]), 2, "normalized by the square");
	fake_deinit(&f);
}

/* Sums of squares carry from the low to the high word, within a CPU and between CPUs. */
static void test_stddev_carry(void)
{
	struct agg_view *v;
	struct fake f;
	uint32_t id, e;

	fake_init(&f);
	id = fake_agg(&f, AGGFUNC_STDDEV, "dev");
	fake_open(&f);
	e = fake_elem(&f, id);
	for (uint32_t cpu = 0; cpu < 2; cpu++) { /* +-2^32 each: squares 2^64 */
		fake_word(&f, id, e, cpu, 0, 1);
		fake_word(&f, id, e, cpu, 1, cpu ? -(1ll << 32) : 1ll << 32);
		fake_word(&f, id, e, cpu, 2, INT64_MIN); /* 2^63 of each lies in the low word */
		fake_word(&f, id, e, cpu, 3, cpu ? 1 : 0);
	}
	v = fake_snap(&f, id); /* 2^63 + 2^63 + 2^64 = 2 * 2^64, variance 2^64 */
	is_int(agg_value(v, v->elems[0]), 1ll << 32, "carry between CPUs");
	fake_deinit(&f);
}

static void test_keyless(void)
{
	struct agg_view *v;
	uint32_t id, e;
	struct fake f;

	fake_init(&f);
	id = fake_agg(&f, AGGFUNC_SUM, "s");
	fake_open(&f);
	e = fake_elem(&f, id);
	v = fake_snap(&f, id);
	is_int(v->nelems, 0, "never touched: no element");
	fake_word(&f, id, e, 1, 0, 0);
	v = fake_snap(&f, id);
	is_int(v->nelems, 1, "touched with value 0: an element");
	is_int(agg_value(v, v->elems[0]), 0, "its value");
	fake_word(&f, id, e, 0, 0, 41);
	fake_word(&f, id, e, 1, 0, 1);
	v = fake_snap(&f, id);
	is_int(agg_value(v, v->elems[0]), 42, "CPUs added up");
	ok(!aggs_clear(f.aggs, id), "clear");
	is_int(agg_value(v, v->elems[0]), 0, "0 at once");
	v = fake_snap(&f, id);
	is_int(v->nelems, 1, "kept after clear");
	is_int(agg_value(v, v->elems[0]), 0, "as 0");
	ok(!aggs_trunc(f.aggs, id, 0, &by_value), "trunc");
	is_int(v->nelems, 0, "gone at once");
	v = fake_snap(&f, id);
	is_int(v->nelems, 0, "gone after trunc");
	fake_deinit(&f);
}

/* Increments that arrive between a snapshot and clear() are not lost. */
static void test_clear_exact(void)
{
	struct agg_view *v;
	uint32_t id, e;
	struct fake f;

	fake_init(&f);
	id = fake_agg(&f, AGGFUNC_STDDEV, "d");
	fake_key_int(&f, id, 4, true);
	fake_open(&f);
	e = fake_int_elem(&f, id, 1, 1); /* count 1 */
	fake_word(&f, id, e, 0, 1, 100);
	fake_word(&f, id, e, 0, 2, INT64_MIN); /* 2^63 */
	v = fake_snap(&f, id);
	fake_word(&f, id, e, 1, 0, 1); /* 5, after the snapshot */
	fake_word(&f, id, e, 1, 1, 5);
	fake_word(&f, id, e, 1, 2, INT64_MIN);
	ok(!aggs_clear(f.aggs, id), "clear");
	is_int(f.ntake + f.nput, 0, "nothing is written to the kernel");
	ok(!v->elems[0]->touched, "untouched for now");
	v = fake_snap(&f, id);
	ok(v->elems[0]->touched, "the late increment counts");
	is_int(v->elems[0]->state[0], 1, "one");
	is_int(v->elems[0]->state[1], 5, "its sum");
	is_int(v->elems[0]->state[2], INT64_MIN, "its square, low word");
	is_int(v->elems[0]->state[3], 0, "high word");
	ok(!aggs_clear(f.aggs, id), "clear again");
	v = fake_snap(&f, id);
	ok(!v->elems[0]->touched, "nothing new");
	fake_int_elem(&f, id, 2, 0);
	v = fake_snap(&f, id);
	ok(v->elems[1]->touched, "a new key is touched, whatever it counts");
	ok(!aggs_trunc(f.aggs, id, 0, &by_value), "trunc");
	e = fake_int_elem(&f, id, 1, 3);
	v = fake_snap(&f, id);
	is_int(v->elems[0]->state[0], 3, "after trunc a key counts from zero");
	fake_deinit(&f);
}

static uint32_t racing; /* aggregation */

/* A probe makes the element anew before the rest is put back. */
static void fire_once(struct fake *f, uint32_t agg, const void *key)
{
	int32_t k;

	memcpy(&k, key, sizeof(k));
	f->on_take = NULL;
	fake_int_elem(f, racing, k, agg == 0 ? 100 : 7 ^ INT64_MIN);
}

/* A probe adds to the element after it was looked at. */
static void fire_late(struct fake *f, uint32_t agg, const void *key)
{
	struct fake_elem *e = fake_find(f, agg, key);
	uint64_t n;

	memcpy(&n, e->values, sizeof(n));
	n += 6;
	memcpy(e->values, &n, sizeof(n));
	f->on_peek = NULL;
}

/* Increments that arrive between a snapshot and trunc() are not lost. */
static void test_trunc_exact(void)
{
	struct agg_view *v;
	uint32_t id, e;
	struct fake f;

	fake_init(&f);
	id = racing = fake_agg(&f, AGGFUNC_SUM, "s");
	fake_key_int(&f, id, 4, true);
	fake_open(&f);
	e = fake_int_elem(&f, id, 1, 10);
	fake_int_elem(&f, id, 2, 20);
	fake_snap(&f, id);
	fake_word(&f, id, e, 1, 0, 5);
	ok(!aggs_trunc(f.aggs, id, 0, &by_value), "trunc");
	v = fake_snap(&f, id);
	is_int(v->nelems, 1, "one element has come since");
	is_int(v->elems[0]->keys[0].ival, 1, "its key");
	is_int(v->elems[0]->state[0], 5, "with what has come");
	is_int(f.ntake, 1, "the element in use was not deleted");
	f.on_peek = fire_late;
	f.on_take = fire_once;
	ok(!aggs_trunc(f.aggs, id, 0, &by_value), "trunc again, with probes in between");
	is_int(f.ntake, 2, "now it was");
	v = fake_snap(&f, id);
	is_int(v->nelems, 1, "still one");
	is_int(v->elems[0]->state[0], 106, "with both parts");
	v = fake_snap(&f, id);
	is_int(v->elems[0]->state[0], 106, "and the next time");
	ok(!aggs_trunc(f.aggs, id, 0, &by_value), "trunc");
	v = fake_snap(&f, id);
	is_int(v->nelems, 0, "gone with what was kept beside it");
	fake_deinit(&f);
}

/*
 * While there is room, trunc() leaves elements in the kernel until nothing has been added for a
 * while.
 */
static void test_trunc_hides(void)
{
	struct agg_view *v;
	uint32_t id, e;
	struct fake f;

	fake_init(&f);
	id = fake_agg(&f, AGGFUNC_COUNT, "c");
	fake_key_int(&f, id, 4, true);
	fake_open(&f);
	f.agg_maps[id - 1].max_entries = 100;
	e = fake_int_elem(&f, id, 1, 10);
	fake_int_elem(&f, id, 2, 20);
	v = fake_snap(&f, id);
	ok(!aggs_trunc(f.aggs, id, 0, &by_value), "trunc");
	is_int(v->nelems, 0, "the view is empty");
	is_int(f.ntake, 0, "nothing is deleted");
	fake_word(&f, id, e, 1, 0, 5);
	v = fake_snap(&f, id);
	is_int(v->nelems, 1, "one element has come since");
	is_int(v->elems[0]->state[0], 5, "with what was added");
	is_int(f.ntake, 0, "the other may still be in use");
	f.aggs->idle_ns = 0;
	v = fake_snap(&f, id);
	is_int(v->nelems, 1, "and stays hidden");
	is_int(f.ntake, 1, "until it was idle long enough");
	ok(!aggs_clear(f.aggs, id), "clear");
	v = fake_snap(&f, id);
	is_int(v->nelems, 1, "its key stays after clear");
	fake_int_elem(&f, id, 2, 1);
	v = fake_snap(&f, id);
	is_int(v->nelems, 2, "a deleted key comes back");
	is_int(v->elems[1]->state[0], 1, "and counts from zero");
	for (int k = 3; k < 20; k++)
		fake_int_elem(&f, id, k, 1);
	fake_snap(&f, id);
	ok(!aggs_trunc(f.aggs, id, 0, &by_value), "trunc of many");
	is_int(f.ntake, 20, "they are deleted at once, to make room");
	fake_deinit(&f);
}

/* When probes are off, nothing is taken out of the kernel, and one snapshot serves all. */
static void test_quiet(void)
{
	struct agg_view *v;
	struct fake f;
	uint32_t id;

	fake_init(&f);
	id = fake_agg(&f, AGGFUNC_MAX, "m");
	fake_key_int(&f, id, 4, true);
	fake_open(&f);
	fake_int_elem(&f, id, 1, 10 ^ INT64_MIN);
	fake_int_elem(&f, id, 2, 20 ^ INT64_MIN);
	fake_snap(&f, id);
	aggs_set_quiet(f.aggs);
	fake_int_elem(&f, id, 3, 30 ^ INT64_MIN);
	v = fake_snap(&f, id);
	is_int(v->nelems, 3, "what came before is seen");
	ok(!aggs_trunc(f.aggs, id, 1, &by_value), "trunc");
	is_int(f.ntake, 0, "nothing is deleted");
	v = fake_snap(&f, id);
	is_int(v->nelems, 1, "one is left");
	is_int(agg_value(v, v->elems[0]), 30, "the largest");
	fake_deinit(&f);
}

/* Of min and max, a new extreme is not lost. */
static void test_extreme_exact(void)
{
	struct agg_view *v;
	uint32_t id, e;
	struct fake f;

	fake_init(&f);
	fake_agg(&f, AGGFUNC_COUNT, "c");
	id = racing = fake_agg(&f, AGGFUNC_MAX, "m");
	fake_key_int(&f, id, 4, true);
	fake_open(&f);
	e = fake_int_elem(&f, id, 1, 10 ^ INT64_MIN);
	fake_int_elem(&f, id, 2, 20 ^ INT64_MIN);
	fake_snap(&f, id);
	fake_word(&f, id, e, 1, 0, 30 ^ INT64_MIN);
	f.on_take = fire_once;
	ok(!aggs_clear(f.aggs, id), "clear");
	v = fake_snap(&f, id);
	is_int(v->nelems, 2, "keys stay");
	is_int(agg_value(v, v->elems[0]->keys[0].ival == 1 ? v->elems[0] : v->elems[1]), 30,
	       "the new maximum is there");
	is_int(agg_value(v, v->elems[0]->keys[0].ival == 2 ? v->elems[0] : v->elems[1]), 0,
	       "the other is clear");
	ok(!aggs_trunc(f.aggs, id, 0, &by_value), "trunc");
	v = fake_snap(&f, id);
	is_int(v->nelems, 0, "nothing has come since");
	fake_deinit(&f);
}

static void put_bucket(struct fake *f, uint32_t id, int64_t key, uint32_t bucket, int64_t n)
{
	uint32_t e = fake_int_elem(f, id, key, n);

	memcpy(f->maps[id - 1].elems.data[e].key + f->als[id - 1].key_size - 4, &bucket, 4);
}

static void test_sparse(void)
{
	struct agg_view *v;
	struct fake f;
	uint32_t id;

	fake_init(&f);
	id = fake_agg(&f, AGGFUNC_LQUANTIZE, "l");
	fake_param(&f, id, 0, 1000, 1, 0);
	fake_key_int(&f, id, 4, true);
	fake_size(&f, id, true);
	fake_open(&f);
	put_bucket(&f, id, 1, 3, 10);
	put_bucket(&f, id, 2, 3, 20);
	put_bucket(&f, id, 1, 1001, 30);
	put_bucket(&f, id, 1, 5000, 30); /* no such bucket */
	v = fake_snap(&f, id);
	is_int(v->nelems, 2, "buckets of one key are one element");
	is_int(v->elems[0]->state[3], 10, "bucket 3");
	is_int(v->elems[0]->state[1001], 30, "bucket 1001");
	is_int(v->elems[1]->state[3], 20, "the other key");
	ok(!aggs_trunc(f.aggs, id, 1, &by_value), "trunc to the largest");
	is_int(f.ntake, 1, "one kernel element goes");
	is_int(v->nelems, 1, "one is left");
	is_int(v->elems[0]->keys[0].ival, 1, "that of the overflow");
	ok(!aggs_trunc(f.aggs, id, 0, &by_value), "trunc");
	is_int(f.ntake, 4, "all of its buckets go");
	fake_deinit(&f);
}

static void trunc_case(int64_t n, const char *want)
{
	static const int64_t values[] = {5, 1, 4, 2, 3, 3};
	struct agg_sort reversed = {.key = true, .rev = true}; /* of printing; trunc() ignores it */
	struct strbuf got = {0};
	struct agg_view *v;
	struct fake f;
	uint32_t id;

	fake_init(&f);
	id = fake_agg(&f, AGGFUNC_COUNT, "c");
	fake_key_int(&f, id, 4, true);
	fake_open(&f);
	for (uint32_t i = 0; i < ARRAY_LEN(values); i++)
		fake_int_elem(&f, id, i, values[i]);
	(void)fake_snap(&f, id);
	ok(!aggs_trunc(f.aggs, id, n, &reversed), "trunc %lld", (long long)n);
	v = fake_snap(&f, id);
	agg_view_sort(v, &by_value);
	for (uint32_t i = 0; i < v->nelems; i++)
		strbuf_addf(&got, "%lld:%lld ", (long long)v->elems[i]->keys[0].ival,
			    (long long)agg_value(v, v->elems[i]));
	is_str(strbuf_text(&got), want, "what is left, in the kernel too");
	strbuf_deinit(&got);
	fake_deinit(&f);
}

static void test_trunc(void)
{
	trunc_case(2, "2:4 0:5 ");
	trunc_case(-2, "1:1 3:2 ");
	trunc_case(3, "5:3 2:4 0:5 ");	/* of two equal values the one with the larger key */
	trunc_case(-3, "1:1 3:2 4:3 "); /* and the smaller one */
	trunc_case(0, "");
	trunc_case(6, "1:1 3:2 4:3 5:3 2:4 0:5 ");
	trunc_case(100, "1:1 3:2 4:3 5:3 2:4 0:5 ");
	trunc_case(INT64_MIN, "1:1 3:2 4:3 5:3 2:4 0:5 ");
}

static void test_normalize(void)
{
	struct agg_view *v;
	struct err *e;
	struct fake f;
	uint32_t id;

	fake_init(&f);
	id = fake_agg(&f, AGGFUNC_SUM, "s");
	fake_key_int(&f, id, 4, true);
	fake_open(&f);
	fake_int_elem(&f, id, 1, -1001);
	v = fake_snap(&f, id);
	ok(!aggs_normalize(f.aggs, id, 10), "normalize");
	is_int(agg_value(v, v->elems[0]), -100, "truncates towards zero");
	v = fake_snap(&f, id);
	is_int(agg_value(v, v->elems[0]), -100, "persists");
	ok(!aggs_normalize(f.aggs, id, UINT64_MAX), "a factor beyond int64_t");
	is_int(agg_value(v, v->elems[0]), 0, "leaves nothing");
	e = aggs_normalize(f.aggs, id, 0);
	ok(e != NULL, "factor 0 is an error");
	is_int(e ? err_get_code(e) : 0, EDT_BADNORMAL, "its code");
	err_destroy(e);
	is_int(agg_value(v, v->elems[0]), -1001, "and leaves 1");
	ok(!aggs_normalize(f.aggs, id, 7), "normalize");
	aggs_denormalize(f.aggs, id);
	is_int(agg_value(v, v->elems[0]), -1001, "denormalize");
	e = aggs_clear(f.aggs, 99);
	is_int(e ? err_get_code(e) : 0, EDT_BADAGGVAR, "no such aggregation");
	err_destroy(e);
	fake_deinit(&f);
}

int main(void)
{
	test_keys();
	test_stack_keys();
	test_string_ends();
	test_symbol_keys();
	test_bad_keys();
	test_equal_keys();
	test_minmax();
	test_avg_stddev();
	test_stddev_carry();
	test_keyless();
	test_clear_exact();
	test_trunc_exact();
	test_trunc_hides();
	test_quiet();
	test_extreme_exact();
	test_sparse();
	test_trunc();
	test_normalize();
	return tap_done();
}
