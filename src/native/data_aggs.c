/* SPDX-License-Identifier: MIT */
/*
 * Reads the tables of aggregations, and takes elements out of them (native/data.h says what that
 * guarantees).
 *
 * Elements with keys. take() marks the slots of a key dead, and remembers what they held. Later
 * each() looks at them again: what came after the mark is added to the carry of the map, elements
 * that only the tracer has. When nobody can be writing to a dead slot any more, it is emptied and
 * set free.
 *
 * Elements without keys cannot be deleted: put() remembers what was there (base), and what the
 * session then sees is the difference. Least and greatest values have none: they go on in another
 * bank, and an older bank counts only if it has changed since. Bytes of touched words that stay set
 * are cleared one by one.
 */
#include "native/data_impl.h"

#include "base/vec.h"

#define READ_BYTES (256u << 10)

/* A slot that was taken out. */
struct dead {
	uint32_t cpu, slot;
	uint64_t since;
	bool is_unused; /* no entry of live() was met, in a reading after the time of grace */
	uint8_t *key;
	uint64_t *value; /* as it was handed out */
};

/* Of an element without a key: all banks of all CPUs, as put() and take() saw them last. */
struct cell {
	uint8_t bank;
	uint8_t *base, *taken; /* NULL: zeros; not taken */
	uint64_t *carry;       /* NULL: none */
	uint64_t counted;      /* by counters of sites, when it was taken */
};

struct map_state {
	const struct elem_map *spec;
	const struct blob_table *table;
	bool has_live;	/* entries of live() refer to its slots */
	bool has_sites; /* keys have places of a language */
	VEC(struct dead) dead;
	struct hashmap *by_slot; /* cpu, slot -> index in dead, plus 1 */
	struct hashmap *carry;	 /* key -> uint64_t[] */
	struct cell *cells;
	uint8_t *values; /* of all CPUs, for the caller */
	size_t values_size;
	uint8_t *buf; /* READ_BYTES, or more */
	size_t buf_size;
};

/* ---- values ---------------------------------------------------------------------------------- */

/* The aggregation of member n of a map; NULL: there is none. */
static const struct agg_layout *member_of(const struct ndata *d, const struct map_state *m,
					  uint64_t n)
{
	return n < m->spec->nmembers ? &d->layout->aggs[m->spec->members[n]] : NULL;
}

/* The aggregation to which a key belongs. */
static const struct agg_layout *owner_of(const struct ndata *d, const struct map_state *m,
					 const uint8_t *key)
{
	uint64_t n;

	if (m->spec->nmembers == 1)
		return member_of(d, m, 0);
	memcpy(&n, key, sizeof(n));
	return member_of(d, m, n - 1);
}

/* ---- tables ---------------------------------------------------------------------------------- */

static uint64_t slot_off(const struct map_state *m, uint32_t cpu, uint32_t slot)
{
	return m->table->off + cpu * m->table->cpu_size + (uint64_t)slot * m->table->slot_size;
}

static uint8_t *buf_room(struct map_state *m, size_t size)
{
	if (size > m->buf_size) {
		m->buf = xrealloc(m->buf, size);
		m->buf_size = size;
	}
	return m->buf;
}

/* Whether the slot is a live element: the hash in the word is that of the key. */
static bool slot_is_live(const struct ndata *d, const struct map_state *m, const uint8_t *slot)
{
	uint64_t hash = blob_key_hash(d->cookie, (const uint64_t *)(const void *)(slot + 8),
				      m->table->key_size / 8);

	return value_word(slot, 0) == BLOB_SLOT_WORD(BLOB_SLOT_LIVE, hash) &&
	       owner_of(d, m, slot + 8) != NULL;
}

/* ---- what the tracer keeps ------------------------------------------------------------------- */

static size_t value_size(const struct map_state *m)
{
	return m->table->val_size;
}

/* The carry of a key, which is made if there is none. */
static uint64_t *carry_get(struct map_state *m, const uint8_t *key)
{
	uint64_t *words = hashmap_find(m->carry, key, m->spec->key_size);

	if (!words) {
		words = xcalloc(1, value_size(m));
		hashmap_set(m->carry, key, m->spec->key_size, words);
	}
	return words;
}

static void carry_remove(struct map_state *m, const uint8_t *key)
{
	uint64_t *words = hashmap_find(m->carry, key, m->spec->key_size);

	if (words)
		hashmap_remove(m->carry, key, m->spec->key_size);
	free(words);
}

struct slot_id {
	uint32_t cpu, slot;
};

static struct dead *dead_find(const struct map_state *m, struct slot_id id)
{
	uintptr_t n = (uintptr_t)hashmap_find(m->by_slot, &id, sizeof(id));

