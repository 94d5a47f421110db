/* SPDX-License-Identifier: MIT */
/* Aggregations: their elements, and how a clause updates them. */
#include "remains/impl.h"

#include "record/llquantize.h"

#define QUANTIZE_ZERO 63 /* bucket of value 0 of quantize(): d-language.md 5.5 */

/* ---- texts and stacks of keys ---------------------------------------------------------------- */

static uint64_t bytes_hash(const char *bytes, size_t len)
{
	uint64_t hash = 14695981039346656037u;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (uint8_t)bytes[i]) * 1099511628211u;
	return hash ^ hash >> 32;
}

uint64_t side_add(struct hashmap *side, const char *bytes, size_t len, uint64_t bits)
{
	uint64_t hash = bytes_hash(bytes, len);
	struct text *t;

	/* The high bits say what a word of a stack is; another text may have the hash. */
	for (;; hash++) {
		hash = (hash & ((1ull << 61) - 1)) | bits;
		t = hashmap_find(side, &hash, sizeof(hash));
		if (!t || (t->len == len && memcmp(t->bytes, bytes, len) == 0))
			break;
	}
	if (t)
		return hash;
	t = xmalloc(sizeof(*t) + len + 1);
	t->len = len;
	memcpy(t->bytes, bytes, len);
	t->bytes[len] = '\0';
	hashmap_set(side, &hash, sizeof(hash), t);
	return hash;
}

/* ---- elements -------------------------------------------------------------------------------- */

static size_t map_key_size(const struct map *m)
{
	return m->spec->key_size ? m->spec->key_size : sizeof(uint32_t);
}

static size_t map_value_size(const struct map *m)
{
	return elem_map_stride(m->spec);
}

static struct elem *elem_create(const struct map *m, const void *key)
{
	size_t size = map_key_size(m);
	struct elem *e = xcalloc(1, sizeof(*e));

	e->key = xmalloc(size);
	memcpy(e->key, key, size);
	e->value = xcalloc(1, map_value_size(m));
	return e;
}

static void elem_destroy(struct elem *e)
{
	free(e->key);
	free(e->value);
	free(e);
}

static struct elem *elem_find(const struct map *m, const void *key)
{
	return hashmap_find(m->by_key, key, map_key_size(m));
}

static struct elem *elem_add(struct map *m, const void *key)
{
	struct elem *e = elem_create(m, key);

	hashmap_set(m->by_key, key, map_key_size(m), e);
	return e;
}

void maps_create(struct remains_run *r)
{
	r->maps = ARENA_NEW_N(r->arena, struct map, MAX(r->layout->nagg_maps, 1u));
	for (uint32_t i = 0; i < r->layout->nagg_maps; i++) {
		struct map *m = &r->maps[i];

		m->spec = &r->layout->agg_maps[i];
		m->by_key = hashmap_create();
		for (uint32_t k = 0; !m->spec->key_size && k < m->spec->nmembers; k++)
			(void)elem_add(m, &k);
	}
}

static void side_destroy(struct hashmap *side)
{
	struct text *t;
	size_t pos = 0;

	while ((t = hashmap_next(side, &pos, NULL, NULL)))
		free(t);
	hashmap_destroy(side);
}

void maps_destroy(struct remains_run *r)
{
	for (uint32_t i = 0; i < r->layout->nagg_maps; i++) {
		struct elem *e;
		size_t pos = 0;

		while ((e = hashmap_next(r->maps[i].by_key, &pos, NULL, NULL)))
			elem_destroy(e);
		hashmap_destroy(r->maps[i].by_key);
	}
	side_destroy(r->strings);
	side_destroy(r->stacks);
}

/* ---- keys ------------------------------------------------------------------------------------ */

static uint64_t stack_key(struct remains_run *r, const struct difo *d)
{
	uint32_t frames = layout_frames(r->layout, d, true);
	struct rt_stack head = {.frames = frames | RT_STACK_USER};
	struct strbuf bytes = {0};
	uint64_t hash;

	strbuf_add(&bytes, (const char *)&head, sizeof(head));
	stack_words_add(r, frames, layout_strsize(&r->layout->opts, d, true), difo_stack_is_lang(d),
			&bytes);
	head.len = (uint32_t)(bytes.len - sizeof(head));
	memcpy(bytes.data, &head, sizeof(head));
	hash = side_add(r->stacks, bytes.data, bytes.len, 0);
	strbuf_deinit(&bytes);
	return hash;
}

