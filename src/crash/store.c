/* SPDX-License-Identifier: MIT */
/* The directory of captures, and files in it. */
#include "crash/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"

#define LEVELS_MAX 4u /* of directories in an entry */

char *path_join(const char *dir, const char *name)
{
	char *path;

	if (asprintf(&path, "%s/%s", dir, name) < 0)
		oom();
	return path;
}

struct err *crash_store_open(const char *path, struct crash_store *ret)
{
	CLEANUP(fd) int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 && errno == ENOENT)
		return err_hint(err_sys(errno, "there is no store of crashes '%s'", path),
				"'fathom-crash install' makes it");
	if (fd < 0 && errno == EACCES)
		return err_hint(err_sys(errno, "cannot read the store of crashes '%s'", path),
				"it belongs to root, because cores contain the memory of "
				"programs: try sudo, or have root run 'fathom-crash serve', which "
				"gives each user the crashes of their own programs");
	if (fd < 0 || fstat(fd, &st) != 0)
		return err_sys(errno, "cannot read the store of crashes '%s'", path);
	if (st.st_mode & (S_IWGRP | S_IWOTH) || (st.st_uid != 0 && st.st_uid != geteuid()))
		return err_hint(err_new("others can change the store of crashes '%s'", path),
				"chmod 700 '%s', and look at whose it is", path);
	ret->path = xstrdup(path);
	ret->fd = fd_take(&fd);
	return NULL;
}

void crash_store_close(struct crash_store *s)
{
	if (s->path && !s->users)
		(void)close(s->fd);
	free(s->path);
	free(s->users);
	*s = (struct crash_store){0};
}

int crash_file_open(int dir, const char *name)
{
	CLEANUP(fd)
	int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) != 0)
		return -1;
	if (!S_ISREG(st.st_mode)) {
		errno = EINVAL;
		return -1;
	}
	return fd_take(&fd);
}

struct err *crash_fd_read(int fd, const char *name, size_t max, struct strbuf *ret)
{
	size_t begin = ret->len;
	ssize_t n;

	do {
		size_t room = MIN(max + 1 - (ret->len - begin), (size_t)65536);

		n = read(fd, strbuf_room(ret, room), room);
		if (n > 0)
			strbuf_wrote(ret, (size_t)n);
	} while (n > 0 && ret->len - begin <= max);
	if (n < 0)
		return err_sys(errno, "cannot read '%s'", name);
	if (ret->len - begin > max)
		return err_new("'%s' is longer than %zu bytes", name, max);
	return NULL;
}

struct err *crash_file_read(int dir, const char *name, size_t max, struct strbuf *ret)
{
	CLEANUP(fd) int fd = crash_file_open(dir, name);

	return fd < 0 ? err_sys(errno, "cannot read '%s'", name)
		      : crash_fd_read(fd, name, max, ret);
}

static bool bytes_write(int fd, const char *text, size_t len)
{
	while (len) {
		ssize_t n = write(fd, text, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		text += n;
		len -= (size_t)n;
	}
	return true;
}

struct err *crash_file_write(int dir, const char *name, const char *text, size_t len)
{
	const char *last = strrchr(name, '/') ? strrchr(name, '/') + 1 : name;
	CLEANUP(free) char *other = NULL;
	CLEANUP(fd) int fd = -1;

	if (asprintf(&other, "%.*s.%s.%d", (int)(last - name), name, last, (int)getpid()) < 0)
		oom();
	(void)unlinkat(dir, other, 0);
	fd = openat(dir, other, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_sys(errno, "cannot write '%s'", name);
	if (!bytes_write(fd, text, len) || fsync(fd) != 0 || renameat(dir, other, dir, name) != 0) {
		struct err *e = err_sys(errno, "cannot write '%s'", name);

		(void)unlinkat(dir, other, 0);
		return e;
	}
	return NULL;
}

/* Removes what a directory has. */
static bool folder_empty(int fd, uint32_t levels)
{
	DIR *dir = fdopendir(fd);
	bool is_good = true;
	struct dirent *d;

	if (!dir) {
		(void)close(fd);
		return false;
	}
	while ((d = readdir(dir))) {
		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
			continue;
		if (unlinkat(dirfd(dir), d->d_name, 0) == 0)
			continue;
		if (levels && (errno == EISDIR || errno == EPERM)) {
			int below = openat(dirfd(dir), d->d_name,
					   O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

			if (below >= 0 && folder_empty(below, levels - 1) &&
			    unlinkat(dirfd(dir), d->d_name, AT_REMOVEDIR) == 0)
				continue;
		}
		is_good = false;
	}
	(void)closedir(dir);
	return is_good;
}

bool crash_tree_remove(int dir, const char *name)
{
	int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd >= 0 && folder_empty(fd, LEVELS_MAX) && unlinkat(dir, name, AT_REMOVEDIR) == 0;
}
