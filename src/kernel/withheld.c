/* SPDX-License-Identifier: MIT */
/* Asks in which file system a file is. */
#include "kernel/withheld.h"

#include <errno.h>
#include <linux/magic.h>
#include <sys/vfs.h>

#include "kernel/capabilities.h"

struct err *withheld_check(int fd, const char *path)
{
	struct statfs fs;

	if (!capabilities_are_held())
		return NULL;
	if (fstatfs(fd, &fs) != 0)
		return err_sys(errno, "cannot ask for the file system of '%s'", path);
	if (fs.f_type != PROC_SUPER_MAGIC)
		return NULL;
	return err_hint(err_new("'%s' is a file of /proc, which says of dtrace itself what a user "
				"with levels must not know or change",
				path),
			"give another file, or a copy that was made by cat");
}
