/* SPDX-License-Identifier: MIT */
/*
 * Aggregations without a kernel: layouts made by hand, maps that are arrays in memory.
 *
 *     struct fake f; fake_init(&f, NCPUS);
 *     uint32_t id = fake_agg(&f, AGGFUNC_COUNT, param);   aggregations first, keys second
 *     fake_key_int(&f, id, 4, true); fake_key_str(&f, id, KEY_STRHASH);
 *     fake_open(&f);                                       then elements
 *     fake_put(&f, id, cpu, words, KEYS...)                through struct fake_elem below
 */
#pragma once

#include "agg/impl.h"

#define FAKE_CPUS 2
#define FAKE_KEY  64

struct fake_elem {
	uint8_t key[FAKE_KEY];
	uint8_t *values; /* FAKE_CPUS parts */
	bool is_gone;
};

struct fake_map {
	VEC(struct fake_elem) elems;
};

#define FAKE_LIVE 32

struct fake_alive { /* an entry of the table of live() */
	struct rt_live_key key;
	struct {
		uint64_t time, bytes;
		uint32_t agg, cpu;
		uint8_t key[FAKE_LIVE];
	} value; /* as struct rt_live, which has no end of its own */
	bool is_gone;
};

static inline const struct rt_live *fake_live(const struct fake_alive *a)
{
	static_assert(offsetof(struct fake_alive, value.key) - offsetof(struct fake_alive, value) ==
			      offsetof(struct rt_live, key),
		      "the key lies where it does there");
	return (const struct rt_live *)(const void *)&a->value;
}

struct fake {
	struct arena *arena;
	struct layout layout;
	struct agg_layout als[16];
	struct elem_map agg_maps[16]; /* one each */
	uint32_t members[16];
	struct prog_agg paggs[16];
	struct fake_map maps[16];
	struct strtab *strings; /* hash = offset in it + 1000 */
	struct aggs *aggs;
	int ntake, nput, nstring; /* calls */
	int nforget;
	uint64_t forgotten; /* hash that was forgotten last */
	VEC(struct fake_alive) alive;
	int nburied;
	bool keeps; /* entries stay in the table */
	/* a probe that fires when an element has just been taken */
	void (*on_take)(struct fake *f, uint32_t agg, const void *key);
	/* one that fires when an element has just been looked at */
	void (*on_peek)(struct fake *f, uint32_t agg, const void *key);
};

static inline struct err *fake_each(void *ctx, uint32_t agg, agg_each_f *f, void *arg)
{
	struct fake *fk = ctx;

	for (uint32_t i = 0; i < fk->maps[agg].elems.len; i++) {
		struct fake_elem *e = &fk->maps[agg].elems.data[i];

		if (!e->is_gone)
			f(arg, e->key, e->values, FAKE_CPUS); /* keyless: element 0 */
	}
	return NULL;
}

static inline struct fake_elem *fake_find(struct fake *fk, uint32_t agg, const void *key)
{
	for (uint32_t i = 0; i < fk->maps[agg].elems.len; i++) {
		struct fake_elem *e = &fk->maps[agg].elems.data[i];

		if (!e->is_gone &&
		    (!fk->als[agg].key_size || memcmp(e->key, key, fk->als[agg].key_size) == 0))
			return e;
	}
	return NULL;
}

static inline struct err *fake_take(void *ctx, uint32_t agg, const void *key,
				    const uint8_t **ret_values, uint32_t *ret_ncpus)
{
	struct fake *fk = ctx;
	struct fake_elem *e = fake_find(fk, agg, key);

	fk->ntake++;
	if (!e)
		return NULL;
	e->is_gone = fk->als[agg].key_size != 0;
	*ret_values = e->values;
	*ret_ncpus = FAKE_CPUS;
	if (fk->on_take)
		fk->on_take(fk, agg, key);
	return NULL;
}

static inline struct err *fake_peek(void *ctx, uint32_t agg, const void *key,
				    const uint8_t **ret_values, uint32_t *ret_ncpus)
{
	struct fake *fk = ctx;
	struct fake_elem *e = fake_find(fk, agg, key);

	if (!e)
		return NULL;
	*ret_values = arena_memdup(fk->arena, e->values, (size_t)fk->als[agg].val_size * FAKE_CPUS);
	*ret_ncpus = FAKE_CPUS;
	if (fk->on_peek)
		fk->on_peek(fk, agg, key);
	return NULL;
}

static inline struct err *fake_put_back(void *ctx, uint32_t agg, const void *key,
					const uint8_t *value, bool *ret_done)
{
	struct fake *fk = ctx;
	size_t size = fk->als[agg].val_size;
	struct fake_elem e = {0}, *old = fake_find(fk, agg, key);

	fk->nput++;
	if (old && fk->als[agg].key_size)
		return NULL;
	*ret_done = true;
	if (!old) {
		memcpy(e.key, key, fk->als[agg].key_size);
		e.values = arena_alloc(fk->arena, size * FAKE_CPUS);
		vec_push(&fk->maps[agg].elems, e);
		old = vec_last(&fk->maps[agg].elems);
	}
	memset(old->values, 0, size * FAKE_CPUS);
	memcpy(old->values, value, size);
	return NULL;
}

