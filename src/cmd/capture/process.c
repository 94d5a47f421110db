/* SPDX-License-Identifier: MIT */
/*
 * Who has crashed.
 *
 * A pid is a number that another process can have a moment later, with other rights. The process
 * that the kernel dumps keeps its pid until its core has ended: as long as the other end of our
 * pipe is open, and what is opened in its folder of /proc stays with it.
 */
#include "base/base.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "cmd/capture/capture.h"

const char *const way_names[] = {
	[WAY_PIPE] = "pipe",
	[WAY_PIDFD] = "pidfd",
	[WAY_SOCKET] = "socket",
};

/* struct pidfd_info and its ioctl, Linux 6.13; the mask of core dumps is of 6.16. */
struct info {
	u64 mask, cgroup;
	u32 pid, tgid, ppid, ruid, rgid, euid, egid, suid, sgid, fsuid, fsgid;
	s32 exit_code;
	u32 coredump_mask, coredump_signal;
};
#define GET_INFO    _IOWR(0xff, 11, struct info)
#define INFO_CREDS  2
#define INFO_DUMP   16
#define DUMP_DUMPED 1
#define DUMP_USER   4
#define DUMP_ROOT   8
#define STAT_START  22
#define STAT_EXIT   52 /* of a process that dies, the signal is in its lowest bits */

ssize_t proc_read(int dir, const char *name, char *buf, size_t size)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	size_t len = 0;
	ssize_t n = 0;

	if (fd < 0)
		return -1;
	while (len < size - 1 && (n = read(fd, buf + len, size - 1 - len)) > 0)
		len += (size_t)n;
	close(fd);
	buf[len] = 0;
	return n < 0 && !len ? -1 : (ssize_t)len;
}

bool process_holds(const struct process *p)
{
	struct pollfd in = {.fd = p->in};

	/* The kernel's end is open until all is written. */
	if (p->in < 0 || poll(&in, 1, 0) < 0 || (in.revents & (POLLHUP | POLLERR | POLLNVAL)))
		return false;
	if (p->pidfd >= 0) {
		struct pollfd end = {.fd = p->pidfd, .events = POLLIN};

		return poll(&end, 1, 0) == 0;
	}
	return true;
}

/* The pid of a pidfd in our namespace; 0: it is no pidfd, or its process is gone. */
static u32 pidfd_pid(int pidfd)
{
	char name[64], text[512];
	const char *line;

	snprintf(name, sizeof(name), "/proc/self/fdinfo/%d", pidfd);
	if (proc_read(AT_FDCWD, name, text, sizeof(text)) <= 0)
		return 0;
	line = strstr(text, "\nPid:\t");
	if (!line || line[6] == '-')
		return 0;
	return (u32)strtoul(line + 6, NULL, 10);
}

/* Reads the ids of the process by its pidfd; an error if the kernel says that it is not dumped. */
static const char *info_take(struct process *p)
{
	struct info info = {.mask = INFO_CREDS | INFO_DUMP};

	if (ioctl(p->pidfd, GET_INFO, &info) < 0)
		info.mask = 0; /* before Linux 6.13 */
	if (p->way == WAY_SOCKET && !(info.mask & INFO_DUMP))
		return fault("process %u has connected to the socket, but is not being dumped",
			     p->pid);
	if ((info.mask & INFO_DUMP) && !(info.coredump_mask & DUMP_DUMPED))
		return fault("process %u is not the one that the kernel dumps", p->pid);
	if (info.mask & INFO_CREDS) {
		p->euid = info.euid;
		p->egid = info.egid;
		if (p->way == WAY_SOCKET) {
			p->uid = info.ruid;
			p->gid = info.rgid;
		}
	}
	if ((info.mask & INFO_DUMP) && p->way == WAY_SOCKET)
		p->dumpable = info.coredump_mask & DUMP_USER   ? 1
			      : info.coredump_mask & DUMP_ROOT ? 2
							       : -1;
	return NULL;
}

