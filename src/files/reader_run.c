/* SPDX-License-Identifier: MIT */
/*
 * The reader's own process (reader.h).
 *
 * The process may have been cloned while other threads held locks of the C library, so it must not
 * use malloc or stdio streams.
 */
#include "files/reader_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>

#include "base/apart.h"

#define CONFIGFS_MAGIC 0x62656570 /* Linux fs/configfs/mount.c */

struct state {
	struct reader_area *area;
	int fd; /* the file that is open; -1 = none */
};

/* ---- requests -------------------------------------------------------------------------------- */

/* A close may wait for the server, too (FUSE_FLUSH); is_closing shows the tracer that it does. */
static void file_close(struct state *s)
{
	if (s->fd < 0)
		return;
	__atomic_store_n(&s->area->is_closing, true, __ATOMIC_RELEASE);
	(void)close(s->fd);
	__atomic_store_n(&s->area->is_closing, false, __ATOMIC_RELEASE);
	s->fd = -1;
}

/*
 * Whether nobody says in which file system the file is: the program that serves it (FUSE) has no
 * such answer, or a filter of system calls forbids the question. Those that are left alone answer.
 */
static bool is_unanswered(int sys)
{
	return sys == ENOSYS || sys == EPERM || sys == EACCES;
}

int reader_found_check(int fd, struct stat *ret)
{
	struct statfs fs;

	if (fd < 0 || fstat(fd, ret) != 0)
		return errno;
	if (!S_ISREG(ret->st_mode))
		return EINVAL;
	if (fstatfs(fd, &fs) != 0)
		return is_unanswered(errno) ? 0 : errno;
	switch ((unsigned int)fs.f_type) {
	case PROC_SUPER_MAGIC:
	case SYSFS_MAGIC:
	case TRACEFS_MAGIC:
	case DEBUGFS_MAGIC:
	case SECURITYFS_MAGIC:
	case SELINUX_MAGIC:
	case SMACK_MAGIC:
	case CONFIGFS_MAGIC:
	case CGROUP_SUPER_MAGIC:
	case CGROUP2_SUPER_MAGIC:
	case RDTGROUP_SUPER_MAGIC:
	case BPF_FS_MAGIC:
	case PSTOREFS_MAGIC:
	case EFIVARFS_MAGIC:
	case BINFMTFS_MAGIC:
	case NSFS_MAGIC: return EINVAL;
	}
	return 0;
}

int reader_fd_open(int fd)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

/* Opens the file that a descriptor of O_PATH has found, if it is one to read. Returns errno. */
static int file_take(struct state *s, int found)
{
	int sys = reader_found_check(found, &s->area->st);

	if (sys)
		return sys;
	s->fd = reader_fd_open(found);
	return s->fd < 0 ? errno : 0;
}

static int path_find(const struct reader_area *a, int root)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT};

	if (root < 0)
		return open(a->path, O_PATH | O_CLOEXEC);
	return (int)syscall(SYS_openat2, root, a->path, &how, sizeof(how));
}

static int mapping_find(const struct reader_area *a)
{
	char path[96];

	(void)snprintf(path, sizeof(path), "/proc/%" PRIu64 "/map_files/%" PRIx64 "-%" PRIx64,
		       a->pid, a->start, a->end);
	return open(path, O_PATH | O_CLOEXEC);
}

static int file_read(struct state *s)
{
	struct reader_area *a = s->area;
	size_t size = MIN(a->size, sizeof(a->data));

	for (a->n = 0; a->n < size;) {
		ssize_t n = pread(s->fd, a->data + a->n, size - a->n, (off_t)(a->off + a->n));

		if (n < 0)
			return errno;
		if (n == 0)
			break;
		a->n += (size_t)n;
	}
	return 0;
}

static int memory_read(struct reader_area *a)
{
	size_t size = MIN(a->size, sizeof(a->data));
	struct iovec to = {a->data, size}, from = {(void *)(uintptr_t)a->start, size};
	/* The last argument is on the stack, where an int has half of its slot only. */
	ssize_t n = syscall(SYS_process_vm_readv, (pid_t)a->pid, &to, 1, &from, 1, 0ul);

	a->n = n > 0 ? (size_t)n : 0;
	return n < 0 ? errno : 0;
}

