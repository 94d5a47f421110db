/* SPDX-License-Identifier: MIT */
/* Hash map: open addressing over an insertion-ordered entry array. */
#include "base/hashmap.h"
#include "base/str.h"
#include "base/vec.h"

struct entry {
	void *key; /* NULL = removed */
	size_t len;
	uint64_t hash;
	void *value;
};

struct hashmap {
	VEC(struct entry) entries;
	uint32_t *slots; /* entry index + 1 */
	uint32_t nslots;
	size_t live;
};

struct hashmap *hashmap_create(void)
{
	struct hashmap *m = xcalloc(1, sizeof(*m));

	m->nslots = 16;
	m->slots = xcalloc(m->nslots, sizeof(*m->slots));
	return m;
}

void hashmap_destroy(struct hashmap *m)
{
	if (!m)
		return;
	for (uint32_t i = 0; i < m->entries.len; i++)
		free(m->entries.data[i].key);
	vec_deinit(&m->entries);
	free(m->slots);
	free(m);
}

/* Returns the slot that holds the key, or the empty slot that ends the key's probe sequence. */
static uint32_t *slot_find(const struct hashmap *m, const void *key, size_t len, uint64_t hash)
{
	for (uint32_t i = (uint32_t)hash & (m->nslots - 1);; i = (i + 1) & (m->nslots - 1)) {
		const struct entry *e;

		if (!m->slots[i])
			return &m->slots[i];
		e = &m->entries.data[m->slots[i] - 1];
		if (e->key && e->hash == hash && e->len == len && memcmp(e->key, key, len) == 0)
			return &m->slots[i];
	}
}

void *hashmap_find(const struct hashmap *m, const void *key, size_t len)
{
	uint32_t *slot = slot_find(m, key, len, hash_bytes(key, len));

	return *slot ? m->entries.data[*slot - 1].value : NULL;
}

/* Drops removed entries, and doubles the number of slots if too many are in use. */
static void hashmap_rehash(struct hashmap *m)
{
	uint32_t live = 0;

	for (uint32_t i = 0; i < m->entries.len; i++)
		if (m->entries.data[i].key)
			m->entries.data[live++] = m->entries.data[i];
	m->entries.len = live;
	while (live * 2 >= m->nslots)
		m->nslots *= 2;
	free(m->slots);
	m->slots = xcalloc(m->nslots, sizeof(*m->slots));
	for (uint32_t i = 0; i < live; i++) {
		const struct entry *e = &m->entries.data[i];

		*slot_find(m, e->key, e->len, e->hash) = i + 1;
	}
}

void hashmap_set(struct hashmap *m, const void *key, size_t len, void *value)
{
	uint64_t hash = hash_bytes(key, len);
	uint32_t *slot = slot_find(m, key, len, hash);
	void *copy;

	assert(value);
	if (*slot) {
		m->entries.data[*slot - 1].value = value;
		return;
	}
	copy = xmalloc(len);
	if (len)
		memcpy(copy, key, len);
	vec_push(&m->entries,
		 (struct entry){.key = copy, .len = len, .hash = hash, .value = value});
	*slot = m->entries.len;
	m->live++;
	if (m->entries.len * 4 > m->nslots * 3)
		hashmap_rehash(m);
}

void hashmap_remove(struct hashmap *m, const void *key, size_t len)
{
	uint32_t *slot = slot_find(m, key, len, hash_bytes(key, len));
	struct entry *e;

	if (!*slot)
		return;
	e = &m->entries.data[*slot - 1]; /* the slot stays as a tombstone until the next rehash */
	free(e->key);
	*e = (struct entry){0};
	m->live--;
}

size_t hashmap_count(const struct hashmap *m)
{
	return m->live;
}

void *hashmap_next(const struct hashmap *m, size_t *pos, const void **ret_key, size_t *ret_len)
{
	while (*pos < m->entries.len) {
		const struct entry *e = &m->entries.data[(*pos)++];

		if (!e->key)
			continue;
		if (ret_key)
			*ret_key = e->key;
		if (ret_len)
			*ret_len = e->len;
		return e->value;
	}
	return NULL;
}