	return n ? &m->dead.data[n - 1] : NULL;
}

static void dead_add(struct map_state *m, struct slot_id id, const uint8_t *slot)
{
	struct dead *old = dead_find(m, id);
	uint32_t key_size = m->table->key_size;

	if (!old) {
		vec_push(&m->dead, (struct dead){.cpu = id.cpu, .slot = id.slot});
		old = vec_last(&m->dead);
		old->key = xmalloc(key_size);
		old->value = xmalloc(value_size(m));
		hashmap_set(m->by_slot, &id, sizeof(id), (void *)(uintptr_t)m->dead.len);
	}
	old->since = now_ns();
	old->is_unused = false;
	memcpy(old->key, slot + 8, key_size);
	memcpy(old->value, slot + m->table->val_off, value_size(m));
}

static void dead_remove(struct map_state *m, struct dead *x)
{
	struct slot_id id = {x->cpu, x->slot}, moved;

	hashmap_remove(m->by_slot, &id, sizeof(id));
	free(x->key);
	free(x->value);
	*x = *vec_last(&m->dead);
	m->dead.len--;
	if (x == m->dead.data + m->dead.len)
		return;
	moved = (struct slot_id){x->cpu, x->slot};
	hashmap_set(m->by_slot, &moved, sizeof(moved), (void *)(uintptr_t)(x - m->dead.data + 1));
}

/* Moves to the carry what came to a dead slot; value: as it is now. */
static void dead_carry(const struct ndata *d, struct map_state *m, struct dead *x,
		       const uint8_t *value)
{
	const struct agg_layout *al = owner_of(d, m, x->key);

	if (!al || memcmp(value, x->value, value_size(m)) == 0)
		return;
	value_add(al, carry_get(m, x->key), value, (const uint8_t *)x->value);
	memcpy(x->value, value, value_size(m));
}

/* Sets free the slots that have been dead for long. */
static struct err *dead_free(struct ndata *d, struct map_state *m)
{
	uint32_t size = m->table->slot_size;
	uint64_t now = now_ns();
	uint8_t *slot = buf_room(m, 2 * (size_t)size), *zero = slot + size;
	struct err *e = NULL;

	memset(zero, 0, size);
	for (uint32_t i = 0; i < m->dead.len && !e;) {
		struct dead *x = &m->dead.data[i];
		uint64_t at = slot_off(m, x->cpu, x->slot);

		if (now - x->since < d->grace_ns || (m->has_live && !x->is_unused)) {
			i++;
			continue;
		}
		e = ndata_read(d, at, slot, size);
		if (!e)
			dead_carry(d, m, x, slot + m->table->val_off);
		if (!e)
			e = ndata_write(d, at + 8, zero, size - 8);
		if (!e)
			e = ndata_write_byte(d, at + BLOB_SLOT_SHIFT / 8, BLOB_SLOT_FREE);
		dead_remove(m, x);
	}
	return e;
}

/* ---- elements with keys: all of them --------------------------------------------------------- */

/* A value of one CPU, while a map is read. */
struct part {
	struct part *next;
	uint32_t cpu;
	uint64_t words[];
};

struct reading {
	struct ndata *d;
	struct map_state *m;
	struct arena *arena;
	struct hashmap *by_key; /* -> struct part */
};

static struct part *part_add(struct reading *r, const uint8_t *key, uint32_t cpu)
{
	struct part *first = hashmap_find(r->by_key, key, r->m->spec->key_size), *p;

	for (p = first; p; p = p->next)
		if (p->cpu == cpu)
			return p;
	p = arena_alloc(r->arena, sizeof(*p) + value_size(r->m));
	memset(p, 0, sizeof(*p) + value_size(r->m));
	p->cpu = cpu;
	if (first) {
		p->next = first->next;
		first->next = p;
	} else {
		hashmap_set(r->by_key, key, r->m->spec->key_size, p);
	}
	return p;
}

/*
 * Finds out what the place in a key means as soon as it is seen: the program may forget it, or end.
 */
static void site_note(const struct ndata *d, const struct map_state *m, const uint8_t *key)
{
	uint64_t code, at;

	if (m->has_sites && d->hooks.site && agg_key_site(owner_of(d, m, key), key, &code, &at))
		(void)d->hooks.site(d->hooks.ctx, code, at, true);
}