/* Returns errno. with: the request's descriptor; *ret_fd: the descriptor to send back. */
static int request_do(struct state *s, int with, int *ret_fd)
{
	struct reader_area *a = s->area;
	int sys, found;

	switch (a->op) {
	case READER_OPEN_PATH:
	case READER_OPEN_MAPPING:
		file_close(s);
		found = a->op == READER_OPEN_PATH ? path_find(a, with) : mapping_find(a);
		sys = file_take(s, found);
		if (!sys)
			*ret_fd = found;
		else if (found >= 0)
			(void)close(found);
		return sys;
	case READER_REOPEN: file_close(s); return file_take(s, with);
	case READER_STAT: return fstat(s->fd, &a->st) == 0 ? 0 : errno;
	case READER_READ: return file_read(s);
	case READER_MEMORY: return memory_read(a);
	}
	return EINVAL;
}

static bool request_serve(struct state *s, int sock)
{
	int with, with_answer = -1;
	bool is_there;

	if (!reader_receive(sock, &with))
		return false;
	errno = EBADF;
	s->area->sys = request_do(s, with, &with_answer);
	is_there = reader_send(sock, with_answer);
	if (with >= 0)
		(void)close(with); /* an O_PATH descriptor: does not wait for the server */
	if (with_answer >= 0)
		(void)close(with_answer);
	return is_there;
}

/* ---- confinement ----------------------------------------------------------------------------- */

static void caps_drop(void)
{
	static const unsigned int kept[] = {CAP_DAC_READ_SEARCH, CAP_SYS_PTRACE,
					    CAP_CHECKPOINT_RESTORE};
	struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};
	uint32_t mask[_LINUX_CAPABILITY_U32S_3] = {0};

	for (size_t i = 0; i < ARRAY_LEN(kept); i++)
		mask[kept[i] / 32] |= 1u << kept[i] % 32;
	if (syscall(SYS_capget, &head, data) != 0)
		return;
	for (size_t i = 0; i < ARRAY_LEN(data); i++) {
		data[i].permitted &= mask[i];
		data[i].effective &= mask[i];
		data[i].inheritable = 0;
	}
	(void)syscall(SYS_capset, &head, data);
}

#ifdef __aarch64__
#define AUDIT_ARCH_OURS AUDIT_ARCH_AARCH64
#else
#define AUDIT_ARCH_OURS AUDIT_ARCH_X86_64
#endif

/* clang-format off */
#define IF_CALL(number) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1), \
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
/* clang-format on */

/* Makes the kernel end the process at any system call that the functions above do not need. */
static void calls_limit(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_OURS, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		IF_CALL(SYS_pread64),
		IF_CALL(SYS_process_vm_readv),
		IF_CALL(SYS_recvmsg),
		IF_CALL(SYS_sendmsg),
		IF_CALL(SYS_openat),
		IF_CALL(SYS_openat2),
		IF_CALL(SYS_close),
		IF_CALL(SYS_fstat),
		IF_CALL(SYS_newfstatat),
		IF_CALL(SYS_fstatfs),
		IF_CALL(SYS_restart_syscall),
		IF_CALL(SYS_exit_group),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog prog = {ARRAY_LEN(filter), filter};

	/* On a kernel without seccomp the reader works, and is not confined. */
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	(void)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog);
}

void reader_run(struct reader_area *area, int sock, pid_t parent)
{
	struct state s = {area, -1};

	apart_begin("file-reader", parent, &sock, 1);
	caps_drop();
	/*
	 * The end of the tracer closes the socket, but only SIGKILL ends a wait for a file system.
	 * The signal comes, too, when the thread that made the reader ends: then the next request
	 * fails with EPIPE, and another reader is made. prctl() must follow capset(), which clears
	 * the setting.
	 */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	calls_limit();
	while (request_serve(&s, sock))
		;
	_exit(0);
}