static bool key_field(struct remains_run *r, const struct key_field *f, const struct prog_act *act,
		      uint32_t k, uint8_t *to)
{
	uint32_t action = act->number + k, len, id;
	const struct difo *d = act->args[k];
	uint64_t value, named = r->m->named;
	bool is_null;

	switch (f->repr) {
	case KEY_INT:
		if (!clause_value(r, d, action, &value))
			return false;
		memcpy(to, &value, f->size);
		return true;
	case KEY_COMM: memcpy(to, event_thread(r)->who.name, 15); return true;
	case KEY_STRID:
		id = clause_strid(r, d);
		memcpy(to, &id, sizeof(id));
		return true;
	case KEY_STRHASH:
		if (!clause_text(r, d, action, &len, &is_null))
			return false;
		value = side_add(r->strings, is_null ? "" : r->text_buf, is_null ? 0 : len, 0);
		memcpy(to, &value, sizeof(value));
		return true;
	case KEY_STACK:
		value = stack_key(r, d);
		memcpy(to, &value, sizeof(value));
		return true;
	case KEY_BYTES:
		if (f->datum != DATUM_USYM && f->datum != DATUM_UMOD && f->datum != DATUM_UADDR)
			return clause_bytes(r, d, action, to, f->size);
		if (!clause_value(r, d, action, &value))
			return false;
		memcpy(to, &named, sizeof(named));
		memcpy(to + 8, &value, sizeof(value));
		return true;
	}
	BUG("a key of kind %d", (int)f->repr);
}

static bool key_make(struct remains_run *r, const struct agg_layout *al, const struct prog_act *act,
		     uint8_t *key)
{
	uint64_t owner = al->owner;

	if (!al->key_size)
		memcpy(key, &al->elem, sizeof(al->elem));
	else if (al->owner)
		memcpy(key, &owner, sizeof(owner));
	for (uint32_t k = 0; k < al->nkeys; k++)
		if (!key_field(r, &al->keys[k], act, k, key + al->keys[k].off))
			return false;
	return true;
}

/* ---- values ---------------------------------------------------------------------------------- */

static uint32_t quantize_bucket(int64_t v)
{
	uint64_t mag = v < 0 ? -(uint64_t)v : (uint64_t)v;
	uint32_t log = mag ? 64 - (uint32_t)__builtin_clzll(mag) : 0;

	return v < 0 ? QUANTIZE_ZERO - MIN(log, (uint32_t)QUANTIZE_ZERO) : QUANTIZE_ZERO + log;
}

/* param: base, levels, step; the first bucket is what lies below, the last what lies above. */
static uint32_t lquantize_bucket(const int64_t param[4], int64_t v)
{
	uint64_t level;

	if (v < param[0])
		return 0;
	level = ((uint64_t)v - (uint64_t)param[0]) / (uint64_t)param[2];
	return (uint32_t)MIN(level, (uint64_t)param[1]) + 1;
}

static uint32_t bucket_of(const struct prog_agg *agg, int64_t v)
{
	return agg->func == AGGFUNC_QUANTIZE	? quantize_bucket(v)
	       : agg->func == AGGFUNC_LQUANTIZE ? lquantize_bucket(agg->param, v)
						: llquantize_bucket(agg->param, v);
}

static void word_add(uint64_t *word, int64_t v)
{
	*word += (uint64_t)v;
}

static void state_update(enum aggfunc func, uint64_t *state, int64_t v)
{
	unsigned __int128 square = (unsigned __int128)((__int128)v * v), sum;

	switch (func) {
	case AGGFUNC_COUNT: state[0]++; break;
	case AGGFUNC_SUM: word_add(&state[0], v); break;
	/* least and greatest values are stored so that zero means none (record/layout.h) */
	case AGGFUNC_MIN:
		state[0] = (uint64_t)(MIN((int64_t)state[0] ^ INT64_MAX, v) ^ INT64_MAX);
		break;
	case AGGFUNC_MAX:
		state[0] = (uint64_t)(MAX((int64_t)state[0] ^ INT64_MIN, v) ^ INT64_MIN);
		break;
	case AGGFUNC_AVG:
		state[0]++;
		word_add(&state[1], v);
		break;
	case AGGFUNC_STDDEV:
		state[0]++;
		word_add(&state[1], v);
		sum = ((unsigned __int128)state[3] << 64 | state[2]) + square;
		state[2] = (uint64_t)sum;
		state[3] = (uint64_t)(sum >> 64);
		break;
	case AGGFUNC_LIVE: BUG("live() is refused");
	case AGGFUNC_QUANTIZE:
	case AGGFUNC_LQUANTIZE:
	case AGGFUNC_LLQUANTIZE: BUG("a histogram has buckets");
	}
}

/* The element of a key, which is made if there is room; NULL: there is none. */
static struct elem *elem_get(struct remains_run *r, struct map *m, const uint8_t *key)
{
	struct elem *e = elem_find(m, key);