static void slot_add(struct reading *r, uint32_t cpu, uint32_t number, const uint8_t *slot)
{
	uint8_t state = (uint8_t)(value_word(slot, 0) >> BLOB_SLOT_SHIFT);
	const uint8_t *value = slot + r->m->table->val_off;
	struct dead *x = NULL;

	if (state == BLOB_SLOT_DEAD)
		x = dead_find(r->m, (struct slot_id){cpu, number});
	if (x)
		dead_carry(r->d, r->m, x, value);
	if (x || state != BLOB_SLOT_LIVE || !slot_is_live(r->d, r->m, slot))
		return;
	site_note(r->d, r->m, slot + 8);
	value_add(owner_of(r->d, r->m, slot + 8), part_add(r, slot + 8, cpu)->words, value, NULL);
}

/* Reads one CPU's table, the pages that exist. */
static struct err *table_read(struct reading *r, uint32_t cpu)
{
	const struct blob_table *t = r->m->table;
	uint32_t step = MAX(READ_BYTES / t->slot_size, 1u);
	uint8_t *buf = buf_room(r->m, (size_t)step * t->slot_size);
	uint64_t start = slot_off(r->m, cpu, 0), end = slot_off(r->m, cpu, t->slots);
	struct err *e = NULL;

	for (uint32_t i = 0; i < t->slots && !e;) {
		uint64_t at = ndata_skip_holes(r->d, start + (uint64_t)i * t->slot_size, end);
		uint32_t n;

		i = (uint32_t)((at - start) / t->slot_size);
		if (at == end)
			break;
		n = MIN(step, t->slots - i);
		e = ndata_read(r->d, slot_off(r->m, cpu, i), buf, (size_t)n * t->slot_size);
		for (uint32_t k = 0; k < n && !e; k++)
			slot_add(r, cpu, i + k, buf + (size_t)k * t->slot_size);
		i += n;
	}
	return e;
}

static void *values_clear(struct map_state *m)
{
	return memset(m->values, 0, m->values_size);
}

static uint8_t *values_of(const struct map_state *m, uint32_t cpu)
{
	return m->values + (size_t)cpu * elem_map_stride(m->spec);
}

static void keyed_hand_out(const struct reading *r, const uint8_t *key, const struct part *p,
			   agg_each_f *f, void *arg)
{
	(void)values_clear(r->m);
	for (; p; p = p->next)
		memcpy(values_of(r->m, p->cpu), p->words, r->m->spec->val_size);
	f(arg, key, r->m->values, r->d->plan->ncpus);
}

static void reading_count(void *ctx, const uint8_t *key, uint32_t cpu, uint64_t n)
{
	part_add(ctx, key, cpu)->words[0] += n;
}

static uint32_t map_index(const struct ndata *d, const struct map_state *m)
{
	return (uint32_t)(m - d->maps);
}

/* Reads all that one of the processes has of the map. */
static struct err *member_read(struct reading *r)
{
	struct err *e = dead_free(r->d, r->m);
	const uint64_t *carry;
	const void *key;
	size_t pos = 0, len;

	for (uint32_t cpu = 0; cpu < r->d->plan->ncpus && !e; cpu++)
		e = table_read(r, cpu);
	while (!e && (carry = hashmap_next(r->m->carry, &pos, &key, &len)))
		value_add(owner_of(r->d, r->m, key), part_add(r, key, 0)->words,
			  (const uint8_t *)carry, NULL);
	return e;
}

static struct err *keyed_each(struct ndata *d, struct map_state *m, agg_each_f *f, void *arg)
{
	struct reading r = {d, m, arena_create(), hashmap_create()};
	uint32_t map = map_index(d, m);
	struct err *e = NULL;
	struct ndata *x;
	const void *key;
	struct part *p;
	size_t pos = 0, len;

	for (uint32_t i = 0; !e && (x = ndata_member(d, i)); i++) {
		r.d = x;
		r.m = &x->maps[map];
		e = ndata_member_err(d, x, member_read(&r));
	}
	r.d = d;
	r.m = m;
	if (!e)
		e = counters_each(d, map, reading_count, &r);
	while (!e && (p = hashmap_next(r.by_key, &pos, &key, &len)))
		keyed_hand_out(&r, key, p, f, arg);
	hashmap_destroy(r.by_key);
	arena_destroy(r.arena);
	return e;
}

/* ---- elements with keys: one ----------------------------------------------------------------- */

/* Marks a slot dead, then reads what it has until then. */
static struct err *slot_take(struct ndata *d, struct map_state *m, struct slot_id id, uint8_t *slot)
{
	uint64_t at = slot_off(m, id.cpu, id.slot);
	struct err *e = ndata_write_byte(d, at + BLOB_SLOT_SHIFT / 8, BLOB_SLOT_DEAD);

	if (!e)
		e = ndata_read(d, at + m->table->val_off, slot + m->table->val_off, value_size(m));
	if (!e)
		dead_add(m, id, slot);
	return e;
}

