/* SPDX-License-Identifier: MIT */
/* Address spaces: a process's mappings between two of its execs. */
#include "base/sorted.h"
#include "sym/uproc.h"

struct uspace *uspace_create(uint64_t since, struct uroot *root)
{
	struct uspace *s = xcalloc(1, sizeof(*s));

	*s = (struct uspace){.refs = 1, .since = since, .root = root};
	return s;
}

struct uspace *uspace_share(struct uspace *s)
{
	if (s)
		s->refs++;
	return s;
}

void uspace_put(struct uspace *s)
{
	if (!s || --s->refs)
		return;
	vec_deinit(&s->maps);
	uroot_put(s->root);
	free(s);
}

struct uspace *uspace_own(struct uspace *s)
{
	struct uspace *own;

	if (s->refs == 1)
		return s;
	own = uspace_create(s->since, uroot_share(s->root));
	own->has_jit = s->has_jit;
	vec_reserve(&own->maps, s->maps.len + 1);
	for (uint32_t i = 0; i < s->maps.len; i++)
		vec_push(&own->maps, s->maps.data[i]);
	uspace_put(s);
	return own;
}

/* ---- mappings ------------------------------------------------------------------------------- */

/* Returns the index of the first mapping that ends above addr. */
static uint32_t lower_bound(const umap_vec *maps, taddr addr)
{
	return sorted_upto(maps->data, maps->len, end, addr);
}

const struct umap *uspace_find(const struct uspace *s, taddr addr, const struct umap **ret_below,
			       const struct umap **ret_above)
{
	uint32_t i = lower_bound(&s->maps, addr);
	const struct umap *at = i < s->maps.len ? &s->maps.data[i] : NULL;

	*ret_below = i ? at ? at - 1 : vec_last(&s->maps) : NULL;
	*ret_above = at;
	return at && at->start <= addr ? at : NULL;
}

static int map_compare(const void *pa, const void *pb)
{
	const struct umap *a = pa, *b = pb;

	return a->start < b->start ? -1 : a->start > b->start;
}

/* Adds the part [start, end) of the mapping m to the list, unless the part is empty. */
static void part_push(umap_vec *to, struct umap m, taddr start, taddr end)
{
	m.off += m.file ? start - m.start : 0;
	m.start = start;
	m.end = end;
	if (start < end)
		vec_push(to, m);
}

void uspace_add(struct uspace *s, const struct umap *m)
{
	umap_vec maps = {0};

	vec_reserve(&maps, s->maps.len + 2);
	for (uint32_t i = 0; i < s->maps.len; i++) {
		struct umap old = s->maps.data[i];

		if (old.end <= m->start || old.start >= m->end) {
			vec_push(&maps, old);
			continue;
		}
		part_push(&maps, old, old.start, MAX(old.start, MIN(old.end, m->start)));
		part_push(&maps, old, MIN(old.end, MAX(old.start, m->end)), old.end);
	}
	vec_push(&maps, *m);
	qsort(maps.data, maps.len, sizeof(*maps.data), map_compare);
	vec_deinit(&s->maps);
	s->maps = maps;
	s->has_jit |= !m->file;
}

static bool maps_overlap(const umap_vec *maps, const struct umap *m)
{
	uint32_t i = lower_bound(maps, m->start);

	return i < maps->len && maps->data[i].start < m->end;
}

void uspace_update(struct uspace *s, umap_vec *now)
{
	uint32_t n = now->len;

	for (uint32_t i = 0; i < n; i++)
		s->has_jit |= !now->data[i].file;
	for (uint32_t i = 0; i < s->maps.len; i++) {
		const umap_vec read = {now->data, n, n};

		if (!maps_overlap(&read, &s->maps.data[i]))
			vec_push(now, s->maps.data[i]);
	}
	qsort(now->data, now->len, sizeof(*now->data), map_compare);
	vec_deinit(&s->maps);
	s->maps = *now;
	*now = (umap_vec){0};
}

void uspace_complete(struct uspace *s, umap_vec *now)
{
	umap_vec execs = {0}, rest = {0};

	for (uint32_t i = 0; i < s->maps.len; i++)
		if (s->maps.data[i].is_exec)
			vec_push(&execs, s->maps.data[i]);
	for (uint32_t i = 0; i < now->len; i++)
		if (!maps_overlap(&execs, &now->data[i]))
			vec_push(&rest, now->data[i]);
	uspace_update(s, &rest);
	vec_deinit(&execs);
	vec_deinit(now);
}

int uspace_root(const struct uspace *s)
{
	return s->root ? s->root->fd : -1;
}
