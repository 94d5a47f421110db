/* SPDX-License-Identifier: MIT */
/*
 * Sharing of hash maps and per-CPU arrays.
 *
 * Aggregations and arrays are sorted by kind and size, each a group of its own. Then neighbours are
 * united, at every step the two that waste the fewest bytes, until there are few enough groups.
 */
#include "record/share.h"

#define OWNER_SIZE     8
#define MAX_ENTRIES    (1u << 23)
#define ELEMS_EXPECTED 256 /* of a hash map: by which the bytes wasted in an element count */
#define CACHE_LINE     64
/* bytes before a hash element's key: struct htab_elem, and the allocator's link */
#define ELEM_HEADER 56
#define SLOTS_MAX   4096 /* most bytes of all CPUs' states in one value */

enum want_kind { WANT_KEYED, WANT_KEYLESS, WANT_ARRAY };

struct want { /* an aggregation or array, and the group that begins with it */
	enum want_kind kind;
	uint32_t index; /* in layout.aggs or layout.vars */
	uint32_t key_size, val_size;
	uint32_t max_entries; /* of the whole group, like the members below */
	uint32_t len;	      /* number of members, from this one on */
	uint32_t max_key, max_val;
};

/* ---- grouping ------------------------------------------------------------------------------- */

static int want_compare(const void *pa, const void *pb)
{
	const struct want *a = pa, *b = pb;

	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->key_size != b->key_size)
		return a->key_size < b->key_size ? -1 : 1;
	if (a->val_size != b->val_size)
		return a->val_size < b->val_size ? -1 : 1;
	return a->index < b->index ? -1 : a->index > b->index;
}

static uint32_t group_key(const struct want *g)
{
	return g->max_key + (g->kind != WANT_KEYLESS && g->len > 1 ? OWNER_SIZE : 0);
}

static struct want wants_unite(const struct want *a, const struct want *b)
{
	struct want u = *a;

	u.len += b->len;
	u.max_key = MAX(a->max_key, b->max_key);
	u.max_val = MAX(a->max_val, b->max_val);
	u.max_entries = MIN(a->max_entries + b->max_entries, MAX_ENTRIES);
	return u;
}

static uint64_t group_growth(const struct want *from, const struct want *to)
{
	uint64_t bytes = group_key(to) + to->max_val - group_key(from) - from->max_val;

	return bytes * from->len * (from->kind == WANT_KEYLESS ? 1 : ELEMS_EXPECTED);
}

/* The bytes that are wasted when two neighbours are united; UINT64_MAX: they cannot be. */
static uint64_t union_waste(const struct want *a, const struct want *b)
{
	struct want u = wants_unite(a, b);

	if (a->kind != b->kind)
		return UINT64_MAX;
	return group_growth(a, &u) + group_growth(b, &u);
}

/* The group whose union with the next one wastes the fewest bytes; NULL: none can be united. */
static struct want *union_cheapest(struct want *wants, uint32_t n, uint64_t *ret_waste)
{
	struct want *best = NULL;

	*ret_waste = UINT64_MAX;
	for (struct want *g = wants; g + g->len<wants + n && * ret_waste> 0; g += g->len) {
		uint64_t w = union_waste(g, g + g->len);

		if (w < *ret_waste) {
			*ret_waste = w;
			best = g;
		}
	}
	return best;
}

/* Unites groups until there are at most max; those that waste nothing are united in any case. */
static void wants_group(struct want *wants, uint32_t n, uint32_t max)
{
	uint32_t ngroups = n;
	uint64_t wasted;

	for (;;) {
		struct want *g = union_cheapest(wants, n, &wasted);

		if (!g || (ngroups <= max && wasted > 0))
			return;
		*g = wants_unite(g, g + g->len);
		ngroups--;
	}
}

/* ---- placing -------------------------------------------------------------------------------- */

static void keys_move(struct key_field *keys, uint32_t nkeys)
{
	for (uint32_t k = 0; k < nkeys; k++)
		keys[k].off += OWNER_SIZE;
}