/* Reads the chain of a key's hash: as many slots as the process looks at. */
static struct err *chain_read(const struct ndata *d, struct map_state *m, uint32_t cpu,
			      uint32_t from, uint8_t *buf)
{
	const struct blob_table *t = m->table;
	uint32_t first = MIN(t->slots - from, BLOB_PROBES), rest = BLOB_PROBES - first;
	struct err *e = ndata_read(d, slot_off(m, cpu, from), buf, (size_t)first * t->slot_size);

	if (e || !rest)
		return e;
	return ndata_read(d, slot_off(m, cpu, 0), buf + (size_t)first * t->slot_size,
			  (size_t)rest * t->slot_size);
}

/* Adds what one CPU's table has of a key to its value. to: the map whose values are handed out. */
static struct err *key_read(struct ndata *d, struct map_state *m, uint32_t cpu, const uint64_t *key,
			    bool takes, struct map_state *to, bool *ret_found)
{
	const struct blob_table *t = m->table;
	uint64_t hash = blob_key_hash(d->cookie, key, t->key_size / 8);
	uint32_t from = (uint32_t)hash & (t->slots - 1);
	uint8_t *buf = buf_room(m, (size_t)BLOB_PROBES * t->slot_size);
	CLEANUP(free) uint64_t *sum = xcalloc(1, value_size(m));
	struct err *e = chain_read(d, m, cpu, from, buf);

	for (uint32_t i = 0; i < BLOB_PROBES && !e; i++) {
		uint8_t *slot = buf + (size_t)i * t->slot_size;
		struct slot_id id = {cpu, (from + i) & (t->slots - 1)};

		if (value_word(slot, 0) == BLOB_SLOT_EMPTY)
			break;
		if (memcmp(slot + 8, key, t->key_size) != 0 || !slot_is_live(d, m, slot))
			continue;
		*ret_found = true;
		if (takes)
			e = slot_take(d, m, id, slot);
		value_add(owner_of(d, m, slot + 8), sum, slot + t->val_off, NULL);
	}
	value_add(owner_of(d, m, (const uint8_t *)key), (uint64_t *)(void *)values_of(to, cpu),
		  (const uint8_t *)sum, NULL);
	return e;
}

/* The same of all CPUs, and of what the tracer keeps. */
static struct err *member_key_read(struct ndata *d, struct map_state *m, const uint64_t *key,
				   bool takes, struct map_state *to, bool *ret_found)
{
	const uint64_t *carry = hashmap_find(m->carry, key, m->spec->key_size);
	struct err *e = NULL;

	for (uint32_t cpu = 0; cpu < d->plan->ncpus && !e; cpu++)
		e = key_read(d, m, cpu, key, takes, to, ret_found);
	if (e || !carry)
		return e;
	*ret_found = true;
	value_add(owner_of(d, m, (const uint8_t *)key), (uint64_t *)(void *)values_of(to, 0),
		  (const uint8_t *)carry, NULL);
	if (takes)
		carry_remove(m, (const uint8_t *)key);
	return NULL;
}

/* Adds what counters of sites have of an element to its value. */
static struct err *counters_add(struct ndata *d, struct map_state *m, const void *key, bool takes,
				bool *ret_found)
{
	CLEANUP(free) uint64_t *sums = xcalloc(d->plan->ncpus, sizeof(*sums));
	struct err *e = counters_read(d, map_index(d, m), key, takes, sums);

	for (uint32_t cpu = 0; cpu < d->plan->ncpus && !e; cpu++) {
		*(uint64_t *)(void *)values_of(m, cpu) += sums[cpu];
		*ret_found |= sums[cpu] != 0;
	}
	return e;
}

static struct err *keyed_read(struct ndata *d, struct map_state *m, const void *key, bool takes,
			      bool *ret_found)
{
	CLEANUP(free) uint64_t *padded = xcalloc(1, m->table->key_size);
	uint32_t map = map_index(d, m);
	struct err *e = NULL;
	struct ndata *x;

	memcpy(padded, key, m->spec->key_size);
	*ret_found = false;
	if (!owner_of(d, m, (const uint8_t *)padded))
		return NULL;
	for (uint32_t i = 0; !e && (x = ndata_member(d, i)); i++)
		e = ndata_member_err(d, x,
				     member_key_read(x, &x->maps[map], padded, takes, m,
						     ret_found));
	return e ? e : counters_add(d, m, padded, takes, ret_found);
}

