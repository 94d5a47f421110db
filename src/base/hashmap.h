/* SPDX-License-Identifier: MIT */
/*
 * Hash map from byte strings to pointers.
 *
 * Owns     copies of the keys; never the values.
 * Order    hashmap_next() visits the entries in the order in which their keys were first inserted.
 */
#pragma once

#include "base/base.h"

struct hashmap;

struct hashmap *hashmap_create(void);
void hashmap_destroy(struct hashmap *m); /* NULL is allowed */
void *hashmap_find(const struct hashmap *m, const void *key, size_t len);
/* Inserts the value, or replaces the one that the key has. value must not be NULL. */
void hashmap_set(struct hashmap *m, const void *key, size_t len, void *value);
void hashmap_remove(struct hashmap *m, const void *key, size_t len);
size_t hashmap_count(const struct hashmap *m);
/*
 * Returns the next value, NULL at the end; *pos is 0 before the first call. Entries may be removed
 * in between.
 */
void *hashmap_next(const struct hashmap *m, size_t *pos, const void **ret_key, size_t *ret_len);

static inline void *hashmap_finds(const struct hashmap *m, const char *key)
{
	return hashmap_find(m, key, strlen(key));
}

static inline void hashmap_sets(struct hashmap *m, const char *key, void *value)
{
	hashmap_set(m, key, strlen(key), value);
}
