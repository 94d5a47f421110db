/* SPDX-License-Identifier: MIT */
/* Takes windows out of children of fork(), which nobody has followed. */
#include <fcntl.h>
#include <sys/stat.h>

#include "arch/patch.h"
#include "kernel/sys.h"
#include "keeper/windows.h"
#include "target/ident.h"

#define LATE_ROWS (1u << 20) /* half a second */

struct children {
	struct windows_journal *journal;
	struct stat region;
	bool is_looking; /* they are only counted */
	uint64_t until;	 /* afterwards nothing is tried any more */
	uint32_t n, left, done;
	uint32_t late_rows; /* how many were compared when the time was over */
	struct windows_left who;
};

static void left_note(struct children *c, pid_t pid, uint32_t nwindows)
{
	c->left += nwindows;
	if (nwindows && c->who.n++ < WINDOWS_LEFT_MAX)
		c->who.pids[c->who.n - 1] = pid;
}

/* Whether a process has mapped the region where the journal's process has it. */
static bool child_has_region(const struct children *c, pid_t pid)
{
	const struct windows_journal *j = c->journal;
	char path[96];
	struct stat there;

	/* nothing is read of memory that may be of anybody, and may be a device's */
	(void)snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", (int)pid,
		       (unsigned long long)j->region,
		       (unsigned long long)(j->region + j->head_size));
	return stat(path, &there) == 0 && there.st_dev == c->region.st_dev &&
	       there.st_ino == c->region.st_ino;
}

static bool memory_has(int mem_fd, taddr at, const uint8_t *bytes, size_t size)
{
	uint8_t now[WINDOWS_JUMP];

	return sys_pread(mem_fd, now, size, at) == (ssize_t)size && memcmp(now, bytes, size) == 0;
}

/* Whether windows_undo() would write there: memory has the jump, or what is left of it. */
static bool row_is_in(const struct window_row *r, int mem_fd)
{
	size_t size = r->pad ? arch_patch->short_size : arch_patch->jump_size;
	uint8_t jump[WINDOWS_JUMP];

	if (!r->is_used || !windows_jump_make(r, jump))
		return false;
	if (memory_has(mem_fd, r->addr, jump, size))
		return true;
	if (r->pad)
		return memory_has(mem_fd, r->addr, r->old, size) &&
		       arch_patch->jump_make(r->pad, r->stub, jump) &&
		       memory_has(mem_fd, r->pad, jump, arch_patch->jump_size);
	/* somebody's breakpoint hides the first byte, which is the file's as well */
	return jump[0] == r->old[0] && memory_has(mem_fd, r->addr, &arch_patch->breakpoint, 1) &&
	       memory_has(mem_fd, r->addr + 1, jump + 1, size - 1);
}

static bool child_has_window(const struct windows_journal *j, int mem_fd)
{
	for (uint32_t i = 0; i < j->nrows; i++)
		if (row_is_in(&j->rows[i], mem_fd))
			return true;
	return false;
}

/*
 * Only this process would be held. One that shares its memory with another, as with a parent that
 * waits for it after vfork(), keeps its windows: threads of the other execute them. Those of the
 * journal's process are counted by who has tried that one.
 */
static void child_undo(struct children *c, pid_t pid, int mem_fd)
{
	struct windows_journal *j = c->journal;
	bool is_late = now_ns() >= c->until, has_room = true;

	if (is_late) {
		has_room = j->nrows <= LATE_ROWS - c->late_rows;
		c->late_rows += has_room ? j->nrows : 0;
	}
	if (!windows_is_there(j, mem_fd) || proc_memory_compare(pid, j->pid) == MEMORY_SAME ||
	    (has_room && !child_has_window(j, mem_fd)))
		return;
	if (is_late || proc_memory_partner(pid))
		left_note(c, pid, 1);
	else
		left_note(c, pid, windows_undo(j, pid, mem_fd, false, &c->done));
}

static void child_visit(struct children *c, pid_t pid)
{
	char path[64];
	int mem_fd;

	if (!child_has_region(c, pid))
		return;
	c->n++;
	if (c->is_looking)
		return;
	(void)snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	mem_fd = open(path, O_RDWR | O_CLOEXEC);
	if (mem_fd < 0)
		return; /* it has ended */
	child_undo(c, pid, mem_fd);
	(void)close(mem_fd);
}

static bool pid_visit(void *ctx, pid_t pid)
{
	struct children *c = ctx;

	if (pid != c->journal->pid)
		child_visit(c, pid);
	return true;
}

static void children_visit(struct children *c, int region_fd)
{
	if (fstat(region_fd, &c->region) == 0)
		proc_visit_all(pid_visit, c);
}

uint32_t windows_undo_children(struct windows_journal *j, int region_fd, uint64_t until,
			       uint32_t *ret_n, struct windows_left *ret_left)
{
	struct children c = {.journal = j, .until = until};

	children_visit(&c, region_fd);
	if (ret_n)
		*ret_n += c.done;
	if (ret_left)
		*ret_left = c.who;
	return c.left;
}

bool windows_has_children(struct windows_journal *j, int region_fd)
{
	struct children c = {.journal = j, .is_looking = true};

	children_visit(&c, region_fd);
	return c.n > 0;
}