static struct err *keyed_put(struct ndata *d, struct map_state *m, const void *key,
			     const uint8_t *value, bool *ret_done)
{
	bool is_found = false;
	struct err *e = keyed_read(d, m, key, false, &is_found);

	if (e)
		return e;
	*ret_done = !is_found;
	if (!is_found)
		memcpy(carry_get(m, key), value, m->spec->val_size);
	return NULL;
}

/* ---- elements without keys ------------------------------------------------------------------- */

static uint64_t cell_off(const struct map_state *m, uint32_t elem, uint32_t cpu)
{
	return slot_off(m, cpu, elem);
}

static size_t cells_size(const struct ndata *d, const struct map_state *m)
{
	return (size_t)m->table->slot_size * d->plan->ncpus;
}

/* Reads all banks of all CPUs; the caller frees them. */
static struct err *cell_read(const struct ndata *d, const struct map_state *m, uint32_t elem,
			     uint8_t **ret)
{
	uint32_t size = m->table->slot_size;
	uint8_t *raw = xmalloc(cells_size(d, m));
	struct err *e = NULL;

	for (uint32_t cpu = 0; cpu < d->plan->ncpus && !e; cpu++)
		e = ndata_read(d, cell_off(m, elem, cpu), raw + (size_t)cpu * size, size);
	if (e)
		free(raw);
	else
		*ret = raw;
	return e;
}

/* Adds what one process has to the values that the session sees; raw: what is in the process. */
static void cell_add(const struct ndata *d, const struct map_state *m, uint32_t elem,
		     const uint8_t *raw, struct map_state *sum)
{
	const struct cell *c = &m->cells[elem];
	const struct agg_layout *al = member_of(d, m, elem);
	uint32_t size = m->table->slot_size, bank_size = m->table->val_size;
	uint32_t n = value_nwords(al);

	for (size_t cpu = 0; cpu < d->plan->ncpus; cpu++) {
		uint64_t *to = (uint64_t *)(void *)values_of(sum, (uint32_t)cpu);

		for (uint32_t off = 0; off < size; off += bank_size) {
			const uint8_t *now = raw + cpu * size + off;
			const uint8_t *base = c->base ? c->base + cpu * size + off : NULL;

			value_add(al, to, now, base);
			if (value_word(now, n) && !(base && value_word(base, n)))
				to[n] = 1;
		}
		if (!value_is_zero(to, n))
			to[n] = 1;
	}
	if (!c->carry)
		return;
	value_add(al, (uint64_t *)(void *)sum->values, (const uint8_t *)c->carry, NULL);
	((uint64_t *)(void *)sum->values)[n] |= c->carry[n];
}

static struct err *member_cell_read(const struct ndata *d, const struct map_state *m, uint32_t elem,
				    bool takes, struct map_state *sum)
{
	uint8_t *raw;
	struct err *e = cell_read(d, m, elem, &raw);

	if (e)
		return e;
	cell_add(d, m, elem, raw, sum);
	if (takes) {
		free(m->cells[elem].taken);
		m->cells[elem].taken = raw;
	} else {
		free(raw);
	}
	return NULL;
}

/* Fills in the values that the session sees. */
static struct err *cell_values(struct ndata *d, struct map_state *m, uint32_t elem, bool takes)
{
	uint32_t map = map_index(d, m);
	struct err *e = NULL;
	struct ndata *x;

	(void)values_clear(m);
	for (uint32_t i = 0; !e && (x = ndata_member(d, i)); i++)
		e = ndata_member_err(d, x, member_cell_read(x, &x->maps[map], elem, takes, m));
	return e;
}

static uint64_t values_total(const struct ndata *d, const struct map_state *m)
{
	uint64_t sum = 0;

	for (uint32_t cpu = 0; cpu < d->plan->ncpus; cpu++)
		sum += value_word(values_of(m, cpu), 0);
	return sum;
}

/* Adds what counters of sites have; *ret: how much that is. */
static struct err *cell_count(struct ndata *d, struct map_state *m, uint32_t elem, uint64_t *ret)
{
	uint32_t n = value_nwords(member_of(d, m, elem));
	uint64_t before = values_total(d, m);
	bool is_found = false;
	struct err *e = counters_add(d, m, &elem, false, &is_found);

	*ret = values_total(d, m) - before;
	for (uint32_t cpu = 0; cpu < d->plan->ncpus && is_found; cpu++)
		if (value_word(values_of(m, cpu), 0))
			((uint64_t *)(void *)values_of(m, cpu))[n] = 1;
	return e;
}

static struct err *cells_each(struct ndata *d, struct map_state *m, agg_each_f *f, void *arg)
{
	struct err *e = NULL;

