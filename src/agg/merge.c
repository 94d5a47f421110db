/* SPDX-License-Identifier: MIT */
/* The aggregations of several engines as those of one. */
#include "agg/merge.h"

#include "base/hashmap.h"
#include "base/vec.h"

struct agg_merge {
	const struct layout *layout;
	struct agg_source *sources;
	uint32_t n;
	struct agg_io io;
	VEC(uint8_t) values; /* of one element in all engines */
};

/* An element while a map is read: its key, and its values in the engines that have it. */
struct merged {
	uint8_t *key;
	VEC(uint8_t) values;
	uint32_t ncpus;
};

struct reading {
	const struct elem_map *map;
	struct hashmap *by_key; /* -> struct merged */
	VEC(struct merged *) elems;
};

static size_t key_size(const struct elem_map *m)
{
	return m->key_size ? m->key_size : sizeof(uint32_t);
}

/* ---- elements -------------------------------------------------------------------------------- */

static void elem_collect(void *arg, const uint8_t *key, const uint8_t *values, uint32_t ncpus)
{
	struct reading *r = arg;
	size_t size = key_size(r->map), nbytes = (size_t)ncpus * elem_map_stride(r->map);
	struct merged *e = hashmap_find(r->by_key, key, size);

	if (!e) {
		e = xcalloc(1, sizeof(*e));
		e->key = xmalloc(size);
		memcpy(e->key, key, size);
		hashmap_set(r->by_key, key, size, e);
		vec_push(&r->elems, e);
	}
	for (size_t i = 0; i < nbytes; i++)
		vec_push(&e->values, values[i]);
	e->ncpus += ncpus;
}

static struct err *merge_each(void *ctx, uint32_t map, agg_each_f *f, void *arg)
{
	const struct agg_merge *m = ctx;
	struct reading r = {.map = &m->layout->agg_maps[map], .by_key = hashmap_create()};
	struct err *e = NULL;

	for (uint32_t i = 0; i < m->n && !e; i++)
		e = m->sources[i].io->each(m->sources[i].ctx, map, elem_collect, &r);
	for (uint32_t i = 0; i < r.elems.len; i++) {
		struct merged *elem = r.elems.data[i];

		if (!e)
			f(arg, elem->key, elem->values.data, elem->ncpus);
		vec_deinit(&elem->values);
		free(elem->key);
		free(elem);
	}
	vec_deinit(&r.elems);
	hashmap_destroy(r.by_key);
	return e;
}

typedef struct err *elem_read_f(void *ctx, uint32_t map, const void *key,
				const uint8_t **ret_values, uint32_t *ret_ncpus);

/* Puts the values of all engines behind one another; none: take() or peek() of one of them. */
static struct err *elem_read(struct agg_merge *m, bool takes, uint32_t map, const void *key,
			     const uint8_t **ret_values, uint32_t *ret_ncpus)
{
	size_t stride = elem_map_stride(&m->layout->agg_maps[map]);
	struct err *e = NULL;

	*ret_ncpus = 0;
	m->values.len = 0;
	for (uint32_t i = 0; i < m->n && !e; i++) {
		const struct agg_io *io = m->sources[i].io;
		elem_read_f *read = takes ? io->take : io->peek;
		const uint8_t *values = NULL;
		uint32_t ncpus = 0;

		e = read(m->sources[i].ctx, map, key, &values, &ncpus);
		for (size_t k = 0; !e && values && k < ncpus * stride; k++)
			vec_push(&m->values, values[k]);
		*ret_ncpus += e || !values ? 0 : ncpus;
	}
	*ret_values = m->values.len ? m->values.data : NULL;
	return e;
}

static struct err *merge_take(void *ctx, uint32_t map, const void *key, const uint8_t **ret_values,
			      uint32_t *ret_ncpus)
{
	return elem_read(ctx, true, map, key, ret_values, ret_ncpus);
}

static struct err *merge_peek(void *ctx, uint32_t map, const void *key, const uint8_t **ret_values,
			      uint32_t *ret_ncpus)
{
	return elem_read(ctx, false, map, key, ret_values, ret_ncpus);
}

/*
 * The first engine gets the value. An element of an array is overwritten in all of them: it was
 * read in all, and what was read is in the value.
 */
static struct err *merge_put(void *ctx, uint32_t map, const void *key, const uint8_t *value,
			     bool *ret_done)
{
	const struct agg_merge *m = ctx;
	const struct elem_map *spec = &m->layout->agg_maps[map];
	CLEANUP(free) uint8_t *zero = xcalloc(1, spec->val_size);
	struct err *e = m->sources[0].io->put(m->sources[0].ctx, map, key, value, ret_done);
	bool is_done;

	for (uint32_t i = 1; i < m->n && !e && !spec->key_size; i++)
		e = m->sources[i].io->put(m->sources[i].ctx, map, key, zero, &is_done);
	return e;
}

/* ---- texts of keys --------------------------------------------------------------------------- */

static bool merge_string(void *ctx, uint64_t hash, struct strbuf *out)
{
	const struct agg_merge *m = ctx;

	for (uint32_t i = 0; i < m->n; i++)
		if (m->sources[i].io->string(m->sources[i].ctx, hash, out))
			return true;
	return false;
}