	if (!e && hashmap_count(m->by_key) >= MAX(m->spec->max_entries, 1u)) {
		r->run.control->cpu[0].agg_drops++;
		r->ndropped++;
		return NULL;
	}
	return e ? e : elem_add(m, key);
}

bool aggregate(struct remains_run *r, const struct prog_act *act)
{
	const struct agg_layout *al = &r->layout->aggs[act->agg->id - 1];
	struct map *m = &r->maps[al->map];
	CLEANUP(free) uint8_t *key = xcalloc(1, map_key_size(m) + 16);
	uint64_t value = 0, increment = 1, one = 1;
	bool is_histogram = !aggfunc_words(act->agg->func);
	struct elem *e;

	if (!key_make(r, al, act, key))
		return false;
	if (act->nargs > al->nkeys &&
	    !clause_value(r, act->args[al->nkeys], act->number + al->nkeys, &value))
		return false;
	if (is_histogram && act->nargs > al->nkeys + 1 &&
	    !clause_value(r, act->args[al->nkeys + 1], act->number + al->nkeys + 1, &increment))
		return false;
	if (is_histogram && al->is_sparse) {
		uint32_t bucket = bucket_of(act->agg, (int64_t)value);

		memcpy(key + al->key_size - sizeof(bucket), &bucket, sizeof(bucket));
	}
	e = elem_get(r, m, key);
	if (!e)
		return true;
	if (!is_histogram)
		state_update(act->agg->func, (uint64_t *)(void *)e->value, (int64_t)value);
	else if (al->is_sparse)
		word_add((uint64_t *)(void *)e->value, (int64_t)increment);
	else
		word_add((uint64_t *)(void *)e->value + bucket_of(act->agg, (int64_t)value),
			 (int64_t)increment);
	if (!al->key_size)
		memcpy(e->value + al->touched_off, &one, sizeof(one));
	return true;
}

/* ---- snapshots ------------------------------------------------------------------------------- */

static struct err *map_each(void *ctx, uint32_t map, agg_each_f *f, void *arg)
{
	const struct map *m = &((const struct remains_run *)ctx)->maps[map];
	struct elem *e;
	size_t pos = 0;

	while ((e = hashmap_next(m->by_key, &pos, NULL, NULL)))
		f(arg, e->key, e->value, 1);
	return NULL;
}

static struct err *map_peek(void *ctx, uint32_t map, const void *key, const uint8_t **ret_values,
			    uint32_t *ret_ncpus)
{
	const struct elem *e = elem_find(&((const struct remains_run *)ctx)->maps[map], key);

	if (e)
		*ret_values = e->value;
	*ret_ncpus = e ? 1 : 0;
	return NULL;
}

/* What was taken stays until the end of the run: its values are read after the call. */
static struct err *map_take(void *ctx, uint32_t map, const void *key, const uint8_t **ret_values,
			    uint32_t *ret_ncpus)
{
	struct remains_run *r = ctx;
	struct map *m = &r->maps[map];
	struct elem *e = elem_find(m, key);
	struct err *err = map_peek(ctx, map, key, ret_values, ret_ncpus);

	if (!e || !m->spec->key_size)
		return err;
	hashmap_remove(m->by_key, key, map_key_size(m));
	*ret_values = arena_memdup(r->arena, e->value, map_value_size(m));
	elem_destroy(e);
	return err;
}

static struct err *map_put(void *ctx, uint32_t map, const void *key, const uint8_t *value,
			   bool *ret_done)
{
	struct map *m = &((struct remains_run *)ctx)->maps[map];
	struct elem *e = elem_find(m, key);

	*ret_done = !e || !m->spec->key_size;
	if (!*ret_done)
		return NULL;
	if (!e)
		e = elem_add(m, key);
	memset(e->value, 0, map_value_size(m));
	memcpy(e->value, value, m->spec->val_size);
	return NULL;
}

static bool side_find(const struct hashmap *side, uint64_t hash, struct strbuf *out)
{
	const struct text *t = hashmap_find(side, &hash, sizeof(hash));

	if (t)
		strbuf_add(out, t->bytes, t->len);
	return t != NULL;
}

static bool map_string(void *ctx, uint64_t hash, struct strbuf *out)
{
	return side_find(((const struct remains_run *)ctx)->strings, hash, out);
}

static bool map_stack(void *ctx, uint64_t hash, struct strbuf *out)
{
	return side_find(((const struct remains_run *)ctx)->stacks, hash, out);
}

static uint64_t map_drops(void *ctx)
{
	return ((const struct remains_run *)ctx)->ndropped;
}

const struct agg_io remains_aggs = {
	.each = map_each,
	.take = map_take,
	.peek = map_peek,
	.put = map_put,
	.string = map_string,
	.stack = map_stack,
	.drops = map_drops,
};
