/* SPDX-License-Identifier: MIT */
/* A hash table of the addresses of a unit's functions. */
#include "bpf/kfunc_table.h"

#define BITS_MAX  20
#define FUNCS_MAX (1u << (BITS_MAX - 1))

static uint32_t bucket_of(const struct kfunc_table *t, uint32_t addr)
{
	return addr * t->multiplier >> (32 - t->bits);
}

/* Puts an address into its bucket; false: that is full, or has the address already. */
static bool table_add(const struct kfunc_table *t, uint32_t addr, uint32_t key)
{
	struct kfunc_bucket *b = &t->buckets[bucket_of(t, addr)];

	for (uint32_t i = 0; i < KFUNC_BUCKET_SLOTS; i++) {
		if (b->slot[i].addr == addr)
			return false;
		if (b->slot[i].addr)
			continue;
		b->slot[i].addr = addr;
		b->slot[i].key = key;
		return true;
	}
	return false;
}

static bool table_fill(struct kfunc_table *t, const struct unit *u)
{
	memset(t->buckets, 0, sizeof(*t->buckets) << t->bits);
	for (uint32_t i = 0; i < u->nprobes; i++) {
		const struct place_func *f = u->probes[i].kfunc;

		for (uint32_t k = 0; k < f->naddrs; k++)
			if (!(uint32_t)f->addrs[k] ||
			    !table_add(t, (uint32_t)f->addrs[k], u->probes[i].key))
				return false;
	}
	return true;
}

/* The next number of a sequence (a linear congruential generator), made odd and positive. */
static uint32_t multiplier_next(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 1 | 1;
}

/* The number of addresses; 0: some probes are at entries, and some at returns. */
static uint32_t addresses_count(const struct unit *u)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < u->nprobes; i++) {
		if (u->probes[i].spot != u->probes[0].spot)
			return 0;
		n += u->probes[i].kfunc->naddrs;
	}
	return n;
}

bool kfunc_table_make(const struct unit *u, struct kfunc_table *ret)
{
	uint32_t n = addresses_count(u), state = 0;
	struct kfunc_table t = {.bits = 1};

	if (!n || n > FUNCS_MAX)
		return false;
	while (1u << t.bits < n)
		t.bits++;
	for (uint32_t last = t.bits + 1; t.bits <= last; t.bits++) {
		t.buckets = xcalloc((size_t)1 << t.bits, sizeof(*t.buckets));
		for (int i = 0; i < 8; i++) {
			t.multiplier = multiplier_next(&state);
			if (table_fill(&t, u)) {
				*ret = t;
				return true;
			}
		}
		kfunc_table_deinit(&t);
	}
	return false;
}

void kfunc_table_deinit(struct kfunc_table *t)
{
	free(t->buckets);
	t->buckets = NULL;
}

bool kfunc_table_suits(const struct unit *u, struct kfunc_table *ret)
{
	return feat_has(FEAT_KPROBE_MULTI) && kfunc_table_make(u, ret);
}
