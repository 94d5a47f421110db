/* SPDX-License-Identifier: MIT */
/* Objects: the file of a region is made, mapped, and withdrawn. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "impl.h"
#include "stub.h"

#ifndef MFD_EXEC
#define MFD_EXEC 0x10u /* Linux 105ff5339f49, v6.3 */
#endif

#pragma weak _r_debug /* other C libraries, and static programs, have none */

/*
 * Calls the function that the dynamic linker calls when it has mapped or unmapped a library, and
 * does nothing itself: there debuggers and tracers that follow a process learn of new code.
 */
static void tracers_notify(void)
{
	if (&_r_debug && _r_debug.r_brk)
		((void (*)(void))_r_debug.r_brk)();
}

static int memory_file(const char *name)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);

	if (fd < 0 && errno == EINVAL) /* an older kernel does not know MFD_EXEC */
		fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	return fd;
}

/* Makes a file without a name in a new directory; tracers see its former name. */
static int unlinked_file(const char *parent, const char *name)
{
	char dir[256], path[512];
	int fd;

	if ((size_t)snprintf(dir, sizeof(dir), "%s/usdt-XXXXXX", parent) >= sizeof(dir)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	if (!mkdtemp(dir))
		return -1;
	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
	if (fd >= 0)
		(void)unlink(path); /* if it stays, a file is left behind: nothing else breaks */
	(void)rmdir(dir);
	return fd;
}

static int file_write(int fd, const struct image *im)
{
	size_t done = 0;

	while (done < im->size) {
		ssize_t n = write(fd, im->data + done, im->size - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		done += (size_t)n;
	}
	/* Nobody who opens the file can change it from now on; a kernel may lack this for files. */
	(void)fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
	return 0;
}

static void *counters_of(const struct region *r)
{
	return (void *)((uintptr_t)r->head + HALF);
}

/* Replaces the counters by zeros. Other threads may read them meanwhile. */
static void counters_clear(const struct region *r)
{
	if (mmap(counters_of(r), HALF, PROT_READ,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
		/* Without memory for a mapping, the old pages at least stop to count. */
		(void)mprotect(counters_of(r), HALF, PROT_READ);
}

/*
 * Maps the file: the counters first, so that the object is complete when a tracer learns of the
 * executable mapping. No memory is ever writable and executable.
 */
static int file_map(const struct region *r, int fd, const struct image *im, void *stubs)
{
	int error;

	if (mmap(counters_of(r), im->counters_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED,
		 fd, (off_t)im->counters_off) == MAP_FAILED)
		return -1;
	if (mmap(stubs, im->stubs_size, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd,
		 (off_t)im->stubs_off) != MAP_FAILED)
		return 0;
	error = errno;
	counters_clear(r);
	errno = error;
	return -1;
}

static int file_try(const struct region *r, int fd, const struct image *im, void *stubs)
{
	if (fd < 0)
		return -1;
	if (file_write(fd, im) == 0 && file_map(r, fd, im, stubs) == 0)
		return fd;
	int error = errno;

	(void)close(fd);
	errno = error;
	return -1;
}

/*
 * Returns the descriptor of the mapped file. A system may forbid to execute memory of
 * memfd_create() (vm.memfd_noexec, SELinux); then directories are tried.
 */
static int file_create(const struct region *r, const struct image *im, void *stubs)
{
	const char *dirs[] = {secure_getenv("XDG_RUNTIME_DIR"), secure_getenv("TMPDIR"), "/dev/shm",
			      "/tmp", "/var/tmp"};
	const char *name = r->provider->pub.module;
	int fd = file_try(r, memory_file(name), im, stubs);
	int error = errno;

	for (size_t i = 0; fd < 0 && i < sizeof(dirs) / sizeof(*dirs); i++)
		if (dirs[i] && dirs[i][0] == '/')
			fd = file_try(r, unlinked_file(dirs[i], name), im, stubs);
	errno = error;
	return fd;
}

static int failed(char *message, size_t size, const char *what)
{
	int error = errno;

	(void)snprintf(message, size, "%s: %s", what, strerror(error));
	return -1;
}

int object_publish(struct region *r, char *message, size_t size)
{
	size_t stubs_size = image_stubs_size(r->nslots);
	struct object *o = calloc(1, sizeof(*o));
	struct image im = {0};
	struct stat st = {0};

	if (STUB_MACHINE == EM_NONE) {
		(void)snprintf(message, size,
			       "cannot enable the provider: libusdt does not know this processor");
		free(o);
		return -1;
	}
	if (!o)
		return failed(message, size, "cannot enable the provider");
	o->stubs_size = stubs_size;
	o->stubs = mmap(NULL, stubs_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			-1, 0);
	if (o->stubs == MAP_FAILED) {
		free(o);
		return failed(message, size, "cannot enable the provider");
	}
	if (!image_make(r, (uintptr_t)o->stubs, &im)) {
		errno = ENOMEM;
		(void)failed(message, size, "cannot enable the provider");
	} else if ((o->fd = file_create(r, &im, o->stubs)) < 0) {
		(void)failed(
			message, size,
			"cannot enable the provider: cannot map executable memory: memfd_create(2) "
			"and a file in a temporary directory are both refused (a noexec mount, or "
			"SELinux without execmem?)");
	} else {
		if (fstat(o->fd, &st) == 0) {
			o->dev = st.st_dev;
			o->ino = st.st_ino;
		}
		free(im.data);
		r->object = o;
		atomic_store(&r->head->stubs, (uintptr_t)o->stubs);
		tracers_notify();
		return 0;
	}
	free(im.data);
	(void)munmap(o->stubs, stubs_size);
	free(o);
	return -1;
}

/* Closes the descriptor, unless the program has closed it already and uses its number. */
static void fd_close(const struct object *o)
{
	struct stat st;

	if (fstat(o->fd, &st) == 0 && st.st_dev == o->dev && st.st_ino == o->ino)
		(void)close(o->fd);
}

void garbage_unmap(struct region *r)
{
	if (!r->garbage || atomic_load(&r->head->nfiring))
		return;
	atomic_store(&r->head->has_garbage, false);
	while (r->garbage) {
		struct object *o = r->garbage;

		r->garbage = o->next;
		(void)munmap(o->stubs, o->stubs_size);
		free(o);
	}
}

/*
 * A thread that executes a stub leaves it within microseconds, unless a debugger stops it, or this
 * is a signal handler which has interrupted it. Such threads are not waited for.
 */
void object_withdraw(struct region *r)
{
	struct timespec pause = {.tv_nsec = 100000};
	struct object *o = r->object;

	if (!o)
		return;
	r->object = NULL;
	atomic_store(&r->head->stubs, 0);
	counters_clear(r);
	fd_close(o);
	o->next = r->garbage;
	r->garbage = o;
	atomic_store(&r->head->has_garbage, true);
	for (int i = 0; i < 20 && atomic_load(&r->head->nfiring); i++)
		(void)nanosleep(&pause, NULL);
	garbage_unmap(r);
	tracers_notify();
}
