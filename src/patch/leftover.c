/* SPDX-License-Identifier: MIT */
/* Windows of tracers that were killed together with their keeper. */
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "arch/patch.h"
#include "files/gate.h"
#include "kernel/sys.h"
#include "patch/patch_impl.h"
#include "target/maps.h"

#define REGION_FILE "/dev/zero" /* what the kernel calls shared memory without a file */
#define CODE_MAX    ((uint64_t)1 << 31)
#define ROWS_MAX    (1u << 22) /* of all regions: a process can make as many as it likes */

struct leftover {
	pid_t pid;
	struct gate *gate;
	struct proc_maps maps;
	int mem_fd;
	uint32_t rows_left;
	/* the file that was read last */
	const struct proc_map *map;
	struct gate_file *file;
};

/* ---- what the region says -------------------------------------------------------------------- */

/* Opens a mapping that may be a region whose tracer has ended; -1: it is none. */
static int region_open_dead(const struct leftover *l, const struct proc_map *m,
			    struct region_head *ret)
{
	CLEANUP(fd) int fd = -1;
	char path[96];

	if (m->is_exec || m->is_write || !m->is_shared || m->off ||
	    strcmp(m->path, REGION_FILE) != 0)
		return -1;
	(void)snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", (int)l->pid,
		       (unsigned long long)m->start, (unsigned long long)m->end);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0 || pread(fd, ret, sizeof(*ret), 0) != (ssize_t)sizeof(*ret) ||
	    memcmp(ret->text, REGION_TEXT, sizeof(REGION_TEXT)) != 0 ||
	    ret->version != REGION_VERSION || ret->region != m->start ||
	    ret->head_size != m->end - m->start || ret->code_size > CODE_MAX ||
	    ret->data_size > CODE_MAX ||
	    REGION_ROWS + (uint64_t)ret->nrows * sizeof(struct window_row) > ret->head_size ||
	    ret->nrows > l->rows_left)
		return -1;
	return flock(fd, LOCK_EX | LOCK_NB) ? -1 : fd_take(&fd);
}

/* ---- what the files say ---------------------------------------------------------------------- */

/* Reads bytes of the file that is mapped there as code of the process. */
static bool file_read(struct leftover *l, taddr addr, uint8_t *to, size_t size)
{
	const struct proc_map *m = proc_maps_find(&l->maps, addr);

	if (!m || !proc_map_is_code(m) || !proc_map_has_file(m) || size > m->end - addr)
		return false;
	if (m != l->map) {
		gate_file_close(l->file);
		l->file = proc_map_open(l->gate, l->pid, m);
		l->map = m;
	}
	return l->file &&
	       gate_file_read(l->file, to, size, m->off + (addr - m->start)) == (ssize_t)size;
}

/*
 * Whether the address is in the code of the region, or of a mirror: in memory without a file that
 * stands right behind the head, or behind another mapping of it.
 */
static bool region_has(const struct leftover *l, const struct proc_map *region, taddr addr)
{
	const struct proc_map *m = proc_maps_find(&l->maps, addr), *head;

	if (!m || !m->is_exec || m->is_write || m->is_shared || proc_map_has_file(m))
		return false;
	head = proc_maps_find(&l->maps, m->start - 1);
	return head && head->is_shared && !head->off &&
	       head->end - head->start == region->end - region->start &&
	       proc_map_is_same_file(head, region);
}

/* The row is taken back by what the file has, whatever the process has written there. */
static bool row_verify(struct leftover *l, struct window_row *r, const struct proc_map *region)
{
	uint8_t jump = r->pad ? arch_patch->short_size : arch_patch->jump_size;

	return r->is_used && region_has(l, region, r->stub) &&
	       file_read(l, r->addr, r->old, jump) &&
	       (!r->pad || file_read(l, r->pad, r->old_pad, arch_patch->jump_size));
}

/* ---- one region ------------------------------------------------------------------------------ */

static struct err *region_undo(struct leftover *l, const struct proc_map *m, int fd,
			       const struct region_head *h, uint32_t *ret_n)
{
	static const struct region_head none;
	struct windows_journal *j = xcalloc(1, windows_journal_size(h->nrows));
	size_t size = h->nrows * sizeof(*j->rows);
	ssize_t n = pread(fd, j->rows, size, REGION_ROWS);
	struct err *e = NULL;

	*j = (struct windows_journal){
		.region = m->start,
		.head_size = h->head_size,
		.call = m->start + h->head_size,
		.pid = l->pid,
		.suspends = seccomp_is_on(l->pid),
		.nrows = n > 0 ? (uint32_t)((size_t)n / sizeof(*j->rows)) : 0,
	};
	/* of this process: that it has the region is seen by its mappings */
	if (sys_pread(l->mem_fd, j->magic, sizeof(j->magic), j->call + WINDOWS_MAGIC_AT) !=
	    (ssize_t)sizeof(j->magic)) {
		free(j);
		return NULL;
	}
	for (uint32_t i = 0; i < j->nrows; i++) {
		struct window_row *r = &j->rows[i];

		/* a byte other than 0 and 1 is no bool, and the process may have written it */
		*(uint8_t *)&r->is_used &= 1;
		*(uint8_t *)&r->is_call &= 1;
		r->is_used = row_verify(l, r, m);
	}
	e = windows_take_out(j, l->pid, l->mem_fd, true, ret_n);
	/* parent and children have one region, in which each of them is to find its own windows */
	if (!e && !windows_has_children(j, fd))
		(void)!pwrite(fd, &none, sizeof(none), 0);
	free(j);
	return e;
}

struct err *patch_leftovers(pid_t pid, struct gate *g, uint32_t *ret_n)
{
	struct leftover l = {.pid = pid, .gate = g, .mem_fd = -1, .rows_left = ROWS_MAX};
	struct err *e = proc_maps_read(pid, &l.maps);

	*ret_n = 0;
	for (uint32_t i = 0; !e && arch_patch && i < l.maps.maps.len; i++) {
		const struct proc_map *m = &l.maps.maps.data[i];
		struct region_head h;
		CLEANUP(fd) int fd = region_open_dead(&l, m, &h);
		uint32_t n = 0;

		if (fd < 0)
			continue;
		if (l.mem_fd < 0)
			l.mem_fd = process_memory_open(pid);
		if (l.mem_fd < 0) {
			e = err_sys(errno, "cannot open the memory of process %d", (int)pid);
			break;
		}
		l.rows_left -= h.nrows;
		e = region_undo(&l, m, fd, &h, &n);
		*ret_n += n;
	}
	gate_file_close(l.file);
	if (l.mem_fd >= 0)
		(void)close(l.mem_fd);
	proc_maps_deinit(&l.maps);
	return e;
}
