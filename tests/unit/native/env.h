/* SPDX-License-Identifier: MIT */
/*
 * The blob, executable in this process, with a data part that it shares with the tracer's side: a
 * memory file that both have mapped, as in a traced process.
 *
 *     struct env t = {0}; env_agg(&t, AGGFUNC_COUNT, 8, 0) ...; env_open(&t, bufsize)
 *     BLOB(&t, VALUE)(t.head, table, key, cpu)
 */
#pragma once

#include <sys/mman.h>

#include "native/data_impl.h"

#define ENV_CPUS    4
#define ENV_MAPS    16
#define ENV_CLAUSES 3

struct env {
	struct layout layout;
	struct agg_layout aggs[ENV_MAPS];
	struct prog_agg progs[ENV_MAPS];
	struct elem_map agg_maps[ENV_MAPS], arr_maps[ENV_MAPS];
	uint32_t members[ENV_MAPS];
	struct clause_layout clauses[ENV_CLAUSES];
	struct ndata_hooks hooks;
	uint32_t ncounters;
	bool has_samples, has_live;
	struct blob_frames frames; /* what SITE knows */
	struct blob_plan *plan;
	struct ndata *d;
	struct blob_data *head; /* as the process sees it */
	int fd;
	uint8_t *code;
	size_t code_size;
	uint64_t cookie; /* 0: a random one */
};

typedef u64 blob_time_f(struct blob_data *d);
typedef u64 blob_order_f(struct blob_data *d);
typedef void blob_exit_f(struct blob_data *d);
typedef u64 *blob_cell_f(struct blob_data *d, u64 table, u64 elem, u64 cpu);
typedef u64 *blob_value_f(struct blob_data *d, u64 table, const u64 *key, u64 cpu);
typedef void blob_update_f(u64 *value, s64 x);
typedef u64 blob_quantize_f(s64 x);
typedef u64 blob_lquantize_f(s64 x, s64 base, u64 levels, u64 step);
typedef u64 blob_llquantize_f(s64 x, u64 factor, u64 low, u64 high, u64 steps);
typedef void *blob_record_begin_f(struct blob_data *d, u64 cpu, u64 len, u64 thread);
typedef void blob_record_end_f(void *rec);
typedef u64 *blob_thread_f(struct blob_data *d, u64 thread, u64 cpu, u64 makes);
typedef u64 blob_load_f(struct blob_data *d, u64 table, const u64 *key);
typedef void blob_store_f(struct blob_data *d, u64 table, const u64 *key, u64 x, u64 cpu);
typedef u64 blob_sample_f(struct blob_data *d, u64 bytes, u64 mean, u64 cpu, u64 fs);
typedef u64 blob_sampled_f(struct blob_data *d, u64 addr, u64 fs);
typedef u64 blob_followed_f(struct blob_data *d, u64 addr);
typedef void blob_live_f(struct blob_data *d, u64 addr, u64 bytes, u64 time, u64 *value, u64 cpu);
typedef void blob_dead_f(struct blob_data *d, u64 addr, u64 until);
typedef void blob_site_f(struct blob_data *d, u64 fs, u64 *to);

#define blob_min_f	   blob_update_f
#define blob_max_f	   blob_update_f
#define blob_avg_f	   blob_update_f
#define blob_stddev_f	   blob_update_f
#define blob_record_drop_f blob_record_end_f

static inline void *env_entry(const struct env *t, enum blob_func func)
{
	return t->code + blob_entries[func];
}
#define BLOB(t, ID, name) ((blob_##name##_f *)env_entry((t), BLOB_##ID))