static inline bool fake_string(void *ctx, uint64_t hash, struct strbuf *out)
{
	struct fake *fk = ctx;

	fk->nstring++;
	if (hash == fk->forgotten || hash < 1000 || hash - 1000 >= strtab_size(fk->strings))
		return false;
	strbuf_adds(out, strtab_get(fk->strings, (uint32_t)hash - 1000));
	return true;
}

/* Hash 7: a kernel stack of which three frames were asked for, five recorded. */
static inline bool fake_stack(void *ctx, uint64_t hash, struct strbuf *out)
{
	static const struct rt_stack head = {.len = 40, .frames = 3};
	static const uint64_t words[] = {0x1000, 0x2000, 0x3000, 0x4000, 0x5000};

	if (hash == 7) {
		strbuf_add(out, (const char *)&head, sizeof(head));
		strbuf_add(out, (const char *)words, sizeof(words));
	}
	return hash == 7;
}

static inline void fake_forget(void *ctx, enum agg_side side, uint64_t hash)
{
	struct fake *fk = ctx;

	fk->nforget++;
	fk->forgotten = hash;
}

static inline struct err *fake_alive_each(void *ctx, agg_alive_f *f, void *arg)
{
	struct fake *fk = ctx;

	for (uint32_t i = 0; i < fk->alive.len; i++)
		if (!fk->alive.data[i].is_gone)
			f(arg, &fk->alive.data[i].key, fake_live(&fk->alive.data[i]));
	return NULL;
}

static inline bool fake_bury(void *ctx, const struct rt_live_key *key, uint64_t time)
{
	struct fake *fk = ctx;

	if (fk->keeps)
		return false;
	for (uint32_t i = 0; i < fk->alive.len; i++)
		if (!fk->alive.data[i].is_gone && fk->alive.data[i].key.addr == key->addr &&
		    fk->alive.data[i].value.time == time) {
			fk->alive.data[i].is_gone = true;
			fk->nburied++;
		}
	return true;
}

static const struct agg_io fake_io = {.each = fake_each,
				      .take = fake_take,
				      .peek = fake_peek,
				      .put = fake_put_back,
				      .string = fake_string,
				      .stack = fake_stack,
				      .alive = fake_alive_each,
				      .bury = fake_bury,
				      .forget = fake_forget};

static inline void fake_init(struct fake *f)
{
	*f = (struct fake){0};
	f->arena = arena_create();
	f->strings = strtab_create();
	f->layout.strtab = strtab_create();
	f->layout.strsize = 256;
	f->layout.aggs = f->als;
	f->layout.agg_maps = f->agg_maps;
	f->layout.opts.ncpus = FAKE_CPUS;
}

static inline void fake_deinit(struct fake *f)
{
	aggs_destroy(f->aggs);
	for (uint32_t i = 0; i < f->layout.naggs; i++)
		vec_deinit(&f->maps[i].elems);
	vec_deinit(&f->alive);
	strtab_destroy(f->strings);
	strtab_destroy(f->layout.strtab);
	arena_destroy(f->arena);
}

static inline uint32_t fake_agg(struct fake *f, enum aggfunc func, const char *name)
{
	uint32_t i = f->layout.naggs++;

	f->layout.nagg_maps = f->layout.naggs;
	f->members[i] = i;
	f->paggs[i] = (struct prog_agg){.name = name, .id = i + 1, .func = func};
	f->als[i] = (struct agg_layout){.agg = &f->paggs[i],
					.map = i,
					.keys = ARENA_NEW_N(f->arena, struct key_field, 8)};
	return i + 1;
}

static inline void fake_param(struct fake *f, uint32_t id, int64_t a, int64_t b, int64_t c,
			      int64_t d)
{
	memcpy(f->paggs[id - 1].param, (int64_t[4]){a, b, c, d}, sizeof(int64_t[4]));
}

static inline struct key_field *fake_key(struct fake *f, uint32_t id, enum key_repr repr,
					 uint32_t size)
{
	struct agg_layout *al = &f->als[id - 1];
	struct key_field *k = &al->keys[al->nkeys++];

	k->repr = repr;
	k->size = size;
	k->off = ROUND_UP(al->key_size, size >= 8 ? 8u : size);
	al->key_size = k->off + size;
	return k;
}

static inline void fake_key_int(struct fake *f, uint32_t id, uint32_t size, bool is_signed)
{
	struct key_field *k = fake_key(f, id, KEY_INT, size);

	k->datum = DATUM_INT;
	k->is_signed = is_signed;
}

static inline void fake_key_str(struct fake *f, uint32_t id, enum key_repr repr)
{
	fake_key(f, id, repr,
		 repr == KEY_COMM    ? 16
		 : repr == KEY_STRID ? 4
				     : 8)
		->datum = DATUM_STRING;
}

