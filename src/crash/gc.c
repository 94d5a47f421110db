/* SPDX-License-Identifier: MIT */
/* Removes what the store has no room for, and what nobody will finish. */
#include "crash/gc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "crash/format.h"

#define SHARE_OF_FREE	5  /* the store has one part of so many of what is free */
#define SHARE_OF_DISK	10 /* one part of so many stays free */
#define FILES_MAX	10000u
#define COUNT_DAYS	7 /* a crash loop that has ended is forgotten after so many days */
#define SECONDS_PER_DAY 86400

/* ---- sizes ----------------------------------------------------------------------------------- */

/* The bytes of files in a directory, and in those one level below it. */
static uint64_t folder_size(int dir, const char *name, uint32_t levels)
{
	int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *list = fd >= 0 ? fdopendir(fd) : NULL;
	uint64_t size = 0;
	uint32_t n = 0;
	struct dirent *d;

	if (!list) {
		if (fd >= 0)
			(void)close(fd);
		return 0;
	}
	while (n++ < FILES_MAX && (d = readdir(list))) {
		struct stat st;

		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0 ||
		    fstatat(dirfd(list), d->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
			continue;
		size += (uint64_t)st.st_blocks * 512;
		if (S_ISDIR(st.st_mode) && levels)
			size += folder_size(dirfd(list), d->d_name, levels - 1);
	}
	(void)closedir(list);
	return size;
}

static uint64_t bytes_less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

struct err *crash_budget_read(const struct crash_store *s, uint64_t limit, struct crash_budget *ret)
{
	struct crash_budget b = {.used = folder_size(s->fd, ".", 2)};
	struct statvfs fs;

	if (fstatvfs(s->fd, &fs) != 0)
		return err_sys(errno, "cannot see how much room '%s' has", s->path);
	b.disk_free = (uint64_t)fs.f_bavail * fs.f_frsize;
	b.disk_needed =
		bytes_less((uint64_t)fs.f_blocks * fs.f_frsize / SHARE_OF_DISK, b.disk_free);
	b.limit = limit != UINT64_MAX ? limit : (b.disk_free + b.used) / SHARE_OF_FREE;
	*ret = b;
	return NULL;
}

/* ---- entries that nobody finishes ------------------------------------------------------------ */

/*
 * The capturer holds a lock of the directory that it fills. Whoever gets the lock has a directory
 * that is left over. Between the making of a directory and its lock, it is younger than a minute.
 */
static bool entry_is_left(int store, const char *name)
{
	CLEANUP(fd) int fd = openat(store, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct timespec now;
	struct stat st;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	return fd >= 0 && fstat(fd, &st) == 0 && now.tv_sec - st.st_mtim.tv_sec > 60 &&
	       flock(fd, LOCK_EX | LOCK_NB) == 0;
}

typedef VEC(char *) names;

static struct err *unfinished_find(const struct crash_store *s, names *ret)
{
	int fd = openat(s->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *d;

	if (!dir) {
		if (fd >= 0)
			(void)close(fd);
		return err_sys(errno, "cannot read '%s'", s->path);
	}
	while (ret->len < FILES_MAX && (d = readdir(dir)))
		if (d->d_name[0] == '.' && crash_id_is_good(d->d_name + 1) &&
		    entry_is_left(s->fd, d->d_name))
			vec_push(ret, xstrdup(d->d_name));
	(void)closedir(dir);
	return NULL;
}

static void names_free(names *all)
{
	for (uint32_t i = 0; i < all->len; i++)
		free(all->data[i]);
	vec_deinit(all);
}

struct err *crash_unfinished_count(const struct crash_store *s, uint32_t *ret)
{
	names all = {0};
	struct err *e = unfinished_find(s, &all);

	if (!e)
		*ret = all.len;
	names_free(&all);
	return e;
}

static struct err *unfinished_remove(const struct crash_store *s, const struct crash_gc *how)
{
	names all = {0};
	struct err *e = unfinished_find(s, &all);

	for (uint32_t i = 0; i < all.len && !e; i++) {
		uint64_t size = folder_size(s->fd, all.data[i], 1);

		if (!how->is_dry && !crash_tree_remove(s->fd, all.data[i]))
			e = err_sys(errno, "cannot remove '%s' of '%s'", all.data[i], s->path);
		else
			how->removed(how->ctx, all.data[i] + 1, "unfinished crash", size);
	}
	names_free(&all);
	return e;
}

/* ---- the budget ------------------------------------------------------------------------------ */

static bool budget_is_kept(const struct crash_budget *b, uint64_t removed)
{
	return bytes_less(b->used, removed) <= b->limit && removed >= b->disk_needed;
}

static struct err *core_remove(const struct crash_store *s, const struct crash_entry *c,
			       const struct crash_gc *how)
{
	CLEANUP(fd) int dir = -1;

	if (how->is_dry)
		return NULL;
	dir = crash_entry_open(s, c->id);
	if (dir < 0)
		return NULL; /* it has gone */
	if ((unlinkat(dir, CRASH_FILE_CORE, 0) != 0 && errno != ENOENT) ||
	    (unlinkat(dir, CRASH_FILE_CORE_ZST, 0) != 0 && errno != ENOENT))
		return err_sys(errno, "cannot remove the core of crash '%s'", c->id);
	return NULL;
}

static struct err *entry_remove(const struct crash_store *s, const struct crash_entry *c,
				const struct crash_gc *how)
{
	if (!how->is_dry && !crash_tree_remove(s->fd, c->id) && errno != ENOENT)
		return err_sys(errno, "cannot remove crash '%s'", c->id);
	return NULL;
}

static struct err *budget_keep(const struct crash_store *s, const crash_entries *all,
			       const struct crash_budget *b, const struct crash_gc *how)
{
	uint64_t removed = 0, size;
	struct err *e = NULL;

	for (uint32_t i = all->len; i-- && !e && !budget_is_kept(b, removed);) {
		size = all->data[i].core_size;
		if (!size)
			continue;
		e = core_remove(s, &all->data[i], how);
		removed += size;
		how->removed(how->ctx, all->data[i].id, "core", size);
	}
	for (uint32_t i = all->len; i-- && !e && !budget_is_kept(b, removed);) {
		size = folder_size(s->fd, all->data[i].id, 1);
		/* of a dry run, the core is still in it, and was counted above */
		size = how->is_dry ? bytes_less(size, all->data[i].core_size) : size;
		e = entry_remove(s, &all->data[i], how);
		removed += size;
		how->removed(how->ctx, all->data[i].id, "crash", size);
	}
	return e;
}

/* Forgets crash loops that have ended long ago. */
static void counts_forget(const struct crash_store *s)
{
	int fd = openat(s->fd, CRASH_STORE_COUNTS, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *d;
	struct stat st;

	if (!dir && fd >= 0)
		(void)close(fd);
	while (dir && (d = readdir(dir)))
		if (fstatat(dirfd(dir), d->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISREG(st.st_mode) && time(NULL) - st.st_mtime > COUNT_DAYS * SECONDS_PER_DAY)
			(void)unlinkat(dirfd(dir), d->d_name, 0);
	if (dir)
		(void)closedir(dir);
}

struct err *crash_gc_run(const struct crash_store *s, const struct crash_gc *how)
{
	struct crash_budget b;
	crash_entries all = {0};
	struct err *e = unfinished_remove(s, how);

	if (!e)
		e = crash_budget_read(s, how->limit, &b);
	if (!e)
		e = crash_entries_read(s, &all);
	if (!e)
		e = budget_keep(s, &all, &b, how);
	if (!how->is_dry)
		counts_forget(s);
	crash_entries_deinit(&all);
	return e;
}
