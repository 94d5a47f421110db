/* SPDX-License-Identifier: MIT */
/* Runs code without rights, and opens files for it. */
#include "crash/confine.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "arch/arch.h"
#include "files/gate.h"

#define REQUESTS_MAX 20000u
#define FILE_MAX     (4ull << 30) /* bytes that may be written to a file */
#define NOBODY	     65534

void confined_user(uid_t *ret_uid, gid_t *ret_gid)
{
	/* the file itself: the services of the C library may wait for a network */
	CLEANUP(file) FILE *f = fopen("/etc/passwd", "re");
	struct passwd *p;

	*ret_uid = *ret_gid = NOBODY;
	while (f && (p = fgetpwent(f))) {
		if (strcmp(p->pw_name, "_fathom-crash") != 0 || !p->pw_uid || !p->pw_gid)
			continue;
		*ret_uid = p->pw_uid;
		*ret_gid = p->pw_gid;
	}
}

/* ---- system calls ---------------------------------------------------------------------------- */

/* What neither the debugger nor a program over a core needs. */
static const uint16_t refused[] = {
	SYS_accept,
	SYS_accept4,
	SYS_acct,
	SYS_add_key,
	SYS_bind,
	SYS_bpf,
	SYS_chroot,
	SYS_connect,
	SYS_delete_module,
	SYS_execve,
	SYS_execveat,
	SYS_finit_module,
	SYS_fsopen,
	SYS_init_module,
	SYS_io_uring_enter,
	SYS_io_uring_register,
	SYS_io_uring_setup,
	SYS_kexec_file_load,
	SYS_kexec_load,
	SYS_keyctl,
	SYS_kill,
	SYS_listen,
	SYS_mknod,
	SYS_mknodat,
	SYS_mount,
	SYS_mount_setattr,
	SYS_move_mount,
	SYS_name_to_handle_at,
	SYS_open_by_handle_at,
	SYS_open_tree,
	SYS_perf_event_open,
	SYS_pidfd_getfd,
	SYS_pidfd_send_signal,
	SYS_pivot_root,
	SYS_process_vm_readv,
	SYS_process_vm_writev,
	SYS_ptrace,
	SYS_reboot,
	SYS_request_key,
	SYS_rt_sigqueueinfo,
	SYS_rt_tgsigqueueinfo,
	SYS_setdomainname,
	SYS_sethostname,
	SYS_setns,
	SYS_socket,
	SYS_swapoff,
	SYS_swapon,
	SYS_syslog,
	SYS_tkill,
	SYS_umount2,
	SYS_unshare,
	SYS_userfaultfd,
};

/* False: the kernel has no filters. */
static bool calls_refuse(void)
{
	uint32_t machine = arch.elf.machine | __AUDIT_ARCH_64BIT | __AUDIT_ARCH_LE;
	struct sock_filter code[2 * ARRAY_LEN(refused) + 8];
	struct sock_fprog prog = {.filter = code};
	uint16_t n = 0;

	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						 offsetof(struct seccomp_data, arch));
	code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, machine, 1, 0);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						 offsetof(struct seccomp_data, nr));
	/* other tables of system calls have numbers from 2^30 on */
	code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 1u << 30, 0, 1);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	for (uint32_t i = 0; i < ARRAY_LEN(refused); i++) {
		code[n++] =
			(struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, refused[i], 0, 1);
		code[n++] =
			(struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
	}
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	prog.len = n;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) == 0;
}

/* ---- the process ----------------------------------------------------------------------------- */

static void limit_set(int which, rlim_t value)
{
	struct rlimit limit = {value, value}, before;

	if (getrlimit((__rlimit_resource_t)which, &before) == 0 && before.rlim_max < value)
		limit.rlim_cur = limit.rlim_max = before.rlim_max;
	(void)setrlimit((__rlimit_resource_t)which, &limit); /* the others still bound it */
}

