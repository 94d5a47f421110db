/* SPDX-License-Identifier: MIT */
/* Takes a snapshot: decodes kernel elements and merges them over CPUs and equal keys. */
#include "agg/impl.h"

#include "sym/sym.h"

/* ---- handle -------------------------------------------------------------------------------- */

struct aggs *aggs_create(const struct layout *l, const struct agg_io *io, void *ctx)
{
	struct aggs *a = xcalloc(1, sizeof(*a));

	a->layout = l;
	a->io = io;
	a->ctx = ctx;
	a->nslots = l->naggs;
	a->idle_ns = 1000000000;
	a->slots = xcalloc(l->naggs, sizeof(*a->slots));
	for (uint32_t i = 0; i < l->naggs; i++)
		a->slots[i].view = (struct agg_view){.agg = l->aggs[i].agg,
						     .layout = &l->aggs[i],
						     .normal = 1};
	a->arena = arena_create();
	a->map_elems = xcalloc(MAX(l->nagg_maps, 1u), sizeof(*a->map_elems));
	texts_init(&a->texts, io, ctx);
	frame_texts_init(&a->frame_texts);
	alive_init(&a->alive);
	return a;
}

static void slot_deinit(struct agg_slot *slot)
{
	agg_base_deinit(slot);
	vec_deinit(&slot->elems);
}

void aggs_destroy(struct aggs *a)
{
	if (!a)
		return;
	for (uint32_t i = 0; i < a->nslots; i++)
		slot_deinit(&a->slots[i]);
	free(a->slots);
	free(a->map_elems);
	texts_deinit(&a->texts);
	frame_texts_deinit(&a->frame_texts);
	alive_deinit(&a->alive);
	arena_destroy(a->arena);
	free(a);
}

void aggs_set_syms(struct aggs *a, struct syms *syms)
{
	a->syms = syms;
}

void aggs_merge_stacks(struct aggs *a, agg_stack_name_f *f, void *arg)
{
	a->stack_name = f;
	a->stack_name_arg = arg;
}

void aggs_keep_percpu(struct aggs *a, bool keep)
{
	a->keeps_percpu = keep;
}

struct agg_view *aggs_view(struct aggs *a, uint32_t agg_id)
{
	return agg_id >= 1 && agg_id <= a->nslots ? &a->slots[agg_id - 1].view : NULL;
}

/* ---- keys ---------------------------------------------------------------------------------- */

static uint64_t int_at(const uint8_t *raw, uint32_t size, bool is_signed)
{
	uint64_t v = 0;

	memcpy(&v, raw, size); /* all supported machines are little-endian */
	if (is_signed && size < 8) {
		unsigned int up = 64 - size * 8;

		v = (uint64_t)((int64_t)(v << up) >> up);
	}
	return v;
}

static void key_set_text(struct agg_key *k, const char *text, size_t len)
{
	k->bytes = text;
	k->size = (uint32_t)len;
}

static const char *strid_text(const struct aggs *a, const uint8_t *raw)
{
	uint32_t off;

	memcpy(&off, raw, sizeof(off));
	return off < strtab_size(a->layout->strtab) ? strtab_get(a->layout->strtab, off) : "";
}

static void key_bytes(struct aggs *a, const struct key_field *f, const uint8_t *raw,
		      struct agg_key *k)
{
	char *copy = arena_alloc(a->arena, (size_t)f->size + 1);

	memcpy(copy, raw, f->size);
	key_set_text(k, copy, f->datum == DATUM_STRING ? strnlen(copy, f->size) : f->size);
}

