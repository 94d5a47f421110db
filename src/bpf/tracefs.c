/*
 * Where tracefs is mounted.
 */
#include "bpf/kernel.h"

#include <errno.h>
#include <mntent.h>
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

struct err *tracefs_path(const char **ret_path)
{
	static char path[256]; /* of the process: a mount does not move while we run */

	if (path[0] == '\0' && !mount_find(path, sizeof(path))) {
		if (mount("tracefs", STANDARD_PATH, "tracefs", 0, NULL) && errno != EBUSY) {
			struct err *e =
				err_sys(errno, "cannot mount tracefs at '%s'", STANDARD_PATH);

			return err_hint(e, "try: mount -t tracefs tracefs %s", STANDARD_PATH);
		}
		(void)snprintf(path, sizeof(path), "%s", STANDARD_PATH);
	}
	*ret_path = path;
	return NULL;
}