	for (uint32_t i = 0; i < m->spec->nmembers && !e; i++) {
		uint64_t counted;

		e = cell_values(d, m, i, false);
		if (!e)
			e = cell_count(d, m, i, &counted);
		if (!e)
			f(arg, (const uint8_t *)&i, m->values, d->plan->ncpus);
	}
	return e;
}

static struct err *cell_show(struct ndata *d, struct map_state *m, const void *key, bool takes)
{
	uint32_t elem;
	uint64_t counted;
	struct err *e;

	memcpy(&elem, key, sizeof(elem));
	e = cell_values(d, m, elem, takes);
	if (!e)
		e = cell_count(d, m, elem, &counted);
	if (!e && takes)
		m->cells[elem].counted = counted;
	return e;
}

/* Lets the process go on in the next bank, which is emptied; base: what the banks have. */
static struct err *bank_next(struct ndata *d, struct map_state *m, uint32_t elem, uint8_t *base)
{
	uint32_t size = m->table->slot_size, bank_size = m->table->val_size;
	uint8_t bank = (uint8_t)((m->cells[elem].bank + 1) % BLOB_BANKS);
	CLEANUP(free) uint8_t *zero = xcalloc(1, bank_size);
	struct err *e = NULL;

	for (size_t cpu = 0; cpu < d->plan->ncpus && !e; cpu++) {
		e = ndata_write(d, cell_off(m, elem, (uint32_t)cpu) + bank * bank_size, zero,
				bank_size);
		memset(base + cpu * size + bank * bank_size, 0, bank_size);
	}
	if (!e)
		e = ndata_write_byte(d, m->table->banks_off + elem, bank);
	if (!e)
		m->cells[elem].bank = bank;
	return e;
}

/* Clears the touched words of all CPUs, so that it can be seen when they are set again. */
static struct err *touched_clear(struct ndata *d, struct map_state *m, uint32_t elem, uint8_t *base)
{
	const struct agg_layout *al = member_of(d, m, elem);
	struct err *e = NULL;

	for (size_t cpu = 0; cpu < d->plan->ncpus && !e; cpu++) {
		e = ndata_write_byte(d, cell_off(m, elem, (uint32_t)cpu) + al->touched_off, 0);
		memset(base + cpu * m->table->slot_size + al->touched_off, 0, 8);
	}
	return e;
}

/* Counters of sites begin anew; *ret: what came to them since the element was taken. */
static struct err *cell_recount(struct ndata *d, struct map_state *m, uint32_t elem, bool is_taken,
				uint64_t *ret)
{
	struct err *e = NULL;
	bool is_found = false;

	(void)values_clear(m);
	e = counters_add(d, m, &elem, true, &is_found);
	*ret = is_taken ? values_total(d, m) - m->cells[elem].counted : 0;
	return e;
}

/* What the process has, as it was taken or as it is now, counts no more. */
static struct err *cell_rebase(struct ndata *d, struct map_state *m, uint32_t elem)
{
	struct cell *c = &m->cells[elem];
	uint8_t *base = c->taken;
	struct err *e = base ? NULL : cell_read(d, m, elem, &base);

	c->taken = NULL;
	if (e)
		return e;
	e = value_is_extreme(member_of(d, m, elem)) ? bank_next(d, m, elem, base)
						    : touched_clear(d, m, elem, base);
	free(c->base);
	c->base = base;
	return e;
}

static struct err *cell_put(struct ndata *d, struct map_state *m, const void *key,
			    const uint8_t *value)
{
	uint32_t elem, map = map_index(d, m);
	struct ndata *x;
	struct cell *c;
	uint64_t late;
	struct err *e;

	memcpy(&elem, key, sizeof(elem));
	c = &m->cells[elem];
	e = cell_recount(d, m, elem, c->taken, &late);
	for (uint32_t i = 0; !e && (x = ndata_member(d, i)); i++)
		e = ndata_member_err(d, x, cell_rebase(x, &x->maps[map], elem));
	if (e)
		return e;
	if (!c->carry)
		c->carry = xcalloc(1, value_size(m));
	memcpy(c->carry, value, m->spec->val_size);
	c->carry[0] += late;
	if (late)
		c->carry[value_nwords(member_of(d, m, elem))] = 1;
	return e;
}

/* ---- elements that entries of live() refer to ------------------------------------------------ */

void maps_begin_uses(struct ndata *d)
{
	uint64_t now = now_ns();

	for (uint32_t i = 0; i < d->plan->nagg; i++)
		for (uint32_t k = 0; k < d->maps[i].dead.len; k++) {
			struct dead *x = &d->maps[i].dead.data[k];

			x->is_unused = now - x->since >= d->grace_ns;
		}
}

