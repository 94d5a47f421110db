/* SPDX-License-Identifier: MIT */
/*
 * Windows of tracers that were killed together with their keeper.
 *
 * They are found by the jumps in the code (jumps.c), and by the table in the region's head, which
 * knows of windows that were partly taken back. A row of that counts only if the file and the
 * memory of the process agree with it: children share the head, and can write to it.
 */
#include <errno.h>

#include "arch/patch.h"
#include "files/gate.h"
#include "kernel/sys.h"
#include "patch/leftover.h"
#include "patch/memory_file.h"

#define REGION_FILE "/dev/zero" /* what the kernel calls shared memory without a file */
#define CODE_MAX    ((uint64_t)1 << 31)
/* of all regions: a process can make as many as it likes */
#define ROWS_MAX    (1u << 22)
#define REGIONS_MAX 1024u

/* ---- what the region says -------------------------------------------------------------------- */

bool leftover_is_head(const struct proc_map *m)
{
	return !m->is_exec && !m->is_write && m->is_shared && !m->off &&
	       strcmp(m->path, REGION_FILE) == 0;
}

/* The process and its children can write what they like there; 0 rows: it is not what we wrote. */
static uint32_t head_count_rows(const struct leftover *l, const struct proc_map *m, int fd)
{
	struct region_head h;

	if (sys_pread(fd, &h, sizeof(h), 0) != (ssize_t)sizeof(h) ||
	    memcmp(h.text, REGION_TEXT, sizeof(REGION_TEXT)) != 0 || h.version != REGION_VERSION ||
	    h.region != m->start || h.head_size != m->end - m->start || h.code_size > CODE_MAX ||
	    h.data_size > CODE_MAX ||
	    REGION_ROWS + (uint64_t)h.nrows * sizeof(struct window_row) > h.head_size ||
	    h.nrows > l->rows_left)
		return 0;
	return h.nrows;
}

/* Opens a mapping that may be a region; -1: it is none, or has gone. */
static int region_open(const struct leftover *l, const struct proc_map *m)
{
	char path[96];
	int fd;

	if (!leftover_is_head(m) || leftover_head_of(l, m->end) != m)
		return -1;
	(void)snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", (int)l->pid,
		       (unsigned long long)m->start, (unsigned long long)m->end);
	err_destroy(memory_file_open(path, 0, MEMORY_FILE_ANY, &fd));
	return fd;
}

/* ---- what the files say ---------------------------------------------------------------------- */

size_t leftover_file_read(struct leftover *l, taddr addr, uint8_t *to, size_t size)
{
	const struct proc_map *m = proc_maps_find(&l->maps, addr);
	ssize_t n = -1;

	if (!m || !proc_map_is_code(m) || !proc_map_has_file(m) || size > m->end - addr)
		return 0;
	if (m != l->map) {
		gate_file_close(l->file);
		l->file = proc_map_open(l->gate, l->pid, m);
		l->map = m;
	}
	if (l->file)
		n = gate_file_read(l->file, to, size, m->off + (addr - m->start));
	if (n < 0)
		l->unread = m->path;
	return (size_t)MAX(n, (ssize_t)0);
}

static bool file_read(struct leftover *l, taddr addr, uint8_t *to, size_t size)
{
	return leftover_file_read(l, addr, to, size) == size;
}

const struct proc_map *leftover_head_of(const struct leftover *l, taddr addr)
{
	const struct proc_map *m = proc_maps_find(&l->maps, addr), *head;

	if (!m || !m->is_exec || m->is_write || m->is_shared || proc_map_has_file(m))
		return NULL;
	head = proc_maps_find(&l->maps, m->start - 1);
	return head && leftover_is_head(head) ? head : NULL;
}