/* The address sanitizer reserves terabytes of address space. gcc and clang name it differently. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif

static void limits_set(uint32_t seconds)
{
#if !defined(__SANITIZE_ADDRESS__)
	limit_set(RLIMIT_AS, CONFINED_MEMORY);
#endif
	limit_set(RLIMIT_CPU, seconds);
	limit_set(RLIMIT_FSIZE, FILE_MAX);
	limit_set(RLIMIT_CORE, 0);
	limit_set(RLIMIT_NOFILE, 4096);
	limit_set(RLIMIT_MEMLOCK, 0);
}

/* False: some right could not be given up. */
static bool rights_drop(uid_t uid, gid_t gid)
{
	if (geteuid() == 0) {
		/* it has no network where the kernel has such namespaces */
		(void)unshare(CLONE_NEWNET | CLONE_NEWIPC);
		if (setgroups(0, NULL) != 0 || setresgid(gid, gid, gid) != 0 ||
		    setresuid(uid, uid, uid) != 0 || setuid(0) == 0)
			return false;
	}
	return prctl(PR_SET_DUMPABLE, 0) == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

NORETURN static void confined_main(const struct confined *c, uint32_t seconds, int asks,
				   pid_t parent)
{
	sigset_t none;
	uid_t uid;
	gid_t gid;

	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	confined_user(&uid, &gid);
	(void)setsid();
	(void)umask(077);
	(void)setpriority(PRIO_PROCESS, 0, 10);
	limits_set(seconds);
	if (chdir("/") != 0 || !rights_drop(uid, gid) || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 ||
	    getppid() != parent || !calls_refuse())
		_exit(99);
	_exit(c->run(c->ctx, asks));
}

/* ---- files ----------------------------------------------------------------------------------- */

struct message {
	struct msghdr head;
	struct iovec part;
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
};

static void message_init(struct message *m, void *bytes, size_t size, bool has_fd)
{
	*m = (struct message){.part = {bytes, size}};
	m->head.msg_iov = &m->part;
	m->head.msg_iovlen = 1;
	if (!has_fd)
		return;
	m->head.msg_control = m->control.bytes;
	m->head.msg_controllen = sizeof(m->control.bytes);
}

int confined_open(void *ctx, const char *path)
{
	int *asks = ctx, sys = EPIPE, fd = -1;
	struct cmsghdr *c;
	struct message m;

	if (send(*asks, path, strlen(path), MSG_NOSIGNAL) < 0)
		return -1;
	message_init(&m, &sys, sizeof(sys), true);
	if (recvmsg(*asks, &m.head, MSG_CMSG_CLOEXEC) != sizeof(sys))
		sys = EPIPE;
	c = CMSG_FIRSTHDR(&m.head);
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
		memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	if (fd < 0)
		errno = sys ? sys : EACCES;
	return fd;
}

/* Opens an ELF file with the rights of the crashed process. */
static struct gate_file *file_open(struct gate *g, const struct confined *c, const char *path)
{
	struct gate_file *f;
	char magic[SELFMAG];
	int sys;

	if (c->fs_uid == UINT32_MAX || path[0] != '/' || strncmp(path, "/proc/", 6) == 0) {
		errno = EACCES;
		return NULL;
	}
	(void)setfsgid(c->fs_gid);
	(void)setfsuid(c->fs_uid);
	f = gate_open_path(g, -1, path);
	sys = errno;
	(void)setfsuid(geteuid());
	(void)setfsgid(getegid());
	errno = sys;
	if (f &&
	    (gate_file_read(f, magic, sizeof(magic), 0) != sizeof(magic) ||
	     memcmp(magic, ELFMAG, SELFMAG) != 0 || fcntl(gate_file_fd(f), F_GETFL) & O_PATH)) {
		gate_file_close(f);
		errno = EACCES;
		return NULL;
	}
	return f;
}

/* Answers one question; false: none comes any more. */
static bool request_serve(struct gate *g, const struct confined *c, int fd)
{
	char path[PATH_MAX];
	struct gate_file *f;
	struct cmsghdr *h;
	struct message m;
	int sys = 0, given;
	ssize_t n = recv(fd, path, sizeof(path), MSG_TRUNC);

	if (n <= 0)
		return false;
	if ((size_t)n >= sizeof(path) || memchr(path, '\0', (size_t)n)) {
		sys = ENAMETOOLONG;
		f = NULL;
	} else {
		path[n] = '\0';
		f = file_open(g, c, path);
		sys = f ? 0 : errno;
	}
	message_init(&m, &sys, sizeof(sys), f != NULL);
	if (f) {
		given = gate_file_fd(f);
		h = CMSG_FIRSTHDR(&m.head);
		h->cmsg_level = SOL_SOCKET;
		h->cmsg_type = SCM_RIGHTS;
		h->cmsg_len = CMSG_LEN(sizeof(given));
		memcpy(CMSG_DATA(h), &given, sizeof(given));
	}
	/* one that asks and does not read the answers must not make us wait for it */
	n = sendmsg(fd, &m.head, MSG_NOSIGNAL | MSG_DONTWAIT);
	gate_file_close(f);
	return n == sizeof(sys);
}

/* ---- the cgroup ------------------------------------------------------------------------------ */

static void text_write(const char *folder, const char *name, const char *text)
{
	CLEANUP(fd) int dir = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	CLEANUP(fd) int fd = dir < 0 ? -1 : openat(dir, name, O_WRONLY | O_CLOEXEC);

	if (fd >= 0)
		(void)!write(fd, text, strlen(text)); /* the limits of the process still hold */
}

/* Bounds its memory and processor time, where that can be done. */
static bool cgroup_make(pid_t pid, char *path, size_t size)
{
	char number[16];

	(void)snprintf(path, size, "/sys/fs/cgroup/fathom-crash-%d", (int)pid);
	if (geteuid() != 0 || mkdir(path, 0755) != 0)
		return false;
	(void)snprintf(number, sizeof(number), "%d", (int)pid);
	text_write(path, "memory.max", "536870912");
	text_write(path, "pids.max", "64");
	text_write(path, "cpu.max", "50000 100000");
	text_write(path, "cgroup.procs", number);
	return true;
}

/* ---- the parent ------------------------------------------------------------------------------ */

static struct err *status_err(int status, bool is_late, uint32_t seconds)
{
	if (is_late)
		return err_sys(ETIMEDOUT, "it took longer than %u s", seconds);
	if (WIFSIGNALED(status))
		return err_new("it was ended by signal %d", WTERMSIG(status));
	if (WEXITSTATUS(status) == 99)
		return err_new("its rights could not be given up");
	return WEXITSTATUS(status) ? err_new("it has failed with status %d", WEXITSTATUS(status))
				   : NULL;
}

static int child_wait(const struct confined *c, pid_t pid, int pidfd, int asks, uint32_t seconds,
		      bool *ret_is_late)
{
	uint64_t end = now_ns() + seconds * 1000000000ull;
	struct gate *g = gate_create();
	bool is_over = false;
	uint32_t n = 0;
	int status;

	while (!is_over && !*ret_is_late) {
		struct pollfd list[2] = {{.fd = pidfd, .events = POLLIN},
					 {.fd = asks, .events = POLLIN}};
		uint64_t now = now_ns();

		if (now < end)
			(void)poll(list, asks < 0 ? 1 : 2, (int)((end - now) / 1000000) + 1);
		*ret_is_late = now >= end;
		is_over = list[0].revents != 0;
		if (!is_over && asks >= 0 && list[1].revents &&
		    (n++ > REQUESTS_MAX || !request_serve(g, c, asks)))
			asks = -1;
	}
	if (*ret_is_late)
		(void)kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	gate_destroy(g);
	return status;
}

struct err *confined_run(const struct confined *c)
{
	uint32_t seconds = c->seconds ? c->seconds : CONFINED_SECONDS;
	CLEANUP(fd) int ours = -1, pidfd = -1;
	bool is_late = false, has_cgroup;
	pid_t pid, parent = getpid();
	char cgroup[64];
	int pair[2], status;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		return err_sys(errno, "cannot make a socket");
	(void)fflush(NULL);
	pid = fork();
	if (pid == 0) {
		(void)close(pair[0]);
		confined_main(c, seconds, pair[1], parent);
	}
	(void)close(pair[1]);
	ours = pair[0];
	if (pid < 0)
		return err_sys(errno, "cannot make a process");
	has_cgroup = cgroup_make(pid, cgroup, sizeof(cgroup));
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (pidfd < 0) {
		struct err *e = err_sys(errno, "cannot wait for a process");

		(void)kill(pid, SIGKILL);
		(void)waitpid(pid, NULL, 0);
		return e;
	}
	status = child_wait(c, pid, pidfd, ours, seconds, &is_late);
	if (has_cgroup) { /* with what it has left behind */
		text_write(cgroup, "cgroup.kill", "1");
		(void)rmdir(cgroup);
	}
	return status_err(status, is_late, seconds);
}
