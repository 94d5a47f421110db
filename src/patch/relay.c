/* SPDX-License-Identifier: MIT */
/*
 * The slots of relays: a file in memory that the process makes, maps privately and closes, and that
 * we open meanwhile.
 *
 * The process must make it, because what it maps must be a file that it has a descriptor of. Of a
 * private mapping it sees the file's pages until it changes one; that does the kernel, when it
 * places the first uprobe of a page.
 */
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "kernel/sys.h"
#include "patch/memory_file.h"
#include "patch/patch_impl.h"
#include "target/remote.h"

#ifndef MFD_EXEC /* Linux 105ff5339f49, v6.3 */
#define MFD_EXEC 0x10U
#endif

static const char file_name[] = "fathom-relays";

static int64_t relays_call(struct remote *r, long nr, uint64_t a, uint64_t b, uint64_t c,
			   uint64_t d, uint64_t e)
{
	const uint64_t args[6] = {a, b, c, d, e, 0};
	int64_t value;

	if (r->is_left)
		return -EIO;
	return remote_call(r, nr, args, &value) ? value : -(errno ? errno : EIO);
}

PRINTF_LIKE(2, 3) static void relays_refuse(struct patch *p, const char *fmt, ...)
{
	va_list ap;

	p->relays_size = 0;
	if (p->relays_lack)
		return;
	va_start(ap, fmt);
	if (vasprintf(&p->relays_lack, fmt, ap) < 0)
		oom();
	va_end(ap);
}

/* Has the process make the file; returns its descriptor there, or a negative errno. */
static int64_t file_make(struct patch *p, struct remote *r, taddr spare)
{
	int64_t fd;

	if (sys_pwrite(p->mem_fd, file_name, sizeof(file_name), spare) !=
	    (ssize_t)sizeof(file_name))
		return -EFAULT;
	fd = relays_call(r, SYS_memfd_create, spare, MFD_CLOEXEC | MFD_EXEC, 0, 0, 0);
	/* kernels before v6.3 know no such flag, and let each file be executed */
	return fd == -EINVAL ? relays_call(r, SYS_memfd_create, spare, MFD_CLOEXEC, 0, 0, 0) : fd;
}

/* Opens the file of the process for us, and gives it its size. */
static struct err *file_open(struct patch *p, pid_t tid, int64_t fd)
{
	char path[64];
	struct err *e;

	(void)snprintf(path, sizeof(path), "/proc/%d/fd/%lld", (int)p->pid, (long long)fd);
	e = memory_file_open(path, tid, 0, &p->relays_fd);
	if (!e && ftruncate(p->relays_fd, (off_t)p->relays_size))
		e = err_sys(errno, "cannot enlarge %s", path);
	return e;
}

void relays_map(struct patch *p, struct remote *r, taddr at, taddr spare)
{
	int64_t fd, value;
	struct err *e;

	if (!p->relays_size)
		return;
	fd = file_make(p, r, spare);
	if (fd < 0) {
		relays_refuse(p, "the process may make no file of code in memory: %s",
			      strerror((int)-fd));
		return;
	}
	e = file_open(p, r->tid, fd);
	if (e)
		relays_refuse(p, "its file in memory cannot be opened: %s", err_text(e));
	err_destroy(e);
	value = p->relays_size ? relays_call(r, SYS_mmap, at, p->relays_size, PROT_READ | PROT_EXEC,
					     MAP_PRIVATE | MAP_FIXED, (uint64_t)fd)
			       : 0;
	if (p->relays_size && value != (int64_t)at)
		relays_refuse(p, "the process may not execute a file in memory: %s",
			      strerror(value < 0 ? (int)-value : EEXIST));
	p->relays = at;
	value = relays_call(r, SYS_close, (uint64_t)fd, 0, 0, 0, 0);
	if (value)
		relays_refuse(p, "the process does not close its file in memory: %s",
			      strerror((int)-value));
}

void relays_deinit(struct patch *p)
{
	if (p->relays_fd >= 0)
		(void)close(p->relays_fd);
	free(p->relays_lack);
}

const char *patch_relays_lack(const struct patch *p)
{
	return p->relays_lack;
}

int patch_relays_fd(const struct patch *p)
{
	return p->relays_fd;
}

taddr patch_relays_addr(const struct patch *p)
{
	return p->relays;
}

struct err *patch_relays_write(struct patch *p, const void *from, size_t size)
{
	assert(size <= p->relays_size);
	if (sys_pwrite(p->relays_fd, from, size, 0) == (ssize_t)size)
		return NULL;
	return err_sys(errno, "cannot write the relays of process %d", (int)p->pid);
}