/* Whether the address is in the code of the region, or of a mirror. */
static bool region_has(const struct leftover *l, const struct proc_map *region, taddr addr)
{
	const struct proc_map *head = leftover_head_of(l, addr);

	return head && head->end - head->start == region->end - region->start &&
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

static int by_addr(const void *pa, const void *pb)
{
	const taddr *a = pa, *b = pb;

	return (*a > *b) - (*a < *b);
}

static int by_region(const void *pa, const void *pb)
{
	const struct leftover_jump *a = pa, *b = pb;

	if (a->ino != b->ino)
		return a->ino < b->ino ? -1 : 1;
	if (a->dev != b->dev)
		return a->dev < b->dev ? -1 : 1;
	return (a->size > b->size) - (a->size < b->size);
}

static void jumps_sort(struct leftover *l)
{
	for (uint32_t i = 0; i < l->jumps.len; i++) {
		const struct proc_map *head = leftover_head_of(l, l->jumps.data[i].stub);

		if (head)
			vec_push(&l->by_region,
				 (struct leftover_jump){.dev = head->dev,
							.ino = head->ino,
							.size = head->end - head->start,
							.jump = i});
	}
	if (l->by_region.len)
		qsort(l->by_region.data, l->by_region.len, sizeof(*l->by_region.data), by_region);
}

/* Returns how many jumps lead into the region; *ret_first: the first one in by_region. */
static uint32_t jumps_find(const struct leftover *l, const struct proc_map *region,
			   uint32_t *ret_first)
{
	struct leftover_jump key = {.dev = region->dev,
				    .ino = region->ino,
				    .size = region->end - region->start};
	uint32_t low = 0, high = l->by_region.len, end;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (by_region(&l->by_region.data[mid], &key) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	for (end = low; end < l->by_region.len; end++)
		if (by_region(&l->by_region.data[end], &key))
			break;
	*ret_first = low;
	return end - low;
}

/* Adds the n jumps from `first` in by_region that the table of the region does not have. */
static void jumps_add(const struct leftover *l, struct windows_journal *j, uint32_t first,
		      uint32_t n)
{
	CLEANUP(free) taddr *addrs = xcalloc(MAX(j->nrows, 1u), sizeof(*addrs));
	uint32_t naddrs = 0;

	for (uint32_t i = 0; i < j->nrows; i++)
		if (j->rows[i].is_used)
			addrs[naddrs++] = j->rows[i].addr;
	qsort(addrs, naddrs, sizeof(*addrs), by_addr);
	for (uint32_t i = first; i < first + n; i++) {
		const struct window_row *r = &l->jumps.data[l->by_region.data[i].jump];

		if (!bsearch(&r->addr, addrs, naddrs, sizeof(*addrs), by_addr))
			j->rows[j->nrows++] = *r;
	}
}

/* ---- one region ------------------------------------------------------------------------------ */

static struct err *region_undo(struct leftover *l, const struct proc_map *m, int fd,
			       uint32_t *ret_n)
{
	static const struct region_head none;
	uint32_t nrows = head_count_rows(l, m, fd), first, njumps = jumps_find(l, m, &first);
	struct windows_journal *j;
	struct err *e = NULL;
	ssize_t n;

	if (!nrows && !njumps)
		return NULL;
	j = xcalloc(1, windows_journal_size(nrows + njumps));
	n = nrows ? sys_pread(fd, j->rows, nrows * sizeof(*j->rows), REGION_ROWS) : 0;
	l->rows_left -= nrows;
	*j = (struct windows_journal){
		.region = m->start,
		.head_size = m->end - m->start,
		.call = m->end,
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
		window_row_turn(r);
		r->is_used = row_verify(l, r, m);
	}
	jumps_add(l, j, first, njumps);
	e = windows_take_out(j, l->pid, l->mem_fd, true, ret_n);
	/* parent and children have one region, in which each of them is to find its own windows */
	if (!e && nrows && !windows_has_children(j, fd))
		(void)!pwrite(fd, &none, sizeof(none), 0);
	free(j);
	return e;
}

static struct err *stuck_err(const struct leftover *l)
{
	return err_hint(err_new("the tracer that has changed the code of process %d has ended, and "
				"another process still holds what it had open",
				(int)l->pid),
			"end that process: a keeper or a child of the tracer");
}

static struct err *region_visit(struct leftover *l, const struct proc_map *m, uint32_t *ret_n)
{
	CLEANUP(fd) int fd = region_open(l, m);
	struct err *e = NULL;

	if (fd < 0)
		return NULL;
	if (!l->regions_left--)
		return err_new("process %d has memory like that of more than %u dtraces",
			       (int)l->pid, REGIONS_MAX);
	switch (region_lock(fd)) {
	case REGION_FREE: break;
	case REGION_USED: return NULL;
	case REGION_STUCK: return stuck_err(l);
	}
	if (l->mem_fd < 0)
		l->mem_fd = process_memory_open(l->pid);
	if (l->mem_fd < 0)
		return err_sys(errno, "cannot open the memory of process %d", (int)l->pid);
	if (!l->has_jumps) {
		e = leftover_find_jumps(l);
		jumps_sort(l);
	}
	return e || leftover_is_interrupted(l) ? e : region_undo(l, m, fd, ret_n);
}

void leftover_deinit(struct leftover *l)
{
	gate_file_close(l->file);
	if (l->mem_fd >= 0)
		(void)close(l->mem_fd);
	vec_deinit(&l->jumps);
	vec_deinit(&l->by_region);
	proc_maps_deinit(&l->maps);
}

bool leftover_is_interrupted(const struct leftover *l)
{
	return l->is_interrupted && *l->is_interrupted;
}

struct err *patch_leftovers(pid_t pid, struct gate *g, const atomic_int *is_interrupted,
			    uint32_t *ret_n)
{
	struct leftover l = {.pid = pid,
			     .gate = g,
			     .mem_fd = -1,
			     .is_interrupted = is_interrupted,
			     .rows_left = ROWS_MAX,
			     .regions_left = REGIONS_MAX};
	struct err *e = proc_maps_read(pid, &l.maps);

	*ret_n = 0;
	for (uint32_t i = 0;
	     !e && arch_patch && i < l.maps.maps.len && !leftover_is_interrupted(&l); i++) {
		uint32_t n = 0;

		e = region_visit(&l, &l.maps.maps.data[i], &n);
		*ret_n += n;
	}
	if (!e && l.unread)
		e = err_new("'%s' cannot be read now", l.unread);
	leftover_deinit(&l);
	return e;
}