static inline void fake_key_bytes(struct fake *f, uint32_t id, uint32_t size, enum datum_kind datum)
{
	fake_key(f, id, KEY_BYTES, size)->datum = datum;
}

/* Sizes as record/layout.c makes them; sparse: from here on buckets are elements of their own. */
static inline void fake_size(struct fake *f, uint32_t id, bool is_sparse)
{
	struct agg_layout *al = &f->als[id - 1];
	const struct prog_agg *agg = al->agg;

	if (agg->func == AGGFUNC_QUANTIZE)
		al->nbuckets = 127;
	if (agg->func == AGGFUNC_LQUANTIZE)
		al->nbuckets = (uint32_t)agg->param[1] + 2;
	if (agg->func == AGGFUNC_LLQUANTIZE)
		al->nbuckets = llquantize_nbuckets(agg->param);
	al->is_sparse = is_sparse;
	al->key_size = ROUND_UP(al->key_size, 4u) + (is_sparse ? 4 : 0);
	al->val_size = is_sparse ? 8 : agg_state_len(al) * 8;
	if (!al->key_size) {
		al->touched_off = al->val_size;
		al->val_size += 8;
	}
	f->agg_maps[id - 1] = (struct elem_map){.key_size = al->key_size,
						.val_size = al->val_size,
						.members = &f->members[id - 1],
						.nmembers = 1};
}

static inline void fake_open(struct fake *f)
{
	for (uint32_t i = 0; i < f->layout.naggs; i++)
		if (!f->als[i].val_size)
			fake_size(f, i + 1, false);
	f->layout.live_size = sizeof(struct rt_live) + FAKE_LIVE;
	f->aggs = aggs_create(&f->layout, &fake_io, f);
}

static inline uint64_t fake_hash(struct fake *f, const char *s)
{
	return 1000 + strtab_adds(f->strings, s);
}

/* A new element; its key is filled by fake_set_*(), its values by fake_word(). */
static inline uint32_t fake_elem(struct fake *f, uint32_t id)
{
	struct fake_map *m = &f->maps[id - 1];

	vec_push(&m->elems, (struct fake_elem){0});
	vec_last(&m->elems)->values =
		arena_alloc(f->arena, (size_t)f->als[id - 1].val_size * FAKE_CPUS);
	return m->elems.len - 1;
}

static inline void fake_set(struct fake *f, uint32_t id, uint32_t elem, uint32_t key,
			    const void *data, size_t size)
{
	memcpy(f->maps[id - 1].elems.data[elem].key + f->als[id - 1].keys[key].off, data, size);
}

static inline void fake_set_int(struct fake *f, uint32_t id, uint32_t elem, uint32_t key, int64_t v)
{
	fake_set(f, id, elem, key, &v, f->als[id - 1].keys[key].size);
}

static inline void fake_set_str(struct fake *f, uint32_t id, uint32_t elem, uint32_t key,
				const char *s)
{
	const struct key_field *k = &f->als[id - 1].keys[key];
	uint64_t hash = fake_hash(f, s);
	uint32_t off = strtab_adds(f->layout.strtab, s);

	if (k->repr == KEY_COMM || k->repr == KEY_BYTES)
		fake_set(f, id, elem, key, s, MIN(strlen(s), (size_t)k->size));
	else if (k->repr == KEY_STRID)
		fake_set(f, id, elem, key, &off, sizeof(off));
	else
		fake_set(f, id, elem, key, &hash, sizeof(hash));
}

/* Adds to a word of one CPU's stored value. A keyless element becomes touched on that CPU. */
static inline void fake_word(struct fake *f, uint32_t id, uint32_t elem, uint32_t cpu,
			     uint32_t word, int64_t v)
{
	const struct agg_layout *al = &f->als[id - 1];
	uint8_t *at = f->maps[id - 1].elems.data[elem].values + cpu * al->val_size;
	uint64_t old, one = 1;

	memcpy(&old, at + word * 8, 8);
	old += (uint64_t)v;
	memcpy(at + word * 8, &old, 8);
	if (!al->key_size)
		memcpy(at + al->touched_off, &one, 8);
}

/* An element with one integer key and one word on CPU 0. */
static inline uint32_t fake_int_elem(struct fake *f, uint32_t id, int64_t key, int64_t value)
{
	uint32_t e = fake_elem(f, id);

	fake_set_int(f, id, e, 0, key);
	fake_word(f, id, e, 0, 0, value);
	return e;
}

static inline uint32_t fake_str_elem(struct fake *f, uint32_t id, const char *key, int64_t value)
{
	uint32_t e = fake_elem(f, id);

	fake_set_str(f, id, e, 0, key);
	fake_word(f, id, e, 0, 0, value);
	return e;
}

static inline struct agg_view *fake_snap(struct fake *f, uint32_t id)
{
	struct err *e = aggs_snap(f->aggs);

	if (e)
		BUG("%s", err_text(e));
	return aggs_view(f->aggs, id);
}
