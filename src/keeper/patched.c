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

/*
 * Tries once, in a clone: when that ends, the kernel lets threads go that have not stopped for it.
 * True: nothing is left.
 */
static bool process_try(struct windows_journal *j, int mem_fd)
{
	pid_t clone = apart_clone();
	int status = 0;

	if (clone == 0)
		_exit(windows_undo(j, j->pid, mem_fd, true, NULL) > 0);
	if (clone < 0)
		return windows_undo(j, j->pid, mem_fd, true, NULL) == 0;
	while (syscall(SYS_wait4, clone, &status, __WCLONE, NULL) < 0 && errno == EINTR)
		;
	return status == 0;
}

void patched_undo(struct patched *p)
{
	const struct timespec pause = {.tv_nsec = WINDOWS_UNDO_PAUSE_NS};

	for (uint32_t i = 0; i < p->n; i++) {
		uint64_t until = now_ns() + WINDOWS_UNDO_NS;
		size_t size = 0;
		struct windows_journal *j = journal_map(p->list[i].journal_fd, &size);

		while (j && !process_try(j, p->list[i].mem_fd) && now_ns() < until)
			(void)nanosleep(&pause, NULL);
		if (j)
			(void)munmap(j, size);
		process_close(&p->list[i]);
	}
	p->n = 0;
}