/* The key that a slot has, or had when it was marked dead; NULL: it is no element. */
static const uint8_t *slot_key(const struct ndata *d, struct map_state *m, struct slot_id id)
{
	struct dead *x = dead_find(m, id);
	uint8_t *slot = buf_room(m, m->table->slot_size);
	struct err *e;

	if (x) {
		x->is_unused = false;
		return x->key;
	}
	e = ndata_read(d, slot_off(m, id.cpu, id.slot), slot, m->table->val_off);
	if (e || !slot_is_live(d, m, slot)) {
		err_destroy(e); /* the reading of entries reports it */
		return NULL;
	}
	return slot + 8;
}

void maps_find_elem(struct ndata *d, uint64_t off, struct rt_live *entry, size_t room)
{
	for (uint32_t i = 0; i < d->plan->nagg; i++) {
		struct map_state *m = &d->maps[i];
		const struct blob_table *t = m->table;
		uint64_t rel = off - t->off, in;
		const struct agg_layout *al;
		const uint8_t *key = NULL;
		struct slot_id id;

		if (!m->has_live || !t->slots || off < t->off ||
		    rel >= t->cpu_size * d->plan->ncpus)
			continue;
		in = rel % t->cpu_size;
		id = (struct slot_id){(uint32_t)(rel / t->cpu_size), (uint32_t)(in / t->slot_size)};
		if (in % t->slot_size != (t->key_size ? t->val_off : 0) || id.slot >= t->slots)
			return;
		if (t->key_size)
			key = slot_key(d, m, id);
		al = !t->key_size ? member_of(d, m, id.slot) : key ? owner_of(d, m, key) : NULL;
		if (!al || al->agg->func != AGGFUNC_LIVE)
			return;
		entry->agg = al->agg->id;
		entry->cpu = id.cpu;
		if (key)
			memcpy(entry->key, key, MIN(room, (size_t)m->spec->key_size));
		return;
	}
}

/* ---- as the session sees it ------------------------------------------------------------------ */

static struct err *aggs_each(void *ctx, uint32_t map, agg_each_f *f, void *arg)
{
	struct ndata *d = ctx;
	struct map_state *m = &d->maps[map];

	if (!m->table->slots)
		return NULL;
	return m->spec->key_size ? keyed_each(d, m, f, arg) : cells_each(d, m, f, arg);
}

static struct err *elem_read(struct ndata *d, uint32_t map, const void *key, bool takes,
			     const uint8_t **ret_values, uint32_t *ret_ncpus)
{
	struct map_state *m = &d->maps[map];
	bool is_found = true;
	struct err *e;

	*ret_ncpus = 0;
	if (!m->table->slots)
		return NULL;
	(void)values_clear(m);
	e = m->spec->key_size ? keyed_read(d, m, key, takes, &is_found)
			      : cell_show(d, m, key, takes);
	if (e || !is_found)
		return e;
	*ret_values = m->values;
	*ret_ncpus = d->plan->ncpus;
	return NULL;
}

static struct err *aggs_take(void *ctx, uint32_t map, const void *key, const uint8_t **ret_values,
			     uint32_t *ret_ncpus)
{
	return elem_read(ctx, map, key, true, ret_values, ret_ncpus);
}

static struct err *aggs_peek(void *ctx, uint32_t map, const void *key, const uint8_t **ret_values,
			     uint32_t *ret_ncpus)
{
	return elem_read(ctx, map, key, false, ret_values, ret_ncpus);
}

static struct err *aggs_put(void *ctx, uint32_t map, const void *key, const uint8_t *value,
			    bool *ret_done)
{
	struct ndata *d = ctx;
	struct map_state *m = &d->maps[map];

	*ret_done = false;
	if (!m->table->slots) /* no clause in the process uses it: the session keeps the value */
		return NULL;
	*ret_done = true;
	if (m->spec->key_size)
		return keyed_put(d, m, key, value, ret_done);
	return cell_put(d, m, key, value);
}

/* Keys of texts and stacks are made by the kernel's engine. */
static bool aggs_string(void *ctx, uint64_t hash, struct strbuf *out)
{
	return false;
}

static bool aggs_site(void *ctx, uint64_t code, uint64_t at, const char **ret_file,
		      uint64_t *ret_line)
{
	const struct ndata *d = ctx;
	const struct ndata_site *s =
		d->hooks.site ? d->hooks.site(d->hooks.ctx, code, at, false) : NULL;

	if (!s)
		return false;
	*ret_file = s->file;
	*ret_line = s->line;
	return true;
}

