/* SPDX-License-Identifier: MIT */
/* Opens the file that a process has mapped. */
#include "files/mapping.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "files/gate.h"

/* Finds the inode that /proc shows for a mapping of this process. */
static bool own_inode_find(taddr addr, struct file_inode *ret)
{
	CLEANUP(file) FILE *f = fopen("/proc/self/maps", "re");
	CLEANUP(free) char *line = NULL;
	unsigned int high, low;
	taddr start, end;
	size_t cap = 0;

	while (f && getline(&line, &cap, f) > 0)
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %*s %x:%x %" SCNu64, &start, &end,
			   &high, &low, &ret->ino) == 5 &&
		    start <= addr && addr < end) {
			ret->dev = makedev(high, low);
			return true;
		}
	return false;
}

/*
 * Whether a mapping of the file shows this inode: layered file systems show another device there
 * than in fstat(). A file that another process reads cannot be mapped here, and shows none.
 */
static bool file_shows(const struct gate_file *f, const struct file_inode *inode)
{
	void *p = mmap(NULL, 1, PROT_READ, MAP_PRIVATE, gate_file_fd(f), 0);
	struct file_inode shown;
	bool is_same;

	if (p == MAP_FAILED)
		return false;
	is_same = own_inode_find((taddr)(uintptr_t)p, &shown) && file_inode_equal(&shown, inode);
	(void)munmap(p, 1);
	return is_same;
}

static bool has_dev(const struct gate_file *f, const struct mapping *m)
{
	return gate_file_stat(f)->st_dev == m->inode.dev ||
	       (m->inode.ino && file_shows(f, &m->inode));
}

/* Closes f unless it is the mapped file, and returns it, or NULL with errno. */
static struct gate_file *file_check(struct gate_file *f, const struct mapping *m, bool needs_dev)
{
	const struct stat *st = f ? gate_file_stat(f) : NULL;

	if (!f || ((!m->inode.ino || st->st_ino == m->inode.ino) && (!needs_dev || has_dev(f, m))))
		return f;
	gate_file_close(f);
	errno = ESTALE;
	return NULL;
}

/* Step 1, by way of a process that may be another one. */
static struct gate_file *by_address(struct gate *g, uint64_t pid, const struct mapping *m)
{
	const struct gate_mapping at = {pid, m->start, m->end, m->inode.dev, m->path};

	return file_check(gate_open_mapping(g, &at), m, false);
}

static struct gate_file *by_path(struct gate *g, int root, const struct mapping *m, bool needs_dev)
{
	struct gate_file *f = file_check(gate_open_path(g, root, m->path), m, needs_dev);

	if (!f || !m->since || gate_file_stat(f)->st_ctim.tv_sec <= m->since)
		return f;
	gate_file_close(f);
	errno = ESTALE;
	return NULL;
}

int process_root_open(uint64_t pid)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%" PRIu64 "/root", pid);
	return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* Step 2; *ret_rootless: there is no root directory that can be used. */
static struct gate_file *by_process(struct gate *g, uint64_t pid, const struct mapping *m,
				    bool *ret_rootless)
{
	CLEANUP(fd) int root = process_root_open(pid);

	*ret_rootless = root < 0;
	return root < 0 ? NULL : by_path(g, root, m, false);
}

/* Steps 3 and 4, after errno was set to sys. */
static struct gate_file *by_others(struct gate *g, const struct mapping *m, int sys)
{
	struct gate_file *f = by_path(g, -1, m, true);
	bool is_rootless;

	if (!f && m->parent && m->end)
		f = by_address(g, m->parent, m);
	if (!f && m->parent)
		f = by_process(g, m->parent, m, &is_rootless);
	if (!f)
		errno = sys;
	return f;
}

uint64_t mapping_other_dev(const struct mapping *m, const struct gate_file *f)
{
	const struct stat *st = gate_file_stat(f);
	bool is_trusted = st->st_uid == 0 || st->st_uid == geteuid();

	return m->inode.ino && m->inode.dev != st->st_dev && is_trusted ? m->inode.dev : 0;
}

struct gate_file *mapping_open(struct gate *g, const struct mapping *m)
{
	struct gate_file *f = NULL;
	bool is_rootless = false;

	errno = ENOENT;
	if (m->end)
		f = by_address(g, m->pid, m);
	if (f || (m->end && errno == ETIMEDOUT) || !m->path || m->path[0] != '/')
		return f;
	if (m->has_root)
		return by_path(g, m->root, m, m->needs_dev);
	f = by_process(g, m->pid, m, &is_rootless);
	return f || !is_rootless ? f : by_others(g, m, errno);
}
