/* SPDX-License-Identifier: MIT */
/* Reads what a process has mapped. */
#include "target/maps.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include "files/gate.h"
#include "files/mapping.h"

char *proc_path_strip(char *path)
{
	static const char deleted[] = " (deleted)";
	size_t len = strlen(path), tail = sizeof(deleted) - 1;

	if (len >= tail && strcmp(path + len - tail, deleted) == 0)
		path[len - tail] = '\0';
	return path;
}

/* "START-END PERMS OFFSET MAJOR:MINOR INODE      PATH" */
bool proc_map_parse(char *line, struct arena *a, struct proc_map *ret)
{
	unsigned int maj, min;
	char perms[8], *path;
	int at = 0;

	*ret = (struct proc_map){0};
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %x:%x %" SCNu64 " %n",
		   &ret->start, &ret->end, perms, &ret->off, &maj, &min, &ret->ino, &at) < 7 ||
	    !at || strlen(perms) < 4 || ret->end <= ret->start)
		return false;
	path = line + at;
	path[strcspn(path, "\n")] = '\0';
	ret->path = arena_strdup(a, proc_path_strip(path));
	ret->dev = makedev(maj, min);
	ret->is_write = perms[1] == 'w';
	ret->is_exec = perms[2] == 'x';
	ret->is_shared = perms[3] == 's';
	return true;
}

struct err *proc_check_numbers(void)
{
	struct statfs fs;
	char text[32];
	ssize_t len = readlink("/proc/self", text, sizeof(text) - 1);

	if (len < 0 && (statfs("/proc", &fs) != 0 || fs.f_type != PROC_SUPER_MAGIC))
		return NULL; /* it is not there at all: that has messages of its own */
	text[MAX(len, 0)] = '\0';
	if (len > 0 && strtol(text, NULL, 10) == getpid())
		return NULL;
	return err_hint(
		err_new("'/proc' shows another PID namespace: processes have other numbers there"),
		"mount that of this namespace, as 'unshare --mount-proc' and 'nsenter -m -p' do");
}

struct err *proc_maps_read(pid_t pid, struct proc_maps *ret)
{
	CLEANUP(file) FILE *f = NULL;
	CLEANUP(free) char *line = NULL;
	struct proc_map m;
	size_t cap = 0;
	char path[64];
	struct err *e = proc_check_numbers();

	if (e)
		return e;
	(void)snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return err_sys(errno == ENOENT ? ESRCH : errno,
			       "cannot read the mappings of process %d", (int)pid);
	*ret = (struct proc_maps){.arena = arena_create()};
	while (getline(&line, &cap, f) > 0)
		if (proc_map_parse(line, ret->arena, &m))
			vec_push(&ret->maps, m);
	return NULL;
}

void proc_maps_copy(const struct proc_maps *from, struct proc_maps *ret)
{
	*ret = (struct proc_maps){.arena = arena_create()};
	for (uint32_t i = 0; i < from->maps.len; i++) {
		struct proc_map m = from->maps.data[i];

		m.path = arena_strdup(ret->arena, m.path);
		vec_push(&ret->maps, m);
	}
}

/* ---- mappings of code ------------------------------------------------------------------------ */

/* Linux include/uapi/linux/fs.h, v6.11: asks /proc/PID/maps for one mapping. */
struct map_query {
	uint64_t size, flags, addr;
	uint64_t start, end, vma_flags, page_size, off, ino;
	uint32_t dev_major, dev_minor, name_size, build_id_size;
	uint64_t name, build_id;
};
#define MAP_QUERY	 _IOWR('f', 17, struct map_query)
#define MAP_QUERY_WRITE	 0x02
#define MAP_QUERY_EXEC	 0x04
#define MAP_QUERY_SHARED 0x08
#define MAP_QUERY_NEXT	 0x10 /* the mapping at addr, or the next one */
#define MAP_QUERY_FILE	 0x20

bool proc_map_is_code(const struct proc_map *m)
{
	return m->is_exec && !m->is_write && !m->is_shared && m->ino && m->path[0] == '/';
}

/* Returns 0, or why the kernel does not answer: ENOTTY when it has no such call. */
static int queries_ask(int fd, void (*func)(void *ctx, const struct proc_map *m), void *ctx)
{
	char path[PATH_MAX + 16]; /* " (deleted)" may follow */
	struct map_query q = {0};

	do {
		struct proc_map m;

		q = (struct map_query){.size = sizeof(q),
				       .flags = MAP_QUERY_EXEC | MAP_QUERY_NEXT | MAP_QUERY_FILE,
				       .addr = q.end,
				       .name = (uintptr_t)path,
				       .name_size = sizeof(path)};
		*path = '\0';
		if (ioctl(fd, MAP_QUERY, &q) != 0)
			return errno == ENOENT || errno == ESRCH ? 0 : errno;
		path[sizeof(path) - 1] = '\0';
		m = (struct proc_map){.start = q.start,
				      .end = q.end,
				      .off = q.off,
				      .dev = makedev(q.dev_major, q.dev_minor),
				      .ino = q.ino,
				      .path = proc_path_strip(path),
				      .is_exec = true,
				      .is_write = q.vma_flags & MAP_QUERY_WRITE,
				      .is_shared = q.vma_flags & MAP_QUERY_SHARED};
		if (proc_map_is_code(&m))
			func(ctx, &m);
	} while (q.end);
	return 0;
}

struct err *proc_code_each(pid_t pid, void (*func)(void *ctx, const struct proc_map *m), void *ctx)
{
	CLEANUP(fd) int fd = -1;
	struct proc_maps maps;
	char path[64];
	struct err *e;
	int sys;

	(void)snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	sys = fd < 0 ? errno : queries_ask(fd, func, ctx);
	if (!sys)
		return NULL;
	if (sys != ENOTTY && sys != EINVAL)
		return err_sys(sys == ENOENT ? ESRCH : sys,
			       "cannot read the mappings of process %d", (int)pid);
	e = proc_maps_read(pid, &maps);
	if (e)
		return e;
	for (uint32_t i = 0; i < maps.maps.len; i++)
		if (proc_map_is_code(&maps.maps.data[i]))
			func(ctx, &maps.maps.data[i]);
	proc_maps_deinit(&maps);
	return NULL;
}

void proc_maps_deinit(struct proc_maps *m)
{
	vec_deinit(&m->maps);
	arena_destroy(m->arena);
	m->arena = NULL;
}

struct mapping proc_map_mapping(pid_t pid, const struct proc_map *m)
{
	return (struct mapping){.pid = (uint64_t)pid,
				.start = m->start,
				.end = m->end,
				.inode = {m->dev, m->ino},
				.path = m->path};
}

struct gate_file *proc_map_open(struct gate *g, pid_t pid, const struct proc_map *m)
{
	struct mapping at = proc_map_mapping(pid, m);

	return mapping_open(g, &at);
}

const struct proc_map *proc_maps_find_off(const struct proc_maps *m, const struct file_inode *f,
					  uint64_t off)
{
	for (uint32_t i = 0; i < m->maps.len; i++) {
		const struct proc_map *p = &m->maps.data[i];

		if (p->is_exec && proc_map_is_of(p, f) && off >= p->off &&
		    off - p->off < p->end - p->start)
			return p;
	}
	return NULL;
}

const struct proc_map *proc_maps_find(const struct proc_maps *m, taddr addr)
{
	uint32_t low = 0, high = m->maps.len;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;
		const struct proc_map *at = &m->maps.data[mid];

		if (addr < at->start)
			high = mid;
		else if (addr >= at->end)
			low = mid + 1;
		else
			return at;
	}
	return NULL;
}
