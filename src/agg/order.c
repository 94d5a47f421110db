/* SPDX-License-Identifier: MIT */
/* The order of elements: sorting (d-language.md 6.4.3) and joint printing (6.4.4). */
#include "agg/impl.h"

/* ---- keys ---------------------------------------------------------------------------------- */

static bool is_number(const struct agg_key *k)
{
	return !k->bytes;
}

static int cmp_u64(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static uint64_t key_unsigned(const struct agg_key *k)
{
	return k->size >= 8 ? k->ival : k->ival & (((uint64_t)1 << k->size * 8) - 1);
}

static uint64_t word_at(const char *bytes, uint32_t i)
{
	uint64_t v;

	memcpy(&v, bytes + i * sizeof(v), sizeof(v));
	return v;
}

/* Compares process ids, then addresses. */
static int user_addr_cmp(const struct agg_key *a, const struct agg_key *b)
{
	int c = cmp_u64(word_at(a->bytes, 0), word_at(b->bytes, 0));

	return c ? c : cmp_u64(word_at(a->bytes, 1), word_at(b->bytes, 1));
}

/* The text by which keys that are not numbers are compared. */
static const char *key_text(const struct agg_key *k, size_t *ret_len)
{
	*ret_len = k->name ? strlen(k->name) : k->size;
	return k->name ? k->name : k->bytes;
}

/* Whether one stack is of the kernel and the other one of a process. */
static bool are_unlike_stacks(const struct agg_key *a, const struct agg_key *b)
{
	return (a->datum == DATUM_STACK && b->datum == DATUM_USTACK) ||
	       (a->datum == DATUM_USTACK && b->datum == DATUM_STACK);
}

static bool is_user_addr(const struct agg_key *k)
{
	return k->size == 16 &&
	       (k->datum == DATUM_USYM || k->datum == DATUM_UMOD || k->datum == DATUM_UADDR);
}

/* Strings compare as if padded with NULs to one size: a prefix comes first. */
static int key_cmp(const struct agg_key *a, const struct agg_key *b)
{
	const char *ta, *tb;
	size_t na, nb;
	int c;

	if (is_number(a) && is_number(b))
		return a->size != b->size ? cmp_u64(a->size, b->size)
					  : cmp_u64(key_unsigned(a), key_unsigned(b));
	if (is_number(a) || is_number(b))
		return is_number(a) ? -1 : 1;
	if (is_user_addr(a) && is_user_addr(b))
		return user_addr_cmp(a, b);
	if (are_unlike_stacks(a, b))
		return a->datum == DATUM_STACK ? -1 : 1;
	ta = key_text(a, &na);
	tb = key_text(b, &nb);
	c = memcmp(ta, tb, MIN(na, nb));
	return c ? c : cmp_u64(na, nb);
}

static int keys_cmp(const struct agg_elem *a, const struct agg_elem *b, uint32_t keypos)
{
	if (a->nkeys != b->nkeys)
		return cmp_u64(a->nkeys, b->nkeys);
	if (keypos >= a->nkeys)
		keypos = 0;
	for (uint32_t i = 0; i < a->nkeys; i++) {
		uint32_t k = (keypos + i) % a->nkeys;
		int c = key_cmp(&a->keys[k], &b->keys[k]);

		if (c)
			return c;
	}
	return 0;
}

#define CANON_USER ((uint64_t)1 << 63) /* in the length of a stack of a process */

void agg_keys_canon(const struct agg_elem *e, struct strbuf *out)
{
	for (uint32_t i = 0; i < e->nkeys; i++) {
		const struct agg_key *k = &e->keys[i];
		uint64_t word = k->ival;
		const char *text = NULL;
		size_t len = 0;

		if (!is_number(k))
			text = key_text(k, &len);
		if (text)
			word = len | (k->datum == DATUM_USTACK ? CANON_USER : 0);
		strbuf_add(out, (const char *)&word, sizeof(word));
		strbuf_add(out, text, len);
	}
}

/* ---- sorting ------------------------------------------------------------------------------- */

/* A row of n elements (one for a single aggregation) with the data that comparisons need. */
struct sort_row {
	struct agg_elem **elems;
	const struct agg_elem *keyed; /* any element of the row, for its keys */
	struct agg_weight *weights;
	uint32_t seq;
};

/* The data of most comparisons, side by side: a million rows do not fit in a cache. */
struct sort_item {
	long double val; /* the weight that is compared first */
	uint64_t prefix; /* key_prefix() of the key that is compared first */
	uint32_t row;
};

struct sort_ctx {
	const struct agg_sort *how;
	const struct sort_row *rows;
	uint32_t n;
	bool by_prefix; /* for rows with equal val, different prefixes decide */
};

static int weight_cmp(struct agg_weight a, struct agg_weight b)
{
	if (a.val != b.val)
		return a.val < b.val ? -1 : 1;
	if (a.tie != b.tie)
		return a.tie < b.tie ? -1 : 1;
	return 0;
}

static uint32_t first_pos(const struct agg_sort *how, uint32_t n)
{
	return how->pos >= n ? 0 : how->pos;
}

static int values_cmp(const struct sort_row *a, const struct sort_row *b,
		      const struct sort_ctx *ctx)
{
	uint32_t pos = first_pos(ctx->how, ctx->n);

	for (uint32_t i = 0; i < ctx->n; i++) {
		uint32_t at = (pos + i) % ctx->n;
		int c = weight_cmp(a->weights[at], b->weights[at]);

		if (c)
			return c;
	}
	return 0;
}

static int row_cmp(const struct sort_row *a, const struct sort_row *b, const struct sort_ctx *ctx)
{
	int by_value = 0, c;

	if (!ctx->how->key)
		by_value = values_cmp(a, b, ctx);
	if (ctx->how->greatest_first)
		by_value = -by_value;
	c = by_value ? by_value : keys_cmp(a->keyed, b->keyed, ctx->how->keypos);
	if (!c && ctx->how->key)
		c = values_cmp(a, b, ctx);
	if (ctx->how->rev)
		c = -c;
	return c ? c : cmp_u64(a->seq, b->seq);
}

static int item_cmp(const void *pa, const void *pb, void *arg)
{
	const struct sort_item *a = pa, *b = pb;
	const struct sort_ctx *ctx = arg;
	int c = 0;

	if (!ctx->how->key && a->val != b->val)
		c = (a->val < b->val) != ctx->how->greatest_first ? -1 : 1;
	else if (ctx->by_prefix)
		c = cmp_u64(a->prefix, b->prefix);
	if (!c)
		return row_cmp(&ctx->rows[a->row], &ctx->rows[b->row], ctx);
	return ctx->how->rev ? -c : c;
}

static const struct agg_key *first_key(const struct sort_row *row, const struct agg_sort *how)
{
	const struct agg_elem *e = row->keyed;

	return e->nkeys ? &e->keys[how->keypos >= e->nkeys ? 0 : how->keypos] : NULL;
}

/* A number for a key: if two numbers differ, they are ordered as key_cmp() orders the keys. */
static uint64_t key_prefix(const struct agg_key *k)
{
	uint8_t first[sizeof(uint64_t)] = {0};
	const char *text;
	uint64_t prefix;
	size_t len;

	if (is_number(k))
		return key_unsigned(k);
	if (is_user_addr(k))
		return word_at(k->bytes, 0);
	text = key_text(k, &len);
	memcpy(first, text, MIN(len, sizeof(first)));
	memcpy(&prefix, first, sizeof(prefix));
	return __builtin_bswap64(prefix);
}

/* Whether the key_prefix() of two keys can be compared. */
static bool keys_are_alike(const struct agg_key *a, const struct agg_key *b)
{
	if (is_number(a) || is_number(b))
		return is_number(a) && is_number(b) && a->size == b->size;
	return is_user_addr(a) == is_user_addr(b);
}

/*
 * Fills in prefixes; false if they may not decide. When values are compared first, they may decide
 * only if equal first weights mean equal values.
 */
static bool prefixes_fill(const struct sort_row *rows, uint32_t nrows, const struct sort_ctx *ctx,
			  struct sort_item *items)
{
	const struct agg_key *first = first_key(&rows[0], ctx->how);
	bool is_usable = first && (ctx->how->key || ctx->n == 1);

	for (uint32_t i = 0; i < nrows && is_usable; i++) {
		const struct agg_key *k = first_key(&rows[i], ctx->how);

		is_usable = k && keys_are_alike(first, k) &&
			    rows[i].keyed->nkeys == rows[0].keyed->nkeys &&
			    (ctx->how->key || rows[i].weights[0].tie == 0);
		if (is_usable)
			items[i].prefix = key_prefix(k);
	}
	return is_usable;
}

static void rows_sort(struct sort_row *rows, uint32_t nrows, uint32_t n, const struct agg_sort *how)
{
	struct sort_ctx ctx = {.how = how, .rows = rows, .n = n};
	CLEANUP(free) struct sort_item *items = NULL;
	CLEANUP(free) struct sort_row *sorted = NULL;

	if (nrows < 2)
		return;
	items = xcalloc(nrows, sizeof(*items));
	sorted = xcalloc(nrows, sizeof(*sorted));
	for (uint32_t i = 0; i < nrows; i++) {
		items[i].val = rows[i].weights[first_pos(how, n)].val;
		items[i].row = i;
	}
	ctx.by_prefix = prefixes_fill(rows, nrows, &ctx, items);
	qsort_r(items, nrows, sizeof(*items), item_cmp, &ctx);
	for (uint32_t i = 0; i < nrows; i++)
		sorted[i] = rows[items[i].row];
	memcpy(rows, sorted, sizeof(*rows) * nrows);
}

void agg_view_sort(struct agg_view *v, const struct agg_sort *how)
{
	CLEANUP(free) struct sort_row *rows = xcalloc(v->nelems, sizeof(*rows));
	CLEANUP(free) struct agg_weight *weights = xcalloc(v->nelems, sizeof(*weights));
	CLEANUP(free) struct agg_elem **elems = xcalloc(v->nelems, sizeof(struct agg_elem *));

	for (uint32_t i = 0; i < v->nelems; i++) {
		elems[i] = v->elems[i];
		weights[i] = agg_weight(v->layout, elems[i]);
		rows[i] = (struct sort_row){&elems[i], elems[i], &weights[i], i};
	}
	rows_sort(rows, v->nelems, 1, how);
	for (uint32_t i = 0; i < v->nelems; i++)
		v->elems[i] = rows[i].elems[0];
}

/* ---- joining ------------------------------------------------------------------------------- */

typedef VEC(struct sort_row) row_vec;

/* The row with the keys of an element, new if need be. map: canonical keys -> row number + 1. */
static struct sort_row *join_row(row_vec *rows, struct hashmap *map, struct agg_elem *e, uint32_t n,
				 struct arena *arena, struct strbuf *canon)
{
	uintptr_t at;

	strbuf_clear(canon);
	agg_keys_canon(e, canon);
	at = (uintptr_t)hashmap_find(map, strbuf_text(canon), canon->len);
	if (at)
		return &rows->data[at - 1];
	vec_push(rows, (struct sort_row){.elems = ARENA_NEW_N(arena, struct agg_elem *, n),
					 .keyed = e,
					 .weights = ARENA_NEW_N(arena, struct agg_weight, n),
					 .seq = rows->len});
	hashmap_set(map, strbuf_text(canon), canon->len, (void *)(uintptr_t)rows->len);
	return vec_last(rows);
}

void agg_join(struct agg_view *const *views, uint32_t n, const struct agg_sort *how,
	      struct arena *arena, struct agg_row **ret_rows, uint32_t *ret_nrows)
{
	struct hashmap *map = hashmap_create();
	struct strbuf canon = {0};
	row_vec rows = {0};
	struct agg_row *ret;

	for (uint32_t v = 0; v < n; v++)
		for (uint32_t i = 0; i < views[v]->nelems; i++) {
			struct agg_elem *e = views[v]->elems[i];
			struct sort_row *row = join_row(&rows, map, e, n, arena, &canon);

			row->elems[v] = e;
			row->weights[v] = agg_weight(views[v]->layout, e);
		}
	rows_sort(rows.data, rows.len, n, how);
	ret = ARENA_NEW_N(arena, struct agg_row, rows.len);
	for (uint32_t i = 0; i < rows.len; i++)
		ret[i].elems = rows.data[i].elems;
	*ret_rows = ret;
	*ret_nrows = rows.len;
	vec_deinit(&rows);
	strbuf_deinit(&canon);
	hashmap_destroy(map);
}
