/* SPDX-License-Identifier: MIT */
/*
 * Where tracefs is mounted.
 */
#include "kernel/kernel.h"

#include <errno.h>
#include <mntent.h>
#include <pthread.h>
#include <sys/mount.h>

#define STANDARD_PATH "/sys/kernel/tracing"

/* The first tracefs that is mounted; false: none. */
static bool mount_find(char *path, size_t size)
{
	FILE *f = setmntent("/proc/self/mounts", "re");
	struct mntent ent, *m;
	char text[4096];
	bool is_found = false;

	if (!f)
		return false;
	while (!is_found && (m = getmntent_r(f, &ent, text, sizeof(text)))) {
		is_found = strcmp(m->mnt_type, "tracefs") == 0 && strlen(m->mnt_dir) < size;
		if (is_found)
			(void)snprintf(path, size, "%s", m->mnt_dir);
	}
	(void)endmntent(f);
	return is_found;
}

/* Leaves the path in path, unless it is there already. */
static struct err *path_make(char *path, size_t size)
{
	if (path[0] == '\0' && !mount_find(path, size)) {
		if (mount("tracefs", STANDARD_PATH, "tracefs", 0, NULL) && errno != EBUSY) {
			struct err *e =
				err_sys(errno, "cannot mount tracefs at '%s'", STANDARD_PATH);

			return err_hint(e, "try: mount -t tracefs tracefs %s", STANDARD_PATH);
		}
		(void)snprintf(path, size, "%s", STANDARD_PATH);
	}
	return NULL;
}

struct err *tracefs_path(const char **ret_path)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static char path[256]; /* of the process: a mount does not move while we run */
	struct err *e;

	(void)pthread_mutex_lock(&lock);
	e = path_make(path, sizeof(path));
	(void)pthread_mutex_unlock(&lock);
	if (!e)
		*ret_path = path;
	return e;
}
