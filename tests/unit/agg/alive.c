/* SPDX-License-Identifier: MIT */
/* live(): what a snapshot counts in the table of what is alive. */
#include "agg/fake.h"
#include "agg/impl.h"
#include "tap.h"

static const struct agg_sort by_value;

/* What is at an address of process 9, since `age` ns before now, with an integer key. */
static void live_add(struct fake *f, uint32_t id, uint64_t addr, int32_t key, uint64_t bytes,
		     uint64_t age, uint32_t cpu)
{
	struct fake_alive a =
		{.key = {.addr = addr, .pid = 9},
		 .value = {.time = now_ns() - age, .bytes = bytes, .agg = id, .cpu = cpu}};

	memcpy(a.value.key, &key, sizeof(key));
	vec_push(&f->alive, a);
}

static uint32_t live_open(struct fake *f, bool has_key)
{
	uint32_t id;

	fake_init(f);
	id = fake_agg(f, AGGFUNC_LIVE, "a");
	if (has_key)
		fake_key_int(f, id, 4, true);
	fake_open(f);
	return id;
}

static int64_t row_word(const struct agg_view *v, int64_t key, enum live_word word)
{
	for (uint32_t i = 0; i < v->nelems; i++)
		if (!v->elems[i]->nkeys || (int64_t)v->elems[i]->keys[0].ival == key)
			return v->elems[i]->state[word];
	return -1;
}

/* Elements of which nothing is alive make room for new keys. */
static void test_gone(void)
{
	uint32_t id, with, without, young;
	struct fake f;

	id = live_open(&f, true);
	f.agg_maps[id - 1].max_entries = 8;
	with = fake_elem(&f, id);
	fake_set_int(&f, id, with, 0, 5);
	without = fake_elem(&f, id);
	fake_set_int(&f, id, without, 0, 6);
	young = fake_elem(&f, id);
	fake_set_int(&f, id, young, 0, 7);
	live_add(&f, id, 0x10, 5, 100, 2000000000, 0);
	live_add(&f, id, 0x20, 7, 100, 0, 0);
	aggs_set_livemin(f.aggs, 1000000000);
	(void)fake_snap(&f, id);
	ok(f.maps[id - 1].elems.data[without].is_gone,
	   "the element of which nothing is alive is gone");
	ok(!f.maps[id - 1].elems.data[with].is_gone && !f.maps[id - 1].elems.data[young].is_gone,
	   "others are not");
	fake_deinit(&f);
}

static void test_counts(void)
{
	struct agg_view *v;
	struct fake f;
	uint32_t id = live_open(&f, true), e;

	e = fake_elem(&f, id);
	fake_set_int(&f, id, e, 0, 5);
	fake_word(&f, id, e, 0, LIVE_LOST, 2);
	fake_word(&f, id, e, 1, LIVE_LOST, 1);
	fake_word(&f, id, e, 1, LIVE_LOST_BYTES, 30);
	e = fake_elem(&f, id);
	fake_set_int(&f, id, e, 0, 6); /* of which nothing is alive */
	live_add(&f, id, 0x10, 5, 100, 2000000000, 0);
	live_add(&f, id, 0x20, 5, 20, 1000000000, 1);
	live_add(&f, id, 0x30, -7, 1, 0, 0); /* its element is not in the map any more */
	f.alive.data[2].value.agg = id + 1;  /* no such aggregation */
	live_add(&f, id, 0x40, -7, 3, 0, 0);
	aggs_keep_percpu(f.aggs, true);
	v = fake_snap(&f, id);
	is_int(v->nelems, 2, "a key of which nothing is alive is not shown");
	is_int(row_word(v, 5, LIVE_COUNT), 2, "number");
	is_int(row_word(v, 5, LIVE_BYTES), 120, "bytes");
	ok(row_word(v, 5, LIVE_AGE) >= 2000000000, "age of the oldest");
	is_int(row_word(v, 5, LIVE_LOST), 3, "what was not followed");
	is_int(row_word(v, 5, LIVE_LOST_BYTES), 30, "its bytes");
	is_int(row_word(v, -7, LIVE_BYTES), 3, "an entry makes its element");
	agg_view_sort(v, &by_value);
	is_int(agg_value(v, v->elems[1]), 120, "the value is the bytes");
	is_int(agg_elem_of_cpu(v, v->elems[1], 1).state[LIVE_BYTES], 20, "those of a CPU");
	err_destroy(aggs_normalize(f.aggs, id, 10));
	is_int(agg_value(v, v->elems[1]), 12, "normalize() divides them");
	aggs_set_livemin(f.aggs, 1500000000);
	v = fake_snap(&f, id);
	is_int(row_word(v, 5, LIVE_BYTES), 100, "option livemin leaves out what is younger");
	fake_deinit(&f);
}

