/* SPDX-License-Identifier: MIT */
/* The reader's requests to file systems that answer, and the table of these. */
#include "files/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "files/mounts.h"
#include "tap.h"

#define PATIENCE_NS 10000000000ull /* for an answer; nothing here waits for it to pass */

static uint64_t deadline(void)
{
	return now_ns() + PATIENCE_NS * tap_patience();
}

/* ---- the reader ------------------------------------------------------------------------------ */

static void test_path(struct reader *r)
{
	char byte[4] = "", dir[] = "/tmp/readerXXXXXX", path[64];
	struct stat st, again;
	size_t n = 9;
	int fd = -1;
	FILE *f;

	if (!mkdtemp(dir)) {
		ok(false, "a folder");
		return;
	}
	(void)snprintf(path, sizeof(path), "%s/file", dir);
	f = fopen(path, "we");
	ok(f && fputs("text", f) >= 0 && fclose(f) == 0, "a file");
	is_int(reader_open_path(r, -1, path, deadline(), &fd, &st), 0, "opens a path");
	is_int(st.st_size, 4, "with its size");
	is_int(fcntl(fd, F_GETFL) & O_PATH, O_PATH,
	       "the caller gets a descriptor to find it again");
	is_int(reader_read(r, 1, byte, 2, deadline(), &n), 0, "reads");
	ok(n == 2 && memcmp(byte, "ex", 2) == 0, "from an offset");
	is_int(reader_read(r, 3, byte, 4, deadline(), &n), 0, "reads at the end");
	is_int(n, 1, "what there is");
	is_int(reader_reopen(r, fd, deadline()), 0, "opens it by that descriptor");
	is_int(reader_stat(r, deadline(), &again), 0, "and finds");
	ok(again.st_ino == st.st_ino && again.st_dev == st.st_dev, "the same file");
	(void)close(fd);
	(void)unlink(path);
	is_int(reader_open_path(r, -1, path, deadline(), &fd, &st), ENOENT,
	       "an error is the file system's");
	(void)rmdir(dir);
}

/*
 * The answer to reader_found_check() in a process in which fstatfs() fails with this errno; -1: it
 * could not be made to. A server of files (FUSE) that has no such answer makes it fail with ENOSYS.
 */
static int unanswered_check(int fd, int sys)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fstatfs, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)sys),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = {ARRAY_LEN(filter), filter};
	struct statfs fs;
	struct stat st;
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
		    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) != 0 ||
		    fstatfs(fd, &fs) == 0 || errno != sys)
			_exit(255);
		_exit(reader_found_check(fd, &st));
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status) == 255 ? -1 : WEXITSTATUS(status);
}

static void test_unanswered(void)
{
	static const int refused[] = {ENOSYS, EPERM, EACCES};
	int fd = open("/proc/self/exe", O_PATH | O_CLOEXEC);
	struct stat st;

	is_int(reader_found_check(fd, &st), 0, "a file on the disk is one to read");
	for (size_t i = 0; i < ARRAY_LEN(refused); i++)
		is_int(unanswered_check(fd, refused[i]), 0,
		       "and so is one of which nobody says where it is");
	is_int(unanswered_check(fd, EIO), EIO, "other errors stay errors");
	(void)close(fd);
	fd = open("/proc/self/maps", O_PATH | O_CLOEXEC);
	is_int(reader_found_check(fd, &st), EINVAL, "a file of /proc is none");
	(void)close(fd);
}

/* Nothing leads out of the root that was asked for. */
static void test_root(struct reader *r)
{
	int root = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC), fd = -1;
	struct stat st;
	int error = reader_open_path(r, root, "/../../../etc/passwd", deadline(), &fd, &st);

	ok(error && fd < 0, "a path stays below its root: %s", strerror(error));
	(void)close(root);
}

static void test_memory(struct reader *r)
{
	long page = sysconf(_SC_PAGESIZE);
	char *two = mmap(NULL, 2 * (size_t)page, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char got[16] = "";
	size_t n = 0;

	memset(two, 'x', 2 * (size_t)page);
	(void)munmap(two + page, (size_t)page);
	is_int(reader_memory(r, (uint64_t)getpid(), (uintptr_t)two, got, 8, deadline(), &n), 0,
	       "memory of a process");
	ok(n == 8 && memcmp(got, "xxxxxxxx", 8) == 0, "is read");
	is_int(reader_memory(r, (uint64_t)getpid(), (uintptr_t)(two + page - 4), got, 8, deadline(),
			     &n),
	       0, "of what is not all there");
	is_int(n, 4, "the first part is");
	ok(reader_memory(r, (uint64_t)getpid(), (uintptr_t)(two + page), got, 8, deadline(), &n) ==
			   EFAULT ||
		   n == 0,
	   "what is not there is not");
	(void)munmap(two, (size_t)page);
}

static void test_reader(void)
{
	struct reader *r = reader_create();

	if (!r) {
		ok(false, "a reader: %s", strerror(errno));
		return;
	}
	test_path(r);
	test_root(r);
	test_memory(r);
	ok(!reader_is_closing(r), "it waits for no close");
	is_int(reader_destroy(r), 0, "nothing holds it");
	is_int(reader_destroy(NULL), 0, "nor no reader");
}

/* ---- file systems that answer by themselves -------------------------------------------------- */

static void test_mounts(void)
{
	int proc = open("/proc/self/maps", O_PATH | O_CLOEXEC);
	int memory = (int)syscall(SYS_memfd_create, "mounts", MFD_CLOEXEC), ends[2] = {-1, -1};
	const struct mount *m;
	struct mounts ms;
	uint64_t id = 0;
	struct stat st;

	mounts_init(&ms);
	m = mounts_of_fd(&ms, proc);
	ok(m && strcmp(m->point, "/proc") == 0, "the mount of a descriptor");
	ok(m && mounts_id_of_fd(proc, &id) && id == m->id, "has its number");
	ok(m && m->is_harmless && mounts_is_fd_harmless(&ms, proc, 0), "/proc answers by itself");
	ok(fstat(proc, &st) == 0 && mounts_is_dev_harmless(&ms, st.st_dev),
	   "and so does its device");
	ok(mounts_is_fd_harmless(&ms, memory, 0), "memory does");
	ok(!mounts_is_dev_harmless(&ms, makedev(0, 1000000)), "an unknown device may not");
	m = mounts_of_path(&ms, "/proc/self/maps");
	ok(m && strcmp(m->point, "/proc") == 0, "the mount of a path");
	m = mounts_of_path(&ms, "/process");
	ok(m && strcmp(m->point, "/proc") != 0, "whose folders are compared, not their letters");
	ok(pipe(ends) == 0 && !mounts_of_fd(&ms, ends[0]), "a pipe is mounted nowhere");
	mounts_deinit(&ms);
	for (size_t i = 0; i < ARRAY_LEN(ends); i++)
		(void)close(ends[i]);
	(void)close(memory);
	(void)close(proc);
}

int main(void)
{
	test_reader();
	test_unanswered();
	test_mounts();
	return tap_done();
}