static bool merge_site(void *ctx, uint64_t code, uint64_t at, const char **ret_file,
		       uint64_t *ret_line)
{
	const struct agg_merge *m = ctx;

	for (uint32_t i = 0; i < m->n; i++)
		if (m->sources[i].io->site &&
		    m->sources[i].io->site(m->sources[i].ctx, code, at, ret_file, ret_line))
			return true;
	return false;
}

static bool merge_stack(void *ctx, uint64_t hash, struct strbuf *out)
{
	const struct agg_merge *m = ctx;

	for (uint32_t i = 0; i < m->n; i++)
		if (m->sources[i].io->stack &&
		    m->sources[i].io->stack(m->sources[i].ctx, hash, out))
			return true;
	return false;
}

static void merge_texts(void *ctx, enum agg_side side, agg_text_f *f, void *arg)
{
	const struct agg_merge *m = ctx;

	for (uint32_t i = 0; i < m->n; i++)
		if (m->sources[i].io->texts)
			m->sources[i].io->texts(m->sources[i].ctx, side, f, arg);
}

static void merge_forget(void *ctx, enum agg_side side, uint64_t hash)
{
	const struct agg_merge *m = ctx;

	for (uint32_t i = 0; i < m->n; i++)
		if (m->sources[i].io->forget)
			m->sources[i].io->forget(m->sources[i].ctx, side, hash);
}

/* The room of the smallest table: that one is full first. */
static uint32_t merge_room(void *ctx, enum agg_side side)
{
	const struct agg_merge *m = ctx;
	uint32_t least = 0;

	for (uint32_t i = 0; i < m->n; i++) {
		const struct agg_io *io = m->sources[i].io;
		uint32_t room = io->room ? io->room(m->sources[i].ctx, side) : 0;

		least = room && (!least || room < least) ? room : least;
	}
	return least;
}

static uint64_t merge_drops(void *ctx)
{
	const struct agg_merge *m = ctx;
	uint64_t n = 0;

	for (uint32_t i = 0; i < m->n; i++)
		if (m->sources[i].io->drops)
			n += m->sources[i].io->drops(m->sources[i].ctx);
	return n;
}

static bool merge_roots(void *ctx, agg_root_f *f, void *arg)
{
	const struct agg_merge *m = ctx;
	bool good = true;

	for (uint32_t i = 0; i < m->n; i++)
		if (m->sources[i].io->roots)
			good = m->sources[i].io->roots(m->sources[i].ctx, f, arg) && good;
	return good;
}

static uint64_t merge_made(void *ctx)
{
	const struct agg_merge *m = ctx;
	uint64_t n = 0;

	for (uint32_t i = 0; i < m->n; i++)
		if (m->sources[i].io->made)
			n += m->sources[i].io->made(m->sources[i].ctx);
	return n;
}

/* ---- what is alive --------------------------------------------------------------------------- */

static struct err *merge_alive(void *ctx, agg_alive_f *f, void *arg)
{
	const struct agg_merge *m = ctx;
	struct err *e = NULL;

	for (uint32_t i = 0; i < m->n && !e; i++)
		if (m->sources[i].io->alive)
			e = m->sources[i].io->alive(m->sources[i].ctx, f, arg);
	return e;
}

static bool merge_bury(void *ctx, const struct rt_live_key *key, uint64_t time)
{
	const struct agg_merge *m = ctx;
	bool is_buried = true;

	for (uint32_t i = 0; i < m->n; i++)
		if (m->sources[i].io->bury && !m->sources[i].io->bury(m->sources[i].ctx, key, time))
			is_buried = false;
	return is_buried;
}

/* ---- the whole ------------------------------------------------------------------------------- */

struct agg_merge *agg_merge_create(const struct layout *l, const struct agg_source *sources,
				   uint32_t n)
{
	struct agg_merge *m = xcalloc(1, sizeof(*m));

	m->layout = l;
	m->n = n;
	m->sources = xcalloc(n, sizeof(*m->sources));
	memcpy(m->sources, sources, n * sizeof(*sources));
	m->io = (struct agg_io){.each = merge_each,
				.take = merge_take,
				.peek = merge_peek,
				.put = merge_put,
				.string = merge_string};
	/* what a function does is asked by whether there is one (probe/engine.h) */
	for (uint32_t i = 0; i < n; i++) {
		m->io.stack = sources[i].io->stack ? merge_stack : m->io.stack;
		m->io.site = sources[i].io->site ? merge_site : m->io.site;
		m->io.texts = sources[i].io->texts ? merge_texts : m->io.texts;
		m->io.forget = sources[i].io->forget ? merge_forget : m->io.forget;
		m->io.alive = sources[i].io->alive ? merge_alive : m->io.alive;
		m->io.bury = sources[i].io->bury ? merge_bury : m->io.bury;
		m->io.room = sources[i].io->room ? merge_room : m->io.room;
		m->io.drops = sources[i].io->drops ? merge_drops : m->io.drops;
		m->io.roots = sources[i].io->roots ? merge_roots : m->io.roots;
		m->io.made = sources[i].io->made ? merge_made : m->io.made;
	}
	return m;
}

void agg_merge_destroy(struct agg_merge *m)
{
	if (!m)
		return;
	vec_deinit(&m->values);
	free(m->sources);
	free(m);
}

struct agg_source agg_merge_whole(struct agg_merge *m)
{
	return m->n == 1 ? m->sources[0] : (struct agg_source){&m->io, m};
}
