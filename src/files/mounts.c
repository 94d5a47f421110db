/* SPDX-License-Identifier: MIT */
/* Reads /proc/self/mountinfo, and says which file systems need no server. */
#include "files/mounts.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/str.h"

#define SIZE_MAX_READ	 (64u << 20) /* bytes of our own mountinfo that are read at most */
#define SIZE_MAX_FOREIGN (1u << 20)  /* bytes of the mountinfo of another process */

/*
 * Types of file systems that answer without a server. The layered ones are in the list because only
 * root can mount them in our namespace.
 */
static const char *const harmless[] = {
	"bcachefs", "bpf",    "btrfs",	    "cgroup",	 "cgroup2", "configfs", "cramfs",
	"debugfs",  "devpts", "devtmpfs",   "efivarfs",	 "erofs",   "exfat",	"ext2",
	"ext3",	    "ext4",   "f2fs",	    "hugetlbfs", "iso9660", "jfs",	"mqueue",
	"nilfs2",   "ntfs3",  "overlay",    "proc",	 "pstore",  "ramfs",	"reiserfs",
	"rootfs",   "romfs",  "securityfs", "squashfs",	 "sysfs",   "tmpfs",	"tracefs",
	"ubifs",    "udf",    "vfat",	    "xfs",	 "zfs",
};

/* Types whose server is another machine. Who may mount them, and from where, is root's choice. */
static const char *const network[] = {
	"9p", "afs", "ceph", "cifs", "gfs2", "lustre", "nfs", "nfs4", "ocfs2", "smb3", "virtiofs",
};

void mounts_init(struct mounts *m)
{
	*m = (struct mounts){.fd = -1};
}

static void list_clear(struct mounts *m)
{
	for (uint32_t i = 0; i < m->list.len; i++)
		free(m->list.data[i].point);
	vec_clear(&m->list);
}

void mounts_deinit(struct mounts *m)
{
	list_clear(m);
	vec_deinit(&m->list);
	if (m->fd >= 0)
		(void)close(m->fd);
	m->fd = -1;
}

/* ---- the table ------------------------------------------------------------------------------- */

/* Replaces the octal numbers (\040) that mountinfo writes for spaces and backslashes. */
static void octal_decode(char *s)
{
	char *to = s;

	for (; *s; s++)
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] >= '0' && s[2] <= '7' &&
		    s[3] >= '0' && s[3] <= '7') {
			*to++ = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0'));
			s += 3;
		} else {
			*to++ = *s;
		}
	*to = '\0';
}

static bool list_has(const char *const *list, size_t n, const char *type)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(type, list[i]) == 0)
			return true;
	return false;
}

/* Fills id and dev from a line of mountinfo. Returns where the mount point begins; 0: nowhere. */
static int head_parse(const char *line, struct mount *ret)
{
	unsigned int dev_major, dev_minor;
	int at = 0;

	if (sscanf(line, "%" SCNu64 " %*u %u:%u %*s %n", &ret->id, &dev_major, &dev_minor, &at) < 3)
		return 0;
	ret->dev = makedev(dev_major, dev_minor);
	return at;
}

/*
 * Parses a line of mountinfo and adds its mount:
 * "36 35 98:0 /root /mnt rw,noatime master:1 - ext3 /dev/root rw,errors=continue".
 */
static void line_parse(struct mounts *m, char *line)
{
	char *type = strstr(line, " - "), *point;
	struct mount e;
	int at = head_parse(line, &e);

	if (!type || !at)
		return;
	type += 3;
	type[strcspn(type, " ")] = '\0';
	point = line + at;
	point[strcspn(point, " ")] = '\0';
	octal_decode(point);
	e.point = xstrdup(point);
	e.is_harmless = list_has(harmless, ARRAY_LEN(harmless), type) ||
			(major(e.dev) && strcmp(type, "fuseblk") != 0);
	e.is_network = list_has(network, ARRAY_LEN(network), type);
	vec_push(&m->list, e);
}

static void table_read(struct mounts *m)
{
	VEC(char) text = {0};
	char *save = NULL;
	ssize_t n;

	list_clear(m);
	do {
		vec_reserve(&text, text.len + 4096);
		n = pread(m->fd, text.data + text.len, 4095, (off_t)text.len);
		text.len += n > 0 ? (uint32_t)n : 0;
	} while (n > 0 && text.len < SIZE_MAX_READ);
	text.data[text.len] = '\0';
	for (char *line = strtok_r(text.data, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save))
		line_parse(m, line);
	vec_deinit(&text);
}