/* Makes all addresses of one function, or of one object, one key (6.4.3). */
static void key_reduce(struct aggs *a, struct agg_key *k)
{
	bool of_object = k->datum == DATUM_MOD || k->datum == DATUM_UMOD;
	uint64_t user[2];

	if (!a->syms)
		return;
	if (k->datum == DATUM_SYM || k->datum == DATUM_MOD)
		k->ival = syms_start(a->syms, 0, k->ival, of_object);
	if ((k->datum != DATUM_USYM && k->datum != DATUM_UMOD) || k->size != sizeof(user))
		return;
	memcpy(user, k->bytes, sizeof(user));
	user[1] = syms_start(a->syms, user[0], user[1], of_object);
	k->bytes = arena_strndup(a->arena, (const char *)user, sizeof(user));
}

static void key_decode(struct aggs *a, const struct key_field *f, const uint8_t *key,
		       struct agg_key *k)
{
	const uint8_t *raw = key + f->off;
	struct agg_key stack;

	k->datum = f->datum;
	k->is_signed = f->is_signed;
	k->is_own = f->is_own;
	switch (f->repr) {
	case KEY_INT:
		k->size = f->size;
		k->ival = int_at(raw, f->size, f->is_signed);
		key_reduce(a, k);
		return;
	case KEY_COMM:
		key_set_text(k,
			     arena_strndup(a->arena, (const char *)raw,
					   strnlen((const char *)raw, 16)),
			     strnlen((const char *)raw, 16));
		return;
	case KEY_STRID: k->bytes = strid_text(a, raw); break;
	case KEY_STRHASH: k->bytes = text_of_string(a, int_at(raw, 8, false)); break;
	case KEY_STACK:
		stack = aggs_stack(a, int_at(raw, 8, false));
		key_set_text(k, stack.bytes, stack.size);
		k->datum = stack.datum;
		k->name = stack.name;
		k->time = stack.time;
		return;
	case KEY_BYTES:
		key_bytes(a, f, raw, k);
		key_reduce(a, k);
		return;
	}
	k->size = (uint32_t)strlen(k->bytes);
}

static void keys_decode(struct aggs *a, const struct agg_layout *l, const uint8_t *key,
			struct agg_key *keys)
{
	uint64_t code, at, line = 0;
	const char *file = NULL;
	bool is_site = a->io->site && agg_key_site(l, key, &code, &at) &&
		       a->io->site(a->ctx, code, at, &file, &line);

	for (uint32_t i = 0; i < l->nkeys; i++) {
		const struct key_field *f = &l->keys[i];

		if (!is_site || !f->lang) {
			key_decode(a, f, key, &keys[i]);
			continue;
		}
		keys[i] = (struct agg_key){.datum = f->datum, .is_signed = f->is_signed};
		keys[i].size = f->size;
		keys[i].ival = line;
		if (f->lang == DIF_VAR_LFILE)
			key_set_text(&keys[i], arena_strdup(a->arena, file), strlen(file));
	}
}

/* ---- one map of aggregations --------------------------------------------------------------- */

struct snap {
	struct aggs *a;
	const struct elem_map *map;
	size_t stride;	 /* from one CPU's value to the next one's */
	uint32_t ncpus;	 /* of one engine: the states of several follow one another (merge.h) */
	uint32_t nelems; /* found in this map so far */
	struct strbuf canon;
};

/* The aggregation to which an element belongs. */
static struct agg_slot *slot_find(const struct snap *s, const uint8_t *key)
{
	const struct elem_map *m = s->map;
	uint64_t n = 0;

	if (!m->key_size)
		n = int_at(key, sizeof(uint32_t), false);
	else if (m->nmembers > 1)
		n = int_at(key, sizeof(uint64_t), false) - 1;
	return n < m->nmembers ? &s->a->slots[m->members[n]] : NULL;
}

static struct elem *elem_create(struct snap *s, const struct agg_slot *slot)
{
	struct elem *e = ARENA_NEW(s->a->arena, struct elem);
	const struct agg_layout *l = slot->view.layout;

	e->pub.ncpus = s->a->keeps_percpu ? s->ncpus : 0;
	e->pub.state =
		ARENA_NEW_N(s->a->arena, int64_t, (size_t)agg_state_len(l) * (1 + e->pub.ncpus));
	agg_elem_init(l, &e->pub);
	e->pub.touched = !slot->was_cleared;
	return e;
}