const char *process_open(struct process *p)
{
	const char *why = NULL;
	char name[64], link[8];
	u32 pid;

	p->mm_pid = p->pid;
	if (p->pidfd >= 0) {
		pid = pidfd_pid(p->pidfd);
		if (p->way == WAY_SOCKET)
			p->pid = p->mm_pid = p->tid = pid;
		if (!pid || pid != p->pid)
			return fault("the pidfd is of process %u, not %u", pid, p->pid);
		why = info_take(p);
	}
	if (why)
		return why;
	snprintf(name, sizeof(name), "/proc/%u", p->pid);
	p->dir = open(name, O_DIRECTORY | O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	/* If the first thread has ended, its folder knows nothing of memory and descriptors. */
	if (p->dir >= 0 && p->tid != p->pid && readlinkat(p->dir, "exe", link, sizeof(link)) < 0) {
		close(p->dir);
		snprintf(name, sizeof(name), "/proc/%u/task/%u", p->pid, p->tid);
		p->dir = open(name, O_DIRECTORY | O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
		p->mm_pid = p->tid;
	}
	if (p->dir < 0)
		return fault("cannot open %s: %s", name, strerror(errno));
	if (!process_holds(p))
		return fault("process %u did not wait: its core has ended", p->pid);
	return NULL;
}

static size_t link_read(int dir, const char *name, char *buf, size_t size)
{
	ssize_t n = readlinkat(dir, name, buf, size - 1);

	n = MAX(n, 0);
	buf[n] = 0;
	return (size_t)n;
}

/* A field of stat, counted behind the name, which can contain everything. */
static u64 stat_field(int dir, int wanted)
{
	char stat[2048], *at;
	int field = 2;

	if (proc_read(dir, "stat", stat, sizeof(stat)) <= 0)
		return 0;
	at = strrchr(stat, ')');
	while (at && field < wanted) {
		at = strchr(at + 1, ' ');
		field++;
	}
	return at ? strtoull(at, NULL, 10) : 0;
}

void process_origin(struct process *p)
{
	if (p->way == WAY_SOCKET) /* the notes, which say it, may be read by nobody */
		p->signal = (int)(stat_field(p->dir, STAT_EXIT) & 0x7f);
	int exe = openat(p->dir, "exe", O_PATH | O_CLOEXEC);
	ssize_t n = proc_read(p->dir, "cgroup", p->cgroup, sizeof(p->cgroup));
	struct stat st;

	p->cgroup_len = (size_t)MAX(n, 0);
	p->exe_len = link_read(p->dir, "exe", p->exe, sizeof(p->exe));
	if (exe >= 0 && fstat(exe, &st) == 0) {
		p->exe_dev = (u64)st.st_dev;
		p->exe_ino = (u64)st.st_ino;
	}
	if (exe >= 0)
		close(exe);
}

/* The numbers of a line of status; the kernel escapes newlines in the only text of that file. */
static u32 status_numbers(const char *status, const char *key, u32 *num, u32 max)
{
	const char *line = strstr(status, key);
	u32 n = 0;

	if (!line)
		return 0;
	for (const char *at = line + strlen(key); n < max;) {
		char *end;
		unsigned long value;

		while (*at == '\t' || *at == ' ')
			at++;
		if (!isdigit((u8)*at))
			break;
		value = strtoul(at, &end, 10);
		num[n++] = (u32)value;
		at = end;
	}
	return n;
}

static u32 status_last(const char *status, const char *key)
{
	u32 num[32], n = status_numbers(status, key, num, ARRAY_LEN(num));

	return n ? num[n - 1] : 0;
}

u32 ns_pid_read(int dir, const char *name, const char *key)
{
	char status[8192];

	return proc_read(dir, name, status, sizeof(status)) > 0 ? status_last(status, key) : 0;
}

/* The soft limit of core files. */
static u64 limit_read(int dir)
{
	static const char key[] = "\nMax core file size";
	char text[4096];
	const char *at;

	at = proc_read(dir, "limits", text, sizeof(text)) > 0 ? strstr(text, key) : NULL;
	if (!at)
		return UNKNOWN_LIMIT;
	at += strlen(key);
	at += strspn(at, " ");
	return *at == 'u' ? ~0ull : strtoull(at, NULL, 10);
}

void process_describe(struct process *p)
{
	char name[64], status[8192];
	ssize_t n;
	u32 num[4];

	p->start_ticks = stat_field(p->dir, STAT_START);
	if (p->core_limit == UNKNOWN_LIMIT)
		p->core_limit = limit_read(p->dir);
	p->cwd_len = link_read(p->dir, "cwd", p->cwd, sizeof(p->cwd));
	snprintf(name, sizeof(name), "/proc/%u/task/%u/comm", p->pid, p->tid);
	n = proc_read(AT_FDCWD, name, p->comm, sizeof(p->comm));
	p->comm_len = (size_t)MAX(n, 0);
	if (p->comm_len && p->comm[p->comm_len - 1] == '\n')
		p->comm[--p->comm_len] = 0;
	snprintf(name, sizeof(name), "/proc/%u/task/%u/status", p->pid, p->tid);
	if (proc_read(AT_FDCWD, name, status, sizeof(status)) <= 0)
		return;
	p->ns_pid = status_last(status, NS_TGID);
	p->ns_tid = status_last(status, NS_PID);
	if (p->euid == ~0u && status_numbers(status, "\nUid:", num, 4) == 4)
		p->euid = num[1];
	if (p->egid == ~0u && status_numbers(status, "\nGid:", num, 4) == 4)
		p->egid = num[1];
}

bool cgroup_path(const struct process *p, const char **ret_path, size_t *ret_len)
{
	size_t best = 0;

	/* "N:controllers:path" lines; the unified one, 0, unless it says less than another. */
	for (const char *line = p->cgroup; line && *line;) {
		const char *path = strchr(line, ':'), *end = strchr(line, '\n');
		size_t len;

		path = path ? strchr(path + 1, ':') : NULL;
		if (!path || (end && path > end))
			break;
		path++;
		len = end ? (size_t)(end - path) : strlen(path);
		if (len > best) {
			best = len;
			*ret_path = path;
			*ret_len = len;
		}
		if (strncmp(line, "0::", 3) == 0 && len > 1) {
			*ret_path = path;
			*ret_len = len;
			return true;
		}
		line = end ? end + 1 : NULL;
	}
	return best > 0;
}

bool cgroup_container(const char *path, size_t len, const char **ret_id, size_t *ret_len)
{
	static const char *const lxc[] = {"/lxc.payload.", "/lxc/"};
	size_t digits = 0;

	/* docker, containerd, CRI-O, podman: 64 hex digits that stand alone */
	for (size_t i = 0; i <= len; i++) {
		if (i < len && isxdigit((u8)path[i])) {
			digits++;
			continue;
		}
		if (digits == 64) {
			*ret_id = path + i - digits;
			*ret_len = digits;
			return true;
		}
		digits = 0;
	}
	for (u32 k = 0; k < ARRAY_LEN(lxc); k++) {
		const char *at = memmem(path, len, lxc[k], strlen(lxc[k]));
		const char *end;

		if (!at)
			continue;
		at += strlen(lxc[k]);
		end = memchr(at, '/', (size_t)(path + len - at));
		*ret_id = at;
		*ret_len = (size_t)((end ? end : path + len) - at);
		return *ret_len > 0;
	}
	return false;
}

int process_container(const struct process *p)
{
	char theirs[64], ours[64];

	if (!link_read(p->dir, "ns/pid", theirs, sizeof(theirs)) ||
	    !link_read(AT_FDCWD, "/proc/self/ns/pid", ours, sizeof(ours)) ||
	    strcmp(theirs, ours) == 0)
		return -1;
	return openat(p->dir, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

void process_release(struct process *p)
{
	if (p->in >= 0)
		close(p->in);
	p->in = -1;
}
