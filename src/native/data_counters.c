/* SPDX-License-Identifier: MIT */
/*
 * Counters of sites: count() with a key that a site fixes (native/counter.c) adds to a word of its
 * own, which the stub finds without looking for the key. A site that counts in several elements
 * has one word for all of them.
 *
 * Each CPU has a block of words, as many as the plan has counters, and so has the owner thread
 * (patch/patch.h), which counts there without a lock. Words only grow: what the
 * session has taken out of an element is remembered (base), and the difference is its value. An
 * element whose counters have not changed since is not there.
 */
#include "native/data_impl.h"

#include "base/vec.h"

/* A word, and one of the elements for which it counts. */
struct counter {
	uint32_t word, map;
	uint32_t next;	 /* 1 + the next one of the same element; 0: none */
	uint32_t nchain; /* how many this one and those behind it are */
	uint8_t *key;	 /* of the element, padded; without keys the number of the element */
	uint64_t *base;	 /* by block; NULL: zeros */
};

/* An element of more counters is read with whole blocks, not word by word. */
#define CHAIN_MAX 64

struct counters {
	VEC(struct counter) list;
	uint32_t nwords;	 /* given away */
	struct hashmap *by_elem; /* struct elem_id -> 1 + the first counter */
	uint8_t *id;		 /* room for a struct elem_id */
	size_t id_size;
	uint64_t *now;	 /* a block, as read last */
	uint64_t *kins;	 /* the same, of one child */
	uint64_t *ended; /* all blocks, of children that have ended; NULL: zeros */
};

/*
 * The blocks of plan->ncounters words: a power of two, of which CPUs use the first ones, and one of
 * the owner.
 */
static uint32_t blocks_count(const struct ndata *d)
{
	return plan_ncounter_blocks(d->plan->ncpus) + 1;
}

/* The owner's block, and those of threads whose CPU is not known, may be no CPU's. */
static uint32_t block_cpu(const struct ndata *d, uint32_t block)
{
	return block < d->plan->ncpus ? block : 0;
}

static uint64_t word_off(const struct ndata *d, uint32_t block, uint32_t i)
{
	return d->plan->counters_off + ((uint64_t)block << d->plan->counters_shift) +
	       (uint64_t)i * 8;
}

static uint32_t key_size(const struct ndata *d, uint32_t map)
{
	uint32_t size = d->plan->tables[map].key_size;

	return size ? size : sizeof(uint32_t);
}

/* The map and the key as one text, valid until the next call. */
static const uint8_t *elem_id(struct ndata *d, uint32_t map, const void *key, size_t *ret_size)
{
	struct counters *c = d->counters;

	*ret_size = sizeof(map) + key_size(d, map);
	if (*ret_size > c->id_size) {
		c->id_size = *ret_size;
		c->id = xrealloc(c->id, c->id_size);
	}
	memcpy(c->id, &map, sizeof(map));
	memcpy(c->id + sizeof(map), key, key_size(d, map));
	return c->id;
}

bool ndata_counter_make(struct ndata *d, uint32_t *ret)
{
	struct counters *c = d->counters;

	if (c->nwords == d->plan->ncounters)
		return false;
	*ret = c->nwords++;
	return true;
}

void ndata_counter_add(struct ndata *d, uint32_t counter, uint32_t map, const void *key)
{
	struct counters *c = d->counters;
	struct counter one = {.word = counter, .map = map, .nchain = 1};
	size_t size;
	const uint8_t *id = elem_id(d, map, key, &size);

	assert(counter < c->nwords);
	one.next = (uint32_t)(uintptr_t)hashmap_find(c->by_elem, id, size);
	if (one.next)
		one.nchain += c->list.data[one.next - 1].nchain;
	one.key = xmalloc(key_size(d, map));
	memcpy(one.key, key, key_size(d, map));
	vec_push(&c->list, one);
	hashmap_set(c->by_elem, id, size, (void *)(uintptr_t)c->list.len);
}

/* Reads the words of a block from this one on, and adds what children have. */
static struct err *words_read(struct ndata *d, uint32_t block, uint32_t from, uint32_t n,
			      uint64_t *to)
{
	struct counters *c = d->counters;
	struct err *e = ndata_read(d, word_off(d, block, from), to, (size_t)n * 8);
	struct ndata *x;

	for (uint32_t k = 1; !e && (x = ndata_member(d, k)); k++) {
		struct err *cut = ndata_read(x, word_off(x, block, from), c->kins, (size_t)n * 8);

		for (uint32_t i = 0; i < n && !cut; i++)
			to[i] += c->kins[i];
		e = ndata_member_err(d, x, cut);
	}
	for (uint32_t i = 0; i < n && c->ended; i++)
		to[i] += c->ended[(size_t)block * d->plan->ncounters + from + i];
	return e;
}