static struct elem *elem_push(struct snap *s, struct agg_slot *slot, struct agg_key *keys)
{
	struct elem *e = elem_create(s, slot);

	e->pub.keys = keys;
	e->pub.nkeys = slot->view.layout->nkeys;
	vec_push(&slot->elems, &e->pub);
	return e;
}

/*
 * Whether different keys in the kernel are always different elements. Integer keys are; keys that
 * are shown by name may turn out equal.
 */
static bool is_one_to_one(const struct agg_layout *l)
{
	for (uint32_t i = 0; i < l->nkeys; i++)
		if (l->keys[i].repr != KEY_INT || l->keys[i].datum != DATUM_INT)
			return false;
	return !l->is_sparse;
}

/* The element of a kernel key; a key whose decoded content is known joins that element. */
static struct elem *elem_get(struct snap *s, struct agg_slot *slot, const uint8_t *key)
{
	const struct agg_layout *l = slot->view.layout;
	struct agg_elem probe = {.nkeys = l->nkeys};
	struct elem *e;

	probe.keys = ARENA_NEW_N(s->a->arena, struct agg_key, probe.nkeys);
	keys_decode(s->a, l, key, probe.keys);
	if (is_one_to_one(l))
		return elem_push(s, slot, probe.keys);
	strbuf_clear(&s->canon);
	agg_keys_canon(&probe, &s->canon);
	if (!slot->by_keys)
		slot->by_keys = hashmap_create();
	e = hashmap_find(slot->by_keys, strbuf_text(&s->canon), s->canon.len);
	if (e)
		return e;
	e = elem_push(s, slot, probe.keys);
	hashmap_set(slot->by_keys, strbuf_text(&s->canon), s->canon.len, e);
	return e;
}

static bool is_zero(const uint8_t *p, size_t size)
{
	return size == 0 || (p[0] == 0 && memcmp(p, p + 1, size - 1) == 0);
}

static int64_t wrap_add(int64_t a, uint64_t b)
{
	return (int64_t)((uint64_t)a + b);
}

/* Adds one CPU's part to an element. */
static void elem_add_cpu(const struct agg_layout *l, struct elem *e, const uint8_t *raw,
			 uint32_t cpu)
{
	agg_state_add_raw(l, e->pub.state, raw);
	if (cpu < e->pub.ncpus)
		agg_state_add_raw(l, agg_state_of_cpu(l, &e->pub, cpu), raw);
}

/* Adds one bucket of a histogram whose buckets are kernel elements, numbered at the key's end. */
static void elem_add_bucket(const struct snap *s, const struct agg_layout *l, struct elem *e,
			    const uint8_t *key, const uint8_t *values, uint32_t ncpus)
{
	uint32_t bucket;

	memcpy(&bucket, key + l->key_size - sizeof(bucket), sizeof(bucket));
	for (uint32_t cpu = 0; cpu < ncpus && bucket < l->nbuckets; cpu++) {
		uint64_t n = int_at(values + cpu * s->stride, sizeof(n), false);
		uint32_t of = cpu % s->ncpus;
		int64_t *part = agg_state_of_cpu(l, &e->pub, of);

		e->pub.state[bucket] = wrap_add(e->pub.state[bucket], n);
		if (of < e->pub.ncpus)
			part[bucket] = wrap_add(part[bucket], n);
		e->pub.touched |= n != 0;
	}
}

/* How many of the states are those of one engine: one a CPU. */
static uint32_t cpus_of_engine(const struct aggs *a, uint32_t ncpus)
{
	uint32_t possible = a->layout->opts.ncpus;

	return possible && possible < ncpus ? possible : ncpus;
}

