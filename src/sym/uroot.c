/* SPDX-License-Identifier: MIT */
/* Finds the root directories of processes, shares them, and closes them when too many are open. */
#include "sym/uroot.h"

#include <fcntl.h>
#include <inttypes.h>

#include "files/gate.h"
#include "files/mapping.h"

#define ROOTS_OPEN_MAX 256

static bool proc_stat(const char *pid, const char *name, struct stat *ret)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%s/%s", pid, name);
	return gate_identity(path, ret);
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/*
 * Closes a root and forgets its key, so the next process with this key gets a new root: when a
 * directory is closed, another container's may get the same numbers.
 */
static void root_close(struct uroot *r)
{
	if (r->fd == UROOT_CLOSED)
		return;
	hashmap_remove(r->owner->open, r->key, r->key_len);
	(void)close(r->fd);
	r->fd = UROOT_CLOSED;
}

static void oldest_close(struct uroots *u)
{
	struct uroot *r, *oldest = NULL;
	size_t pos = 0;

	while ((r = hashmap_next(u->open, &pos, NULL, NULL)))
		if (!oldest || r->used < oldest->used)
			oldest = r;
	if (!oldest)
		return;
	root_close(oldest);
	u->nclosed++;
}

static struct uroot *root_open(struct uroots *u, uint64_t pid, const char *key, uint32_t key_len)
{
	struct uroot *r;
	int fd;

	if (hashmap_count(u->open) >= ROOTS_OPEN_MAX)
		oldest_close(u);
	fd = process_root_open(pid);
	if (fd < 0)
		return NULL;
	r = xcalloc(1, sizeof(*r));
	*r = (struct uroot){.fd = fd, .owner = u, .key_len = key_len};
	memcpy(r->key, key, key_len);
	hashmap_set(u->open, key, key_len, r);
	return r;
}

struct uroot *uroot_of(struct uroots *u, uint64_t pid, struct uroot *otherwise)
{
	struct stat our_ns, our_root, ns, root;
	char text[32], key[sizeof(((struct uroot *)0)->key)];
	struct uroot *r;
	int len;

	(void)snprintf(text, sizeof(text), "%" PRIu64, pid);
	if (!proc_stat("self", "ns/mnt", &our_ns) || !proc_stat("self", "root", &our_root) ||
	    !proc_stat(text, "ns/mnt", &ns) || !proc_stat(text, "root", &root))
		return uroot_share(otherwise);
	if (is_same(&ns, &our_ns) && is_same(&root, &our_root))
		return NULL;
	len = snprintf(key, sizeof(key), "%ju %ju %ju", (uintmax_t)ns.st_ino,
		       (uintmax_t)root.st_dev, (uintmax_t)root.st_ino);
	r = hashmap_find(u->open, key, (size_t)len);
	if (!r)
		r = root_open(u, pid, key, (uint32_t)len);
	if (!r)
		return uroot_share(otherwise);
	r->used = ++u->clock;
	return uroot_share(r);
}

struct uroot *uroot_share(struct uroot *r)
{
	if (r)
		r->refs++;
	return r;
}

void uroot_put(struct uroot *r)
{
	if (!r || --r->refs)
		return;
	root_close(r);
	free(r);
}

void uroots_init(struct uroots *u)
{
	*u = (struct uroots){.open = hashmap_create()};
}

void uroots_deinit(struct uroots *u)
{
	assert(!hashmap_count(u->open));
	hashmap_destroy(u->open);
}