/* Reads all words of a block that were given away. */
static struct err *block_read(struct ndata *d, uint32_t block)
{
	return words_read(d, block, 0, d->counters->nwords, d->counters->now);
}

struct err *counters_absorb(struct ndata *d, const struct ndata *kin)
{
	struct counters *c = d->counters;
	uint32_t n = c->nwords;
	struct err *e = NULL;

	if (!n)
		return NULL;
	if (!c->ended)
		c->ended = xcalloc((size_t)blocks_count(d) * d->plan->ncounters, 8);
	for (uint32_t b = 0; b < blocks_count(d) && !e; b++) {
		e = ndata_read(kin, word_off(kin, b, 0), c->kins, (size_t)n * 8);
		for (uint32_t i = 0; i < n && !e; i++)
			c->ended[(size_t)b * d->plan->ncounters + i] += c->kins[i];
	}
	return e;
}

/* Returns by how much a counter has grown since it was taken; now: the word that it shares. */
static uint64_t counter_since(const struct counter *one, uint32_t block, uint64_t now)
{
	return now - (one->base ? one->base[block] : 0);
}

struct err *counters_each(struct ndata *d, uint32_t map, counter_each_f *f, void *ctx)
{
	struct counters *c = d->counters;
	struct err *e = NULL;

	for (uint32_t b = 0; b < blocks_count(d) && c->list.len && !e; b++) {
		e = block_read(d, b);
		for (uint32_t i = 0; i < c->list.len && !e; i++) {
			const struct counter *one = &c->list.data[i];
			uint64_t n = counter_since(one, b, c->now[one->word]);

			if (one->map == map && n)
				f(ctx, one->key, block_cpu(d, b), n);
		}
	}
	return e;
}

/* Adds what one counter has of a block, whose word is now this; takes: it begins anew there. */
static void counter_read(const struct ndata *d, struct counter *one, uint32_t block, uint64_t now,
			 bool takes, uint64_t *sums)
{
	sums[block_cpu(d, block)] += counter_since(one, block, now);
	if (!takes)
		return;
	if (!one->base)
		one->base = xcalloc(blocks_count(d), sizeof(*one->base));
	one->base[block] = now;
}

/* The counters from this one on, of one element, in one block. */
static struct err *chain_read(struct ndata *d, uint32_t first, uint32_t block, bool takes,
			      uint64_t *sums)
{
	struct counters *c = d->counters;
	bool is_long = c->list.data[first].nchain > CHAIN_MAX;
	struct err *e = is_long ? block_read(d, block) : NULL;
	struct counter *one;

	for (uint32_t i = first + 1; i && !e; i = one->next) {
		uint64_t now = 0;

		one = &c->list.data[i - 1];
		if (is_long)
			now = c->now[one->word];
		else
			e = words_read(d, block, one->word, 1, &now);
		if (!e)
			counter_read(d, one, block, now, takes, sums);
	}
	return e;
}

struct err *counters_read(struct ndata *d, uint32_t map, const void *key, bool takes,
			  uint64_t *sums)
{
	struct counters *c = d->counters;
	struct err *e = NULL;
	size_t size;
	const uint8_t *id;
	uint32_t i;

	if (!c->list.len)
		return NULL;
	id = elem_id(d, map, key, &size);
	i = (uint32_t)(uintptr_t)hashmap_find(c->by_elem, id, size);
	for (uint32_t b = 0; i && b < blocks_count(d) && !e; b++)
		e = chain_read(d, i - 1, b, takes, sums);
	return e;
}

void counters_init(struct ndata *d)
{
	d->counters = xcalloc(1, sizeof(*d->counters));
	d->counters->by_elem = hashmap_create();
	d->counters->now = xcalloc(MAX(d->plan->ncounters, 1u), sizeof(uint64_t));
	d->counters->kins = xcalloc(MAX(d->plan->ncounters, 1u), sizeof(uint64_t));
}

void counters_deinit(struct ndata *d)
{
	struct counters *c = d->counters;

	for (uint32_t i = 0; i < c->list.len; i++) {
		free(c->list.data[i].key);
		free(c->list.data[i].base);
	}
	vec_deinit(&c->list);
	hashmap_destroy(c->by_elem);
	free(c->id);
	free(c->now);
	free(c->kins);
	free(c->ended);
	free(c);
}