/* Lets entries of the table of live() find their element. */
static void raw_key_note(const struct snap *s, struct agg_slot *slot, struct elem *e,
			 const uint8_t *key)
{
	if (slot->view.agg->func != AGGFUNC_LIVE)
		return;
	if (!slot->by_raw)
		slot->by_raw = hashmap_create();
	hashmap_set(slot->by_raw, key, s->map->key_size, e);
}

static void keyed_add(void *arg, const uint8_t *key, const uint8_t *values, uint32_t ncpus)
{
	struct snap *s = arg;
	struct agg_slot *slot = slot_find(s, key);
	const struct agg_layout *l;
	struct raw_key *raw;
	struct elem *e;

	if (!slot)
		return;
	l = slot->view.layout;
	s->ncpus = cpus_of_engine(s->a, ncpus);
	s->nelems++;
	e = elem_get(s, slot, key);
	raw = arena_alloc(s->a->arena, sizeof(*raw) + s->map->key_size);
	memcpy(raw->data, key, s->map->key_size);
	raw->next = e->raws;
	e->raws = raw;
	raw_key_note(s, slot, e, key);
	raw->state = arena_alloc(s->a->arena, raw_state_size(l));
	raw_state_init(l, raw->state);
	for (uint32_t cpu = 0; cpu < ncpus; cpu++)
		raw_state_add(l, raw->state, values + cpu * s->stride);
	if (l->is_sparse) {
		elem_add_bucket(s, l, e, key, values, ncpus);
		return;
	}
	for (uint32_t cpu = 0; cpu < ncpus; cpu++)
		elem_add_cpu(l, e, values + cpu * s->stride, cpu % s->ncpus);
	e->pub.touched |= !is_zero(values, ncpus * s->stride);
}

static void keyless_add(void *arg, const uint8_t *key, const uint8_t *values, uint32_t ncpus)
{
	struct snap *s = arg;
	struct agg_slot *slot = slot_find(s, key);
	const struct agg_layout *l;
	struct elem *e;

	if (!slot)
		return;
	l = slot->view.layout;
	s->ncpus = cpus_of_engine(s->a, ncpus);
	e = elem_create(s, slot);
	e->pub.touched = false;
	for (uint32_t cpu = 0; cpu < ncpus; cpu++) {
		const uint8_t *value = values + cpu * s->stride;

		if (is_zero(value + l->touched_off, sizeof(uint64_t)))
			continue;
		e->pub.touched = true;
		elem_add_cpu(l, e, value, cpu % s->ncpus);
	}
	(void)agg_base_apply(slot, &e->pub); /* the element of an array is never hidden */
	slot->is_shown_empty |= e->pub.touched;
	if (slot->is_shown_empty)
		vec_push(&slot->elems, &e->pub);
}

static struct err *map_snap(struct aggs *a, uint32_t map)
{
	const struct elem_map *m = &a->layout->agg_maps[map];
	struct snap s = {.a = a, .map = m, .stride = elem_map_stride(m)};
	struct err *e = a->io->each(a->ctx, map, m->key_size ? keyed_add : keyless_add, &s);

	strbuf_deinit(&s.canon);
	a->map_elems[map] = s.nelems;
	if (e)
		e = err_wrap(e, "cannot read aggregation '@%s'",
			     a->slots[m->members[0]].view.agg->name);
	return e;
}

/* ---- what is alive ------------------------------------------------------------------------- */

static struct agg_elem *alive_elem_get(void *arg, struct agg_slot *slot, const uint8_t *key)
{
	struct aggs *a = arg;
	const struct agg_layout *l = slot->view.layout;
	const struct elem_map *m = &a->layout->agg_maps[l->map];
	struct snap s = {.a = a, .map = m, .stride = elem_map_stride(m)};
	uint32_t ncpus = MAX(a->layout->opts.ncpus, 1u);
	struct elem *e = NULL;

