/* SPDX-License-Identifier: MIT */
/* Opens files that a process has made in memory. */
#include "patch/memory_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "dtrace.h"

/* The device of shared memory without a name, as memfd_create() and mmap() make it. */
static bool memory_device(dev_t *ret)
{
	CLEANUP(fd) int fd = memfd_create("fathom-device", MFD_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return false;
	*ret = st.st_dev;
	return true;
}

/* The user to whom files belong that the thread makes. */
static bool thread_fsuid(pid_t tid, uid_t *ret)
{
	char path[64], line[128];
	bool is_found = false;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)tid);
	f = fopen(path, "re");
	while (f && !is_found && fgets(line, sizeof(line), f))
		is_found = sscanf(line, "Uid:\t%*u\t%*u\t%*u\t%u", ret) == 1;
	if (f)
		(void)fclose(f);
	return is_found;
}

static struct err *file_verify(int fd, const char *path, pid_t tid, uint64_t size)
{
	struct stat st;
	dev_t device;
	uid_t uid;

	if (fstat(fd, &st) || !memory_device(&device))
		return err_sys(errno, "cannot look at %s", path);
	if (tid && !thread_fsuid(tid, &uid))
		return err_new("cannot read the user of thread %d", (int)tid);
	if (S_ISREG(st.st_mode) && !st.st_nlink && st.st_dev == device &&
	    (size == MEMORY_FILE_ANY || (uint64_t)st.st_size == size) && (!tid || st.st_uid == uid))
		return NULL;
	return err_new("the process has put another file in its place");
}

struct err *memory_file_open(const char *path, pid_t tid, uint64_t size, int *ret_fd)
{
	CLEANUP(fd) int fd = open(path, O_PATH | O_CLOEXEC);
	char self[64];
	struct err *e;

	*ret_fd = -1;
	if (fd < 0)
		return err_code(err_sys(errno, "cannot open %s", path), EDT_NOTSUP);
	e = file_verify(fd, path, tid, size);
	if (e)
		return err_code(e, EDT_NOTSUP);
	(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	*ret_fd = open(self, O_RDWR | O_CLOEXEC);
	return *ret_fd >= 0 ? NULL : err_code(err_sys(errno, "cannot open %s", path), EDT_NOTSUP);
}
