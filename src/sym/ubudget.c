/* SPDX-License-Identifier: MIT */
/*
 * Bounds what is kept of files beside their images (image/image_budget.c), within the same bytes.
 *
 *     names that were found     are returned to callers. So they are freed by ufiles_bound_memory()
 *                               only, and after everything else: they are little, and save reading
 *                               tables again.
 *     tables of generated code  may take half of the memory (ujit.c), and are read again, too.
 *     files that were deleted   take room on their file system as long as they are open here. Of
 *                               those that no living process maps, as many bytes are kept as of
 *                               names. Once such a file is closed, another one may get its inode
 *                               number. Therefore file and node get keys by which nobody finds them
 *                               any more; the mappings that were recorded still point to them.
 */
#include <inttypes.h>
#include <sys/stat.h>

#include "base/sorted.h"
#include "files/gate.h"
#include "sym/uproc.h"

#define CHECK_PAUSE_NS 1000000000 /* least time between two searches for deleted files */
#define CHECK_SHARE    100	  /* ... which take one part in so many of the time */

typedef VEC(struct unode *) unode_vec;

/* ---- names that were found ------------------------------------------------------------------- */

static uint32_t found_index(const struct unode *n, uint64_t addr)
{
	return sorted_upto(n->found.data, n->found.len, end, addr);
}

const struct ufound *unode_found(const struct unode *n, uint64_t addr)
{
	uint32_t i = found_index(n, addr);

	return i < n->found.len && n->found.data[i].start <= addr ? &n->found.data[i] : NULL;
}

const struct ufound *unode_find_add(struct unode *n, const struct ufound *f)
{
	uint32_t i = found_index(n, f->start);

	vec_push(&n->found, *f);
	memmove(n->found.data + i + 1, n->found.data + i,
		(n->found.len - 1 - i) * sizeof(*n->found.data));
	n->found.data[i] = *f;
	n->found_bytes += 2 * sizeof(*f) + (f->name ? strlen(f->name) + 16 : 0);
	return &n->found.data[i];
}

void unode_forget_found(struct unode *n)
{
	for (uint32_t i = 0; i < n->found.len; i++)
		free(n->found.data[i].name);
	vec_deinit(&n->found);
	n->found_bytes = 0;
}

static uint64_t used_of(const struct unode *n)
{
	return n->image ? n->image->used : 0;
}

static int used_compare(const void *pa, const void *pb)
{
	uint64_t a = used_of(*(struct unode *const *)pa), b = used_of(*(struct unode *const *)pb);

	return a < b ? -1 : a > b;
}

static void sort_by_use(unode_vec *nodes)
{
	if (nodes->len)
		qsort(nodes->data, nodes->len, sizeof(*nodes->data), used_compare);
}

void unode_charge(struct ufiles *u, struct unode *n)
{
	image_set_account(u->opts.images, &n->bytes, n->found_bytes);
	image_set_shed(u->opts.images, n->image);
}

/* Forgets the names that were used least recently. */
static void found_shed(struct ufiles *u)
{
	const struct image_set *images = u->opts.images;
	unode_vec nodes = {0};
	struct unode *n;
	size_t pos = 0;

	while ((n = hashmap_next(u->nodes, &pos, NULL, NULL)))
		if (n->found_bytes)
			vec_push(&nodes, n);
	sort_by_use(&nodes);
	for (uint32_t i = 0; i < nodes.len && image_set_is_above(images, images->max_bytes / 8 * 7);
	     i++) {
		unode_forget_found(nodes.data[i]);
		unode_charge(u, nodes.data[i]);
	}
	vec_deinit(&nodes);
}

void ufiles_forget_found(struct ufiles *u)
{
	struct unode *n;
	size_t pos = 0;

	while ((n = hashmap_next(u->nodes, &pos, NULL, NULL))) {
		unode_forget_found(n);
		unode_charge(u, n);
	}
}

void ufiles_bound_memory(struct ufiles *u)
{
	struct image_set *images = u->opts.images;

	image_set_shed(images, NULL);
	if (image_set_is_above(images, images->max_bytes))
		found_shed(u);
}

/* ---- files that were deleted ----------------------------------------------------------------- */

/* Returns the bytes on disk that are free when the file is closed; 0: it was not deleted. */
static uint64_t held_bytes(const struct ufiles *u, const struct unode *n)
{
	struct stat st;

	if (!n->image || !n->image->opened || !gate_is_dev_harmless(u->opts.gate, n->dev) ||
	    fstat(gate_file_fd(n->image->opened), &st) != 0 || st.st_nlink)
		return 0;
	return (uint64_t)st.st_blocks * 512;
}

struct old_key {
	void *value;
	size_t len;
	char *bytes;
};
typedef VEC(struct old_key) old_key_vec;

static void old_key_add(old_key_vec *keys, void *value, const void *key, size_t len)
{
	struct old_key k = {value, len, xmalloc(len)};

	memcpy(k.bytes, key, len);
	vec_push(keys, k);
}

/* Gives the values keys that nobody looks for: others begin with a hexadecimal number. */
static void keys_retire(struct ufiles *u, struct hashmap *m, old_key_vec *keys)
{
	for (uint32_t i = 0; i < keys->len; i++) {
		struct old_key *k = &keys->data[i];
		char key[32];
		int len = snprintf(key, sizeof(key), "gone %" PRIu64, ++u->nretired);

		hashmap_remove(m, k->bytes, k->len);
		hashmap_set(m, key, (size_t)len, k->value);
		free(k->bytes);
	}
	vec_deinit(keys);
}

void unodes_retire(struct ufiles *u)
{
	old_key_vec files = {0}, nodes = {0};
	const void *key;
	struct ufile *f;
	struct unode *n;
	size_t pos = 0, len;

	while ((f = hashmap_next(u->files, &pos, &key, &len)))
		if (f->node->is_retired && *(const char *)key != 'g')
			old_key_add(&files, f, key, len);
	pos = 0;
	while ((n = hashmap_next(u->nodes, &pos, &key, &len)))
		if (n->is_retired && *(const char *)key != 'g')
			old_key_add(&nodes, n, key, len);
	keys_retire(u, u->files, &files);
	keys_retire(u, u->nodes, &nodes);
}

void ufiles_bound_deleted(struct ufiles *u, uint64_t sweep)
{
	unode_vec nodes = {0};
	bool is_any = false;
	uint64_t held = 0;
	struct ufile *f;
	struct unode *n;
	size_t pos = 0;

	while ((f = hashmap_next(u->files, &pos, NULL, NULL)))
		if (f->swept == sweep)
			f->node->swept = sweep;
	pos = 0;
	while ((n = hashmap_next(u->nodes, &pos, NULL, NULL))) {
		uint64_t bytes = n->swept == sweep ? 0 : held_bytes(u, n);

		held += bytes;
		if (bytes)
			vec_push(&nodes, n);
	}
	sort_by_use(&nodes);
	for (uint32_t i = 0; i < nodes.len && held > u->opts.images->max_bytes; i++) {
		held -= held_bytes(u, nodes.data[i]);
		image_close(nodes.data[i]->image);
		nodes.data[i]->is_retired = true;
		is_any = true;
	}
	vec_deinit(&nodes);
	if (is_any)
		unodes_retire(u);
}

bool ufiles_check_is_due(const struct ufiles *u)
{
	return u->opts.images->open_bytes > u->opts.images->max_bytes && now_ns() >= u->check_at;
}

void ufiles_checked(struct ufiles *u, uint64_t took_ns)
{
	u->check_at = now_ns() + MAX(took_ns * CHECK_SHARE, (uint64_t)CHECK_PAUSE_NS);
}