	if (!l->key_size && slot->elems.len)
		return slot->elems.data[0];
	if (l->key_size && slot->by_raw)
		e = hashmap_find(slot->by_raw, key, m->key_size);
	if (e)
		return &e->pub;
	s.ncpus = ncpus;
	if (!l->key_size) {
		e = elem_create(&s, slot);
		vec_push(&slot->elems, &e->pub);
	} else {
		CLEANUP(free) uint8_t *none = xcalloc(ncpus, s.stride);

		keyed_add(&s, key, none, ncpus);
		strbuf_deinit(&s.canon);
		e = slot->by_raw ? hashmap_find(slot->by_raw, key, m->key_size) : NULL;
	}
	return e ? &e->pub : NULL;
}

/* ---- all maps ------------------------------------------------------------------------------ */

/*
 * Whether an element that trunc() has hidden may be deleted from the kernel. A probe that has found
 * the element in the map adds to it some nanoseconds later; but if its CPU is interrupted in
 * between, or belongs to a virtual machine that has to wait, that takes milliseconds, and what it
 * then adds to a deleted element is lost.
 */
static bool is_idle(const struct aggs *a, const struct agg_slot *slot, uint64_t hidden_at)
{
	return !agg_has_room(a, slot->view.layout->map) || now_ns() - hidden_at >= a->idle_ns;
}

/* Deletes from the kernel an element that trunc() has hidden. */
static struct err *elem_drop(struct aggs *a, struct agg_slot *slot, struct agg_elem *e)
{
	struct err *err;

	if (a->is_quiet)
		return NULL;
	agg_base_remove(slot, e);
	err = elem_take(a, slot, e, false);
	return err ? err_wrap(err, "cannot truncate '@%s'", slot->view.agg->name) : NULL;
}

/* Completes a slot; after an earlier error nothing is deleted. Returns the first error. */
static struct err *slot_finish(struct aggs *a, struct agg_slot *slot, struct err *err)
{
	uint32_t nshown = 0;

	for (uint32_t i = 0; i < slot->elems.len; i++) {
		struct agg_elem *e = slot->elems.data[i];
		uint64_t hidden_at =
			slot->view.layout->key_size && slot->base ? agg_base_apply(slot, e) : 0;

		if (!hidden_at && alive_is_shown(slot, e))
			slot->elems.data[nshown++] = e;
		else if (!hidden_at) {
			/* new keys need the room; an entry makes its element again */
			if (!err && alive_is_gone(slot, e) &&
			    !agg_has_room(a, slot->view.layout->map))
				err = elem_drop(a, slot, e);
		} else if (!err && is_idle(a, slot, hidden_at))
			err = elem_drop(a, slot, e);
	}
	slot->elems.len = nshown;
	hashmap_destroy(slot->by_keys);
	hashmap_destroy(slot->by_raw);
	slot->by_keys = slot->by_raw = NULL;
	slot->view.elems = slot->elems.data;
	slot->view.nelems = slot->elems.len;
	return err;
}

void aggs_set_quiet(struct aggs *a)
{
	a->is_quiet = true;
}

struct err *aggs_snap(struct aggs *a)
{
	struct err *e = NULL;

	if (a->is_final)
		return NULL;
	arena_reset(a->arena);
	texts_begin(&a->texts);
	if (a->syms)
		syms_at(a->syms,
			SYMS_ANY_TIME); /* the time at which a key was recorded is unknown */
	for (uint32_t i = 0; i < a->nslots; i++) {
		vec_clear(&a->slots[i].elems);
		a->slots[i].snap_at = a->texts.snap_at;
	}
	for (uint32_t map = 0; map < a->layout->nagg_maps && !e; map++)
		e = map_snap(a, map);
	if (!e)
		e = alive_snap(a, alive_elem_get, a);
	for (uint32_t i = 0; i < a->nslots; i++)
		e = slot_finish(a, &a->slots[i], e);
	if (!e && !a->is_quiet)
		texts_bound(a);
	a->is_final = a->is_quiet && !e;
	return e;
}
