/* SPDX-License-Identifier: MIT */
/*
 * Files that a process is to have made in memory: one that it has put in their place, and that it
 * may only read, is not opened for writing.
 */
#include <fcntl.h>
#include <sys/fsuid.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>

#include "dtrace.h"
#include "patch/memory_file.h"
#include "tap.h"

#define SIZE  8192u
#define OTHER 12345u /* a user without files */

static pid_t me;

/* Whether it is opened, for writing; else it must be refused by that code. */
static bool is_opened(const char *path, pid_t tid, uint64_t size)
{
	int fd = 9;
	struct err *e = memory_file_open(path, tid, size, &fd);
	bool done = !e && (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDWR;

	if (e)
		printf("# %s\n", err_text(e));
	if (e && (fd != -1 || err_get_code(e) != EDT_NOTSUP))
		BUG("a refusal without its code");
	if (fd >= 0)
		(void)close(fd);
	err_destroy(e);
	return done;
}

static bool fd_is_opened(int fd, pid_t tid, uint64_t size)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)me, fd);
	return is_opened(path, tid, size);
}

static bool map_is_opened(const void *at, pid_t tid, uint64_t size)
{
	unsigned long from = (unsigned long)(uintptr_t)at;
	char path[96];

	(void)snprintf(path, sizeof(path), "/proc/%d/map_files/%lx-%lx", (int)me, from,
		       from + SIZE);
	return is_opened(path, tid, size);
}

static void test_descriptors(void)
{
	CLEANUP(fd) int own = memfd_create("own", MFD_CLOEXEC);
	char path[] = "/tmp/memory_file.XXXXXX";
	int file = mkstemp(path), fds[2];
	struct stat st;

	ok(fd_is_opened(own, me, 0) && fd_is_opened(own, 0, 0), "a file in memory is opened");
	ok(ftruncate(own, SIZE) == 0 && !fd_is_opened(own, me, 0), "but not one that has bytes");
	ok(fd_is_opened(own, me, SIZE) && fd_is_opened(own, me, MEMORY_FILE_ANY),
	   "unless it is to have them");
	ok(!fd_is_opened(file, me, 0), "a file with a name is refused");
	(void)unlink(path);
	ok(!fd_is_opened(file, me, 0) && !fd_is_opened(file, 0, MEMORY_FILE_ANY),
	   "as is one that has lost it");
	(void)close(file);
	if (pipe(fds))
		BUG("pipe");
	ok(!fd_is_opened(fds[0], me, MEMORY_FILE_ANY), "a pipe is refused");
	(void)close(fds[0]);
	(void)close(fds[1]);
	ok(!fd_is_opened(1000000, me, 0), "as is a descriptor that there is not");
	ok(!is_opened("/dev/zero", me, MEMORY_FILE_ANY), "and a device");
	ok(fstat(own, &st) == 0 && st.st_size == SIZE, "no file has changed");
}

static void test_mappings(void)
{
	uint8_t *at = mmap(NULL, SIZE, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	char path[] = "/tmp/memory_file.XXXXXX";
	int file = mkstemp(path);

	if (at == MAP_FAILED || file < 0 || ftruncate(file, SIZE) || fchmod(file, 0444))
		BUG("mmap");
	ok(map_is_opened(at, me, SIZE), "memory without a file is opened");
	ok(!map_is_opened(at, me, 2 * SIZE), "but not with another size");
	if (mmap(at, SIZE, PROT_READ, MAP_SHARED | MAP_FIXED, file, 0) != at)
		BUG("mmap");
	ok(!map_is_opened(at, me, SIZE), "a file that was mapped over it is refused");
	(void)unlink(path);
	ok(!map_is_opened(at, me, SIZE), "also without a name");
	(void)close(file);
	(void)munmap(at, SIZE);
	ok(!map_is_opened(at, me, SIZE), "as is a mapping that there is not");
}

/* Shared memory of another user, which the process may read, looks the same but for its owner. */
static void test_users(void)
{
	CLEANUP(fd) int own = memfd_create("own", MFD_CLOEXEC);
	int id = shmget(IPC_PRIVATE, SIZE, IPC_CREAT | 0644);
	void *at = id >= 0 ? shmat(id, NULL, SHM_RDONLY) : (void *)-1;
	CLEANUP(fd) int theirs = -1;

	if (id >= 0)
		(void)shmctl(id, IPC_RMID, NULL);
	(void)setfsuid(OTHER);
	theirs = memfd_create("theirs", MFD_CLOEXEC);
	(void)setfsuid(0);
	ok(!fd_is_opened(theirs, me, 0) && fd_is_opened(theirs, 0, 0),
	   "a file of another user is refused");
	if (at != (void *)-1)
		ok(map_is_opened(at, me, SIZE), "shared memory of the user is opened");
	else
		ok(true, "shared memory # SKIP the kernel has none");
	(void)setfsuid(OTHER);
	ok(!fd_is_opened(own, me, 0),
	   "a thread that makes files as another user owns none of these");
	ok(at == (void *)-1 || !map_is_opened(at, me, SIZE), "nor the shared memory");
	(void)setfsuid(0);
}

int main(void)
{
	if (geteuid()) {
		printf("1..0 # SKIP needs privilege\n");
		return 0;
	}
	me = getpid();
	test_descriptors();
	test_mappings();
	test_users();
	return tap_done();
}
