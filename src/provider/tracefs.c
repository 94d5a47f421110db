/* SPDX-License-Identifier: MIT */
/*
 * What tracefs has: its directories, the names of its events.
 *
 * Where tracefs is not mounted, an instance is mounted that only this process sees: nothing is left
 * behind, and the view of others does not change.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <sys/syscall.h>

#include "base/str.h"
#include "provider/providers.h"

static int tracefs_mount(void)
{
	CLEANUP(fd) int fs = (int)syscall(SYS_fsopen, "tracefs", FSOPEN_CLOEXEC);

	if (fs < 0 || syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) != 0)
		return -1;
	return (int)syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, 0);
}

int tracefs_open_dir(const char *path)
{
	static const char *const mounts[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
	CLEANUP(fd) int mnt = -1;

	for (size_t i = 0; i < ARRAY_LEN(mounts); i++) {
		CLEANUP(fd) int root = open(mounts[i], O_PATH | O_DIRECTORY | O_CLOEXEC);
		int fd;

		/* the folder is there, empty, where nothing is mounted */
		if (root < 0 || faccessat(root, "available_events", F_OK, 0) != 0)
			continue;
		fd = openat(root, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd >= 0)
			return fd;
	}
	mnt = tracefs_mount();
	return mnt < 0 ? -1 : openat(mnt, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

int tracefs_read(const char *path, struct strbuf *ret)
{
	CLEANUP(fd) int dir = tracefs_open_dir(".");
	CLEANUP(fd) int fd = dir < 0 ? -1 : openat(dir, path, O_RDONLY | O_CLOEXEC);
	char buf[65536];
	ssize_t n;

	if (fd < 0)
		return errno;
	while ((n = read(fd, buf, sizeof(buf))) > 0)
		strbuf_add(ret, buf, (size_t)n);
	return n < 0 ? errno : 0;
}

bool is_tracepoint_name(const char *name)
{
	bool has_small = !*name;

	for (; *name; name++) {
		if (*name == '-')
			return false;
		has_small |= (*name >= 'a' && *name <= 'z') || strchr("*?[\\", *name);
	}
	return has_small;
}
