/* SPDX-License-Identifier: MIT */
/* Aggregations in real kernel maps: batches, zeroing, deleting, strings. Needs bpf(2). */
#include <bpf/bpf.h>
#include <errno.h>

#include "agg/fake.h"
#include "bpf/engine.h"
#include "bpf/mapio.h"
#include "tap.h"

#define NKEYS 5000 /* more than one batch and many hash buckets */

static int ncpus;

static int possible_cpus(void)
{
	FILE *f = fopen("/sys/devices/system/cpu/possible", "re");
	int first = 0, last = 0;

	if (f) {
		if (fscanf(f, "%d-%d", &first, &last) == 1)
			last = first;
		(void)fclose(f);
	}
	return last + 1;
}

static void put(int fd, const void *key, const int64_t *words, uint32_t nwords, int cpu)
{
	int64_t *all = calloc((size_t)ncpus * nwords, sizeof(*all));

	memcpy(all + (size_t)cpu * nwords, words, sizeof(*all) * nwords);
	if (bpf_map_update_elem(fd, key, all, BPF_ANY))
		printf("# update: %s\n", strerror(errno));
	free(all);
}

struct env {
	struct fake f;
	struct kmaps maps;
	struct map_io *io;
	int agg_fds[2];
};

static bool env_open(struct env *t)
{
	struct agg_layout *al = t->f.als;

	for (uint32_t i = 0; i < t->f.layout.naggs; i++) {
		fake_size(&t->f, i + 1, false);
		t->agg_fds[i] =
			al[i].key_size ? bpf_map_create(BPF_MAP_TYPE_PERCPU_HASH, "t_agg",
							al[i].key_size, al[i].val_size, 16384, NULL)
				       : bpf_map_create(BPF_MAP_TYPE_PERCPU_ARRAY, "t_agg0", 4,
							al[i].val_size, 1, NULL);
		if (t->agg_fds[i] < 0)
			return false;
	}
	memset(t->maps.fd, -1, sizeof(t->maps.fd));
	t->maps.fd[MAP_STRINGS] =
		bpf_map_create(BPF_MAP_TYPE_HASH, "t_strings", 8, 4 + 64, 64, NULL);
	t->maps.agg_fds = t->agg_fds;
	t->maps.naggs = t->f.layout.naggs;
	t->maps.ncpus = (uint32_t)ncpus;
	t->io = map_io_create(&t->f.layout, &t->maps);
	t->f.aggs = aggs_create(&t->f.layout, &map_io_ops, t->io);
	return t->maps.fd[MAP_STRINGS] >= 0;
}

static void env_close(struct env *t)
{
	for (uint32_t i = 0; i < t->f.layout.naggs; i++)
		close(t->agg_fds[i]);
	close(t->maps.fd[MAP_STRINGS]);
	fake_deinit(&t->f);
	map_io_destroy(t->io);
}

static void test_many(struct env *t)
{
	struct agg_sort how = {.key = true};
	struct agg_view *v;
	uint32_t bad = 0;

	for (uint32_t k = 0; k < NKEYS; k++) {
		int64_t state[2] = {1 + k % 3, (int64_t)k * 10}; /* avg: count, sum */

		put(t->agg_fds[0], &k, state, 2, (int)k % ncpus);
	}
	v = fake_snap(&t->f, 1);
	is_int(v->nelems, NKEYS, "every element once");
	agg_view_sort(v, &how);
	for (uint32_t k = 0; k < v->nelems; k++)
		bad += v->elems[k]->keys[0].ival != k || v->elems[k]->state[1] != (int64_t)k * 10 ||
		       v->elems[k]->state[0] != 1 + k % 3;
	is_int(bad, 0, "keys and values");
	ok(!aggs_trunc(t->f.aggs, 1, 10, &how), "trunc to the ten largest");
	v = fake_snap(&t->f, 1);
	is_int(v->nelems, 10, "the kernel has ten left");
	ok(!aggs_clear(t->f.aggs, 1), "clear");
	v = fake_snap(&t->f, 1);
	is_int(v->nelems, 10, "keys stay");
	for (uint32_t i = 0; i < v->nelems; i++)
		bad += v->elems[i]->state[0] != 0 || v->elems[i]->state[1] != 0;
	is_int(bad, 0, "with nothing counted");
	ok(!aggs_trunc(t->f.aggs, 1, 0, &how), "trunc");
	v = fake_snap(&t->f, 1);
	is_int(v->nelems, 0, "nothing is left");
}

static void test_keyless(struct env *t)
{
	int64_t state[2] = {7 ^ INT64_MAX, 1}; /* min, touched */
	uint32_t zero = 0;
	struct agg_view *v;

	v = fake_snap(&t->f, 2);
	is_int(v->nelems, 0, "untouched");
	put(t->agg_fds[1], &zero, state, 2, ncpus - 1);
	v = fake_snap(&t->f, 2);
	is_int(v->nelems, 1, "touched on the last CPU");
	is_int(agg_value(v, v->elems[0]), 7, "its minimum");
	ok(!aggs_clear(t->f.aggs, 2), "clear");
	v = fake_snap(&t->f, 2);
	is_int(v->nelems == 1 ? agg_value(v, v->elems[0]) : -1, 0, "kept as 0");
}

static void test_strings(void)
{
	struct {
		uint32_t len;
		char data[64];
	} str = {5, "hello-not-this"};
	int64_t one = 1;
	uint64_t hash = 0xfeedfacecafef00d;
	struct agg_view *v;
	struct env t = {0};
	uint32_t id;

	fake_init(&t.f);
	id = fake_agg(&t.f, AGGFUNC_COUNT, "c");
	fake_key_str(&t.f, id, KEY_STRHASH);
	ok(env_open(&t), "maps with string keys");
	ok(!bpf_map_update_elem(t.maps.fd[MAP_STRINGS], &hash, &str, BPF_ANY), "a string");
	put(t.agg_fds[0], &hash, &one, 1, 0);
	v = fake_snap(&t.f, id);
	is_str(v->nelems ? v->elems[0]->keys[0].bytes : "", "hello", "text of the hash");
	env_close(&t);
}

int main(void)
{
	struct env t = {0};
	uint32_t id;

	ncpus = possible_cpus();
	fake_init(&t.f);
	id = fake_agg(&t.f, AGGFUNC_AVG, "avg");
	fake_key_int(&t.f, id, 4, false);
	fake_agg(&t.f, AGGFUNC_MIN, "min");
	if (!env_open(&t) && (errno == EPERM || errno == ENOSYS)) {
		printf("1..0 # SKIP bpf(2) is not permitted\n");
		return 0;
	}
	test_many(&t);
	test_keyless(&t);
	env_close(&t);
	test_strings();
	return tap_done();
}