static void agg_join(struct agg_layout *al, uint32_t map, uint32_t member, bool is_shared)
{
	al->map = map;
	if (!al->key_size) {
		al->elem = member;
	} else if (is_shared) {
		al->owner = member + 1;
		al->key_size += OWNER_SIZE;
		keys_move(al->keys, al->nkeys);
	}
}

static void array_join(struct var_layout *vl, uint32_t map, uint32_t member, bool is_shared)
{
	vl->map = map;
	if (is_shared) {
		vl->owner = member + 1;
		vl->key_size += OWNER_SIZE;
		keys_move(vl->keys, vl->var->nkeys);
	}
}

/*
 * One value has the states of all CPUs, a cache line or more each, so that no CPU waits for another
 * one's line. An element is then one piece of memory, made in 1 to 2 us. An element of the kernel's
 * per-CPU hash takes 20 us (Linux 6.18), and of many new keys some are lost, because there is
 * little per-CPU memory where probes fire. On machines with so many CPUs that the states would be
 * too long, the kernel's per-CPU hash is used.
 */
static void slots_lay_out(struct elem_map *m, uint32_t ncpus)
{
	uint32_t head = ELEM_HEADER + ROUND_UP(m->key_size, 8u);
	uint64_t size = ROUND_UP((uint64_t)m->val_size, CACHE_LINE);

	if (size * ncpus > SLOTS_MAX)
		return;
	m->slot_off = ROUND_UP(head, (uint32_t)CACHE_LINE) - head;
	m->slot_size = (uint32_t)size;
}

static void group_lay_out(struct arena *a, struct layout *l, const struct want *g)
{
	bool is_array = g->kind == WANT_ARRAY, is_shared = g->len > 1;
	uint32_t map = is_array ? l->narr_maps++ : l->nagg_maps++;
	struct elem_map *m = is_array ? &l->arr_maps[map] : &l->agg_maps[map];

	*m = (struct elem_map){.key_size = group_key(g),
			       .val_size = g->max_val,
			       .max_entries = g->max_entries,
			       .nmembers = g->len,
			       .members = ARENA_NEW_N(a, uint32_t, g->len)};
	if (g->kind == WANT_KEYED)
		slots_lay_out(m, l->opts.ncpus);
	for (uint32_t i = 0; i < g->len; i++) {
		m->members[i] = g[i].index;
		if (is_array)
			array_join(&l->vars[g[i].index], map, i, is_shared);
		else
			agg_join(&l->aggs[g[i].index], map, i, is_shared);
	}
}

/* ---- which aggregations and arrays need a map ----------------------------------------------- */

static struct want want_of(enum want_kind kind, uint32_t index, uint32_t key_size,
			   uint32_t val_size, uint32_t max_entries)
{
	return (struct want){kind, index, key_size, val_size, max_entries, 1, key_size, val_size};
}

static uint32_t wants_fill(const struct layout *l, struct want *wants)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < l->naggs; i++) {
		const struct agg_layout *al = &l->aggs[i];

		wants[n++] = want_of(al->key_size ? WANT_KEYED : WANT_KEYLESS, i, al->key_size,
				     al->val_size, al->max_entries);
	}
	for (uint32_t i = 0; i < l->nvars; i++)
		if (l->vars[i].is_elem)
			wants[n++] = want_of(WANT_ARRAY, i, l->vars[i].key_size,
					     l->vars[i].val_size, l->vars[i].max_entries);
	return n;
}

void share_maps(struct arena *a, struct layout *l)
{
	uint32_t most = l->naggs + l->nvars, n;
	CLEANUP(free) struct want *wants = xcalloc(MAX(most, 1u), sizeof(*wants));

	n = wants_fill(l, wants);
	if (n > 1)
		qsort(wants, n, sizeof(*wants), want_compare);
	wants_group(wants, n, l->opts.max_maps ? l->opts.max_maps : n);
	l->agg_maps = ARENA_NEW_N(a, struct elem_map, l->naggs);
	l->arr_maps = ARENA_NEW_N(a, struct elem_map, n - l->naggs);
	for (const struct want *g = wants; g < wants + n; g += g->len)
		group_lay_out(a, l, g);
}