static uint64_t aggs_drops(void *ctx)
{
	struct ndata *d = ctx, *x;
	uint64_t n = 0;

	for (uint32_t k = 0; (x = ndata_member(d, k)); k++) {
		struct err *e = ndata_read_cpus(x);

		for (uint32_t i = 0; i < x->plan->ncpus && !e; i++)
			if (x->cpus[i].agg_drops > x->counted[i].agg_drops)
				n += x->cpus[i].agg_drops - x->counted[i].agg_drops;
		err_destroy(e); /* drain() reports that the memory is gone */
	}
	return n;
}

/* ---- of a process that has ended ------------------------------------------------------------- */

struct absorbing {
	struct ndata *d;
	uint32_t map;
	uint64_t nlost;
};

/* The tracer keeps as many elements as a table of one CPU has, whatever children make up. */
static void elem_absorb(void *arg, const uint8_t *key, const uint8_t *values, uint32_t ncpus)
{
	struct absorbing *a = arg;
	struct map_state *m = &a->d->maps[a->map];
	const struct agg_layout *al = m->spec->key_size ? owner_of(a->d, m, key) : NULL;
	uint32_t elem = 0;
	uint64_t *to;

	if (m->spec->key_size && hashmap_count(m->carry) >= m->table->slots &&
	    !hashmap_find(m->carry, key, m->spec->key_size)) {
		a->nlost++;
		return;
	}
	if (!m->spec->key_size) {
		memcpy(&elem, key, sizeof(elem));
		al = member_of(a->d, m, elem);
		if (!m->cells[elem].carry)
			m->cells[elem].carry = xcalloc(1, value_size(m));
	}
	to = m->spec->key_size ? carry_get(m, key) : m->cells[elem].carry;
	for (size_t i = 0; i < ncpus; i++) {
		const uint8_t *value = values + i * elem_map_stride(m->spec);

		value_add(al, to, value, NULL);
		if (!m->spec->key_size)
			to[value_nwords(al)] |= value_word(value, value_nwords(al));
	}
}

struct err *maps_absorb(struct ndata *d, struct ndata *kin, uint64_t *ret_nlost)
{
	struct absorbing a = {.d = d};
	struct err *e = NULL;

	for (a.map = 0; a.map < d->plan->nagg && !e; a.map++)
		e = aggs_each(kin, a.map, elem_absorb, &a);
	*ret_nlost = a.nlost;
	return e;
}

const struct agg_io ndata_aggs = {
	.each = aggs_each,
	.take = aggs_take,
	.peek = aggs_peek,
	.put = aggs_put,
	.string = aggs_string,
	.site = aggs_site,
	.drops = aggs_drops,
	.alive = lives_each,
	.bury = lives_bury,
};

/* ---- beginning and end ----------------------------------------------------------------------- */

void maps_init(struct ndata *d)
{
	d->maps = xcalloc(MAX(d->plan->nagg, 1u), sizeof(*d->maps));
	for (uint32_t i = 0; i < d->plan->nagg; i++) {
		struct map_state *m = &d->maps[i];

		m->spec = &d->layout->agg_maps[i];
		m->table = &d->plan->tables[i];
		for (uint32_t k = 0; k < m->spec->nmembers && d->plan->live_off; k++)
			m->has_live |= member_of(d, m, k)->agg->func == AGGFUNC_LIVE;
		for (uint32_t k = 0; k < m->spec->nmembers; k++)
			m->has_sites |= agg_has_sites(member_of(d, m, k));
		m->by_slot = hashmap_create();
		m->carry = hashmap_create();
		m->cells = xcalloc(m->spec->key_size ? 1 : MAX(m->spec->nmembers, 1u),
				   sizeof(*m->cells));
		m->values_size = (size_t)elem_map_stride(m->spec) * d->plan->ncpus;
		m->values = xcalloc(1, m->values_size);
	}
}

static void map_deinit(struct map_state *m)
{
	uint64_t *words;
	size_t pos = 0;

	for (uint32_t i = 0; i < m->dead.len; i++) {
		free(m->dead.data[i].key);
		free(m->dead.data[i].value);
	}
	vec_deinit(&m->dead);
	hashmap_destroy(m->by_slot);
	while ((words = hashmap_next(m->carry, &pos, NULL, NULL)))
		free(words);
	hashmap_destroy(m->carry);
	for (uint32_t i = 0; i < (m->spec->key_size ? 0 : m->spec->nmembers); i++) {
		free(m->cells[i].base);
		free(m->cells[i].taken);
		free(m->cells[i].carry);
	}
	free(m->cells);
	free(m->values);
	free(m->buf);
}

void maps_deinit(struct ndata *d)
{
	for (uint32_t i = 0; i < d->plan->nagg; i++)
		map_deinit(&d->maps[i]);
	free(d->maps);
}