/* Adds an aggregation with a map of its own; key_size 0: without keys. Returns the map. */
__attribute__((unused)) static uint32_t env_agg(struct env *t, enum aggfunc func, uint32_t key_size,
						uint32_t max_entries)
{
	uint32_t i = t->layout.naggs++, words = aggfunc_words(func);
	struct agg_layout *al = &t->aggs[i];

	t->progs[i] = (struct prog_agg){.id = i + 1, .func = func};
	*al = (struct agg_layout){.agg = &t->progs[i], .key_size = key_size, .map = i};
	al->nbuckets = words ? 0 : 127;
	al->val_size = 8 * (words ? words : 127);
	if (!key_size) {
		al->touched_off = al->val_size;
		al->val_size += 8;
	}
	t->members[i] = i;
	t->agg_maps[i] = (struct elem_map){.key_size = key_size,
					   .val_size = al->val_size,
					   .max_entries = max_entries,
					   .members = &t->members[i],
					   .nmembers = 1};
	t->layout.nagg_maps++;
	return i;
}

__attribute__((unused)) static void env_array(struct env *t, uint32_t key_size,
					      uint32_t max_entries)
{
	t->arr_maps[t->layout.narr_maps++] =
		(struct elem_map){.key_size = key_size, .val_size = 8, .max_entries = max_entries};
}

#define ENV_REC_MIN 32u
#define ENV_REC_MAX 320u

/* Records of clause 1 may have any size between ENV_REC_MIN and ENV_REC_MAX. */
static void env_open(struct env *t, uint32_t bufsize)
{
	struct ndata_opts opts = {.layout = &t->layout,
				  .ncpus = ENV_CPUS,
				  .bufsize = bufsize,
				  .ncounters = t->ncounters,
				  .has_samples = t->has_samples,
				  .has_live = t->has_live};
	struct blob_conf *conf;
	size_t size;
	struct err *e;
	uint8_t *map;

	t->layout.aggs = t->aggs;
	t->layout.agg_maps = t->agg_maps;
	t->layout.arr_maps = t->arr_maps;
	t->layout.clauses = t->clauses;
	t->layout.nclauses = ENV_CLAUSES;
	t->layout.opts.ncpus = ENV_CPUS;
	t->layout.opts.dynvarsize = 64 << 10;
	t->clauses[0].heap_off = t->clauses[0].max_size = ENV_REC_MAX;
	t->clauses[1].heap_off = ENV_REC_MIN;
	t->clauses[1].max_size = ENV_REC_MAX;
	e = blob_plan_create(&opts, &t->plan);
	if (e)
		BUG("plan: %s", err_text(e));
	t->plan->frames = t->frames;
	t->fd = memfd_create("data", MFD_CLOEXEC);
	if (t->fd < 0 || ftruncate(t->fd, (off_t)t->plan->size) != 0)
		BUG("memfd");
	map = mmap(NULL, t->plan->size, PROT_READ | PROT_WRITE, MAP_SHARED, t->fd, 0);
	if (map == MAP_FAILED)
		BUG("mmap");
	e = ndata_create(t->plan, &t->layout, map, t->fd, 0, &t->hooks, &t->d);
	if (e)
		BUG("create: %s", err_text(e));
	if (t->cookie)
		t->d->cookie = t->cookie;
	conf = ndata_conf(t->d, &size);
	t->code_size = ROUND_UP(blob_code_size + size, (size_t)4096);
	t->code = mmap(NULL, t->code_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		       0);
	if (t->code == MAP_FAILED)
		BUG("mmap");
	memcpy(t->code, blob_code, blob_code_size);
	memcpy(t->code + blob_code_size, conf, size);
	free(conf);
	if (mprotect(t->code, t->code_size, PROT_READ | PROT_EXEC) != 0)
		BUG("mprotect");
	t->head = (struct blob_data *)(void *)map;
}

__attribute__((unused)) static void env_close(struct env *t)
{
	(void)munmap(t->head, t->plan->size);
	(void)munmap(t->code, t->code_size);
	ndata_destroy(t->d);
	blob_plan_destroy(t->plan);
	(void)close(t->fd);
	*t = (struct env){0};
}

static inline uint64_t env_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}
