/* SPDX-License-Identifier: MIT */
/* Takes the windows of a dead tracer back. */
#include "keeper/patched.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "base/apart.h"
#include "keeper/windows.h"

bool patched_add(struct patched *p, uint64_t id, int mem_fd, int journal_fd, int region_fd)
{
	if (p->n == PATCHED_MAX)
		return false;
	p->list[p->n++] = (struct patched_process){id, mem_fd, journal_fd, region_fd};
	return true;
}

const struct patched_process *patched_find(const struct patched *p, uint64_t id)
{
	for (uint32_t i = 0; i < p->n; i++)
		if (p->list[i].id == id)
			return &p->list[i];
	return NULL;
}

bool patched_has_fd(const struct patched *p, int fd)
{
	for (uint32_t i = 0; i < p->n; i++) {
		const struct patched_process *x = &p->list[i];

		if (fd == x->mem_fd || fd == x->journal_fd || fd == x->region_fd)
			return true;
	}
	return false;
}

static void process_close(const struct patched_process *x)
{
	(void)close(x->mem_fd);
	(void)close(x->journal_fd);
	(void)close(x->region_fd);
}

void patched_drop(struct patched *p, uint64_t id)
{
	for (uint32_t i = 0; i < p->n; i++)
		if (p->list[i].id == id) {
			process_close(&p->list[i]);
			p->list[i] = p->list[--p->n];
			return;
		}
}

/* The journal, which the tracer has made as large as its rows need; NULL: it is not whole. */
static struct windows_journal *journal_map(int fd, size_t *ret_size)
{
	struct windows_journal *j;
	struct stat st;

	if (fstat(fd, &st) || st.st_size < (off_t)sizeof(*j))
		return NULL;
	*ret_size = (size_t)st.st_size;
	j = mmap(NULL, *ret_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (j == MAP_FAILED)
		return NULL;
	if (windows_journal_size(j->nrows) <= *ret_size)
		return j;
	(void)munmap(j, *ret_size);
	return NULL;
}

/* The journal as it was before rows are freed: what children of the process have. */
static struct windows_journal *journal_copy(const struct windows_journal *j, size_t size)
{
	struct windows_journal *copy =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (copy == MAP_FAILED)
		return NULL; /* the windows in children stay, and do nothing */
	memcpy(copy, j, size);
	return copy;
}

static uint32_t parent_undo(struct windows_journal *j, const struct patched_process *x,
			    uint64_t until)
{
	return windows_undo(j, j->pid, x->mem_fd, true, NULL);
}

static uint32_t children_undo(struct windows_journal *j, const struct patched_process *x,
			      uint64_t until)
{
	return windows_undo_children(j, x->region_fd, until, NULL, NULL);
}

/*
 * Tries once, in a clone: when that ends, the kernel lets threads go that have not stopped for it.
 * True: nothing is left.
 */
static bool undo_try(uint32_t (*undo)(struct windows_journal *j, const struct patched_process *x,
				      uint64_t until),
		     struct windows_journal *j, const struct patched_process *x, uint64_t until)
{
	pid_t clone = apart_clone();
	int status = 0;

	if (clone == 0)
		_exit(undo(j, x, until) > 0);
	if (clone < 0)
		return undo(j, x, until) == 0;
	while (syscall(SYS_wait4, clone, &status, __WCLONE, NULL) < 0 && errno == EINTR)
		;
	return status == 0;
}

/* The process comes first: then none is born any more that has its windows. */
static void process_undo(const struct patched_process *x)
{
	const struct timespec pause = {.tv_nsec = WINDOWS_UNDO_PAUSE_NS};
	uint64_t until = now_ns() + WINDOWS_UNDO_NS;
	size_t size = 0;
	struct windows_journal *j = journal_map(x->journal_fd, &size);
	struct windows_journal *copy = j ? journal_copy(j, size) : NULL;

	while (j && !undo_try(parent_undo, j, x, until) && now_ns() < until)
		(void)nanosleep(&pause, NULL);
	until = now_ns() + (copy ? windows_children_ns(copy) : 0);
	while (copy && !undo_try(children_undo, copy, x, until) && now_ns() < until)
		(void)nanosleep(&pause, NULL);
	if (copy)
		(void)munmap(copy, size);
	if (j)
		(void)munmap(j, size);
}

void patched_undo(struct patched *p)
{
	for (uint32_t i = 0; i < p->n; i++) {
		process_undo(&p->list[i]);
		process_close(&p->list[i]);
	}
	p->n = 0;
}
