/* SPDX-License-Identifier: MIT */
/* Makes sparse files for core files. */
#include "target/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#define PAGE	  4096u
#define ROOM_LEFT ((uint64_t)64 << 20)

static const char *temporary_folder(void)
{
	const char *folder = getenv("TMPDIR");

	return folder && folder[0] == '/' ? folder : "/var/tmp";
}

static int nameless_open(const char *folder)
{
	int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	CLEANUP(free) char *name = NULL;

	if (fd >= 0)
		return fd;
	/* the file system may not have files without a name */
	if (asprintf(&name, "%s/fathom-core-XXXXXX", folder) < 0)
		oom();
	fd = mkostemp(name, O_CLOEXEC);
	if (fd >= 0)
		(void)unlink(name);
	return fd;
}

/*
 * Opens a file that gets its name when it is complete, so that a command that is killed leaves
 * nothing. On a file system without files that have no name it has another one meanwhile.
 */
static int named_open(const char *path, char **ret_other)
{
	CLEANUP(free) char *copy = xstrdup(path);
	struct stat st;
	int fd;

	if (lstat(path, &st) == 0) {
		errno = EEXIST;
		return -1;
	}
	fd = open(dirname(copy), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR))
		return fd;
	if (asprintf(ret_other, "%s.XXXXXX", path) < 0)
		oom();
	return mkostemp(*ret_other, O_CLOEXEC);
}

struct err *scratch_create(const char *path, struct scratch *ret)
{
	struct scratch s = {.path = path, .where = path ? path : temporary_folder()};
	struct statvfs fs;

	s.fd = path ? named_open(path, &s.other) : nameless_open(s.where);
	*ret = s;
	if (s.fd < 0 && path)
		return err_sys(errno, "cannot make the file '%s'", path);
	if (s.fd < 0 || fstatvfs(s.fd, &fs) != 0)
		return err_hint(err_sys(errno, "cannot make a temporary file in '%s'", s.where),
				"TMPDIR=DIRECTORY names another directory");
	ret->room = (uint64_t)fs.f_bavail * fs.f_frsize;
	ret->room -= MIN(ret->room, ROOM_LEFT);
	return NULL;
}

static struct err *room_err(const struct scratch *s)
{
	struct err *e = err_new("'%s' has no room for it: %" PRIu64 " MB may be used", s->where,
				s->room >> 20);

	return s->path ? e
		       : err_hint(e, "TMPDIR=DIRECTORY names a directory on a larger file system");
}

static bool is_zero(const uint8_t *at, size_t size)
{
	return !at[0] && memcmp(at, at + 1, size - 1) == 0;
}

struct err *scratch_write(struct scratch *s, const void *from, size_t size, uint64_t off)
{
	const uint8_t *bytes = from;

	for (size_t at = 0, n; at < size; at += n) {
		ssize_t wrote;

		n = MIN(size - at, PAGE);
		if (is_zero(bytes + at, n))
			continue;
		while (at + n < size && !is_zero(bytes + at + n, MIN(size - at - n, PAGE)))
			n += MIN(size - at - n, PAGE);
		if (n > s->room - s->written)
			return room_err(s);
		wrote = pwrite(s->fd, bytes + at, n, (off_t)(off + at));
		if (wrote < 0 && errno != ENOSPC)
			return err_sys(errno, "cannot write to '%s'", s->where);
		if (wrote != (ssize_t)n)
			return room_err(s);
		s->written += n;
	}
	return NULL;
}

/* Gives the file its name; one that somebody else has made meanwhile is not overwritten. */
static bool name_give(struct scratch *s)
{
	char self[64];

	if (s->other) {
		if (link(s->other, s->path) != 0)
			return false;
		(void)unlink(s->other);
		return true;
	}
	(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", s->fd);
	return linkat(AT_FDCWD, self, AT_FDCWD, s->path, AT_SYMLINK_FOLLOW) == 0;
}

struct err *scratch_end(struct scratch *s, uint64_t size)
{
	if (ftruncate(s->fd, (off_t)size) != 0)
		return err_sys(errno, "cannot give a file in '%s' its size", s->where);
	if (s->path && !name_give(s))
		return err_sys(errno, "cannot make the file '%s'", s->path);
	free(s->other);
	s->other = NULL;
	return NULL;
}

void scratch_close(struct scratch *s)
{
	if (s->fd >= 0)
		(void)close(s->fd);
	if (s->fd >= 0 && s->other)
		(void)unlink(s->other);
	free(s->other);
	s->other = NULL;
	s->fd = -1;
}