static void test_order(void)
{
	struct agg_view *v;
	struct fake f;
	uint32_t id = live_open(&f, true);

	f.layout.opts.liveorder = true;
	live_add(&f, id, 0x10, 5, 100, 2000000000, 0);
	v = fake_snap(&f, id);
	is_int(row_word(v, 5, LIVE_BYTES), 100, "where only the order is known,");
	is_int(row_word(v, 5, LIVE_AGE), 0, "there are no ages");
	fake_deinit(&f);
}

static void test_clear(bool is_trunc)
{
	struct agg_view *v;
	struct fake f;
	uint32_t id = live_open(&f, true), e = fake_elem(&f, id);

	fake_set_int(&f, id, e, 0, 5);
	fake_word(&f, id, e, 0, LIVE_LOST, 2);
	live_add(&f, id, 0x10, 5, 100, 1000000, 0);
	live_add(&f, id, 0x20, 8, 50, 1000000, 0);
	aggs_set_livemin(f.aggs, 100000);
	v = fake_snap(&f, id);
	is_int(v->nelems, 2, "two rows");
	err_destroy(is_trunc ? aggs_trunc(f.aggs, id, 0, &by_value) : aggs_clear(f.aggs, id));
	is_int(row_word(v, 5, LIVE_COUNT), is_trunc ? -1 : 0, "at once");
	aggs_set_livemin(f.aggs, 0);
	live_add(&f, id, 0x30, 5, 7, 0, 0);
	v = fake_snap(&f, id);
	is_int(v->nelems, 1, "only what came since counts");
	is_int(row_word(v, 5, LIVE_COUNT), 1, "one");
	is_int(row_word(v, 5, LIVE_BYTES), 7, "its bytes");
	is_int(row_word(v, 5, LIVE_LOST), 0, "not followed: none since");
	is_int(f.nburied, 2, "what does not count leaves the table");
	fake_deinit(&f);
}

/* trunc(@, 1) leaves the greatest row; what others had does not count when their key returns. */
static void test_trunc_one(void)
{
	struct agg_view *v;
	struct fake f;
	uint32_t id = live_open(&f, true), e;

	for (int32_t key = 1; key <= 2; key++) {
		e = fake_elem(&f, id);
		fake_set_int(&f, id, e, 0, key);
		live_add(&f, id, 0x10 * (uint64_t)key, key, 100 * (uint64_t)key, 1000, 0);
	}
	v = fake_snap(&f, id);
	err_destroy(aggs_trunc(f.aggs, id, 1, &by_value));
	is_int(v->nelems, 1, "one row");
	f.aggs->idle_ns = 0;
	v = fake_snap(&f, id);
	is_int(v->nelems, 1, "and later");
	is_int(row_word(v, 2, LIVE_BYTES), 200, "the greatest");
	ok(f.maps[id - 1].elems.data[0].is_gone, "the element of the other is deleted");
	live_add(&f, id, 0x50, 1, 1, 0, 0);
	v = fake_snap(&f, id);
	is_int(row_word(v, 1, LIVE_BYTES), 1, "its key returns without what it had");
	fake_deinit(&f);
}

static void test_keyless(void)
{
	struct agg_view *v;
	struct fake f;
	uint32_t id = live_open(&f, false), e = fake_elem(&f, id);

	v = fake_snap(&f, id);
	is_int(v->nelems, 0, "nothing yet");
	fake_word(&f, id, e, 1, LIVE_LOST, 0); /* it was called */
	live_add(&f, id, 0x10, 0, 100, 0, 1);
	v = fake_snap(&f, id);
	is_int(row_word(v, 0, LIVE_BYTES), 100, "without keys");
	err_destroy(aggs_clear(f.aggs, id));
	v = fake_snap(&f, id);
	is_int(v->nelems, 0, "clear() leaves nothing that counts");
	fake_deinit(&f);
}

static void test_exec(void)
{
	struct agg_view *v;
	struct fake f;
	uint32_t id = live_open(&f, true);

	live_add(&f, id, 0x10, 1, 100, 2000000, 0);
	live_add(&f, id, 0x20, 1, 50, 0, 0);
	live_add(&f, id, 0xffff800000000010, 1, 7, 2000000, 0);
	f.alive.data[2].key.pid = 0; /* of the kernel: no exec changes it */
	aggs_note_exec(f.aggs, 8, now_ns());
	v = fake_snap(&f, id);
	is_int(row_word(v, 1, LIVE_BYTES), 157, "another process has executed a program");
	aggs_note_exec(f.aggs, 9, f.alive.data[1].value.time - 1000000);
	v = fake_snap(&f, id);
	is_int(row_word(v, 1, LIVE_BYTES), 57, "what the process had before is gone");
	is_int(f.nburied, 1, "and leaves the table");
	fake_deinit(&f);
}

int main(void)
{
	test_counts();
	test_order();
	test_gone();
	test_clear(false);
	test_clear(true);
	test_trunc_one();
	test_keyless();
	test_exec();
	return tap_done();
}