/* Reads the table when it is used first, and after each change (proc(5), "mounts"). */
static void table_refresh(struct mounts *m)
{
	struct pollfd p = {.events = POLLPRI};

	if (m->fd < 0) {
		m->fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
		if (m->fd >= 0)
			table_read(m);
		return;
	}
	p.fd = m->fd;
	if (poll(&p, 1, 0) == 1 && p.revents & (POLLPRI | POLLERR))
		table_read(m);
}

/* ---- questions ------------------------------------------------------------------------------- */

static void memory_learn(struct mounts *m)
{
	CLEANUP(fd) int fd = -1;
	struct stat st;

	if (m->has_memory)
		return;
	m->has_memory = true;
	fd = memfd_create("dev", MFD_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) != 0)
		return;
	m->memory_dev = st.st_dev;
	if (!mounts_id_of_fd(fd, &m->memory_id))
		m->memory_id = 0;
}

bool mounts_is_dev_harmless(struct mounts *m, uint64_t dev)
{
	bool is_mounted = false;

	memory_learn(m);
	if (dev && dev == m->memory_dev)
		return true;
	table_refresh(m);
	for (uint32_t i = 0; i < m->list.len; i++)
		if (m->list.data[i].dev == dev) {
			if (!m->list.data[i].is_harmless)
				return false;
			is_mounted = true;
		}
	return is_mounted || (major(dev) && m->fd >= 0);
}

/*
 * Reads the line "mnt_id:" of /proc/self/fdinfo/N, which the kernel writes without asking the file
 * system.
 */
bool mounts_id_of_fd(int fd, uint64_t *ret)
{
	char path[64], text[512];
	CLEANUP(fd) int info = -1;
	const char *at;
	ssize_t n;

	(void)snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	info = open(path, O_RDONLY | O_CLOEXEC);
	n = info < 0 ? -1 : read(info, text, sizeof(text) - 1);
	if (n <= 0)
		return false;
	text[n] = '\0';
	at = strstr(text, "mnt_id:");
	return at && sscanf(at, "mnt_id: %" SCNu64, ret) == 1;
}

static const struct mount *mount_of_id(struct mounts *m, uint64_t id)
{
	table_refresh(m);
	for (uint32_t i = 0; i < m->list.len; i++)
		if (m->list.data[i].id == id)
			return &m->list.data[i];
	return NULL;
}

const struct mount *mounts_of_fd(struct mounts *m, int fd)
{
	uint64_t id;

	return mounts_id_of_fd(fd, &id) ? mount_of_id(m, id) : NULL;
}

/*
 * Finds the device of a mount in the namespace of a process. The kernel writes mountinfo without
 * asking a file system. A process may have made any number of mounts, so only the first ones are
 * read; the others are unknown.
 */
static bool foreign_dev(uint64_t pid, uint64_t id, uint64_t *ret)
{
	CLEANUP(file) FILE *f = NULL;
	CLEANUP(free) char *line = NULL;
	struct mount e = {0};
	size_t cap = 0, done = 0;
	char path[64];
	ssize_t n;

	(void)snprintf(path, sizeof(path), "/proc/%" PRIu64 "/mountinfo", pid);
	f = fopen(path, "re");
	while (f && done < SIZE_MAX_FOREIGN && (n = getline(&line, &cap, f)) > 0) {
		done += (size_t)n;
		if (head_parse(line, &e) && e.id == id) {
			*ret = e.dev;
			return true;
		}
	}
	return false;
}

bool mounts_is_fd_harmless(struct mounts *m, int fd, uint64_t pid)
{
	const struct mount *e;
	uint64_t id, dev;

	if (!mounts_id_of_fd(fd, &id))
		return false;
	memory_learn(m);
	if (id == m->memory_id)
		return true;
	e = mount_of_id(m, id);
	if (e)
		return e->is_harmless;
	return pid && foreign_dev(pid, id, &dev) && mounts_is_dev_harmless(m, dev);
}

bool mounts_is_fd_network(struct mounts *m, int fd)
{
	const struct mount *e = mounts_of_fd(m, fd);

	return e && e->is_network;
}

const struct mount *mounts_of_path(struct mounts *m, const char *path)
{
	const struct mount *best = NULL;
	size_t longest = 0;

	table_refresh(m);
	for (uint32_t i = 0; i < m->list.len; i++) {
		const char *point = m->list.data[i].point;
		size_t len = strlen(point);

		len -= len && point[len - 1] == '/';
		if (len >= longest && strncmp(path, point, len) == 0 &&
		    (path[len] == '/' || !path[len])) {
			longest = len;
			best = &m->list.data
					[i]; /* of several mounts, the last one hides the others */
		}
	}
	return best;
}
