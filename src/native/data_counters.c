/* SPDX-License-Identifier: MIT */
/*
 * Counters of sites: count() with a key that a site fixes (native/counter.c) adds to a word of its
 * own, which the stub finds without looking for the key.
 *
 * Each CPU has a block of words, as many as the plan has counters. Words only grow: what the
 * session has taken out of an element is remembered (base), and the difference is its value. An
 * element whose counters have not changed since is not there.
 */
#include "native/data_impl.h"

#include "base/vec.h"

struct counter {
	uint32_t map, next; /* next: 1 + the counter of the same element; 0: none */
	uint8_t *key;	    /* of the element, padded; without keys the number of the element */
	uint64_t *base;	    /* by block; NULL: zeros */
};

struct counters {
	VEC(struct counter) list;
	struct hashmap *by_elem; /* struct elem_id -> 1 + the first counter */
	uint8_t *id;		 /* room for a struct elem_id */
	size_t id_size;
	uint64_t *now; /* a block, as read last */
};

/* The blocks of plan->ncounters words: a power of two, of which CPUs use the first ones. */
static uint32_t blocks_count(const struct ndata *d)
{
	return plan_ncounter_blocks(d->plan->ncpus);
}

/* A thread whose CPU is not known may use a block that is no CPU's. */
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

bool ndata_counter_add(struct ndata *d, uint32_t map, const void *key, uint32_t *ret)
{
	struct counters *c = d->counters;
	struct counter one = {.map = map};
	size_t size;
	const uint8_t *id;

	if (c->list.len == d->plan->ncounters)
		return false;
	id = elem_id(d, map, key, &size);
	one.next = (uint32_t)(uintptr_t)hashmap_find(c->by_elem, id, size);
	one.key = xmalloc(key_size(d, map));
	memcpy(one.key, key, key_size(d, map));
	vec_push(&c->list, one);
	hashmap_set(c->by_elem, id, size, (void *)(uintptr_t)c->list.len);
	*ret = c->list.len - 1;
	return true;
}

struct err *counters_each(struct ndata *d, uint32_t map, counter_each_f *f, void *ctx)
{
	struct counters *c = d->counters;
	struct err *e = NULL;

	for (uint32_t b = 0; b < blocks_count(d) && c->list.len && !e; b++) {
		e = ndata_read(d, word_off(d, b, 0), c->now, (size_t)c->list.len * 8);
		for (uint32_t i = 0; i < c->list.len && !e; i++) {
			const struct counter *one = &c->list.data[i];
			uint64_t n = c->now[i] - (one->base ? one->base[b] : 0);

			if (one->map == map && n)
				f(ctx, one->key, block_cpu(d, b), n);
		}
	}
	return e;
}

/* Adds what one counter has; takes: from now on it has nothing. */
static struct err *counter_read(struct ndata *d, uint32_t i, bool takes, uint64_t *sums)
{
	struct counter *one = &d->counters->list.data[i];
	struct err *e = NULL;

	if (takes && !one->base)
		one->base = xcalloc(blocks_count(d), sizeof(*one->base));
	for (uint32_t b = 0; b < blocks_count(d) && !e; b++) {
		uint64_t now = 0;

		e = ndata_read(d, word_off(d, b, i), &now, sizeof(now));
		if (e)
			break;
		sums[block_cpu(d, b)] += now - (one->base ? one->base[b] : 0);
		if (takes)
			one->base[b] = now;
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
	for (; i && !e; i = c->list.data[i - 1].next)
		e = counter_read(d, i - 1, takes, sums);
	return e;
}

void counters_init(struct ndata *d)
{
	d->counters = xcalloc(1, sizeof(*d->counters));
	d->counters->by_elem = hashmap_create();
	d->counters->now = xcalloc(MAX(d->plan->ncounters, 1u), sizeof(uint64_t));
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
	free(c);
}
