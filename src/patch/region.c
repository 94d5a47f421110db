/* SPDX-License-Identifier: MIT */
/* A process with our region: opening, memory, closing. */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

#include "arch/patch.h"
#include "dtrace.h"
#include "keeper/keeper.h"
#include "kernel/sys.h"
#include "patch/patch_impl.h"

static atomic_uint_fast64_t last_id; /* tells processes apart that one keeper knows */

int process_memory_open(pid_t pid)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	return open(path, O_RDWR | O_CLOEXEC);
}

static struct err *journal_create(struct patch *p, uint32_t nrows)
{
	p->journal_size = windows_journal_size(nrows);
	p->journal_fd = memfd_create("fathom-windows", MFD_CLOEXEC);
	if (p->journal_fd < 0 || ftruncate(p->journal_fd, (off_t)p->journal_size))
		return err_sys(errno, "cannot make the journal of windows");
	p->journal = sys_mmap(NULL, p->journal_size, PROT_READ | PROT_WRITE, MAP_SHARED,
			      p->journal_fd, 0);
	if (p->journal == MAP_FAILED) {
		p->journal = NULL;
		return err_sys(errno, "cannot make the journal of windows");
	}
	p->journal->id = atomic_fetch_add(&last_id, 1) + 1;
	p->journal->pid = p->pid;
	p->journal->nrows = nrows;
	return NULL;
}

void own_add(struct patch *p, taddr at, uint64_t size)
{
	struct windows_journal *j = p->journal;

	_Static_assert(WINDOWS_OWN_MAX >= PATCH_MIRRORS_MAX + 2, "the region, its data, mirrors");
	j->own[j->nown] = (struct windows_range){at, at + size};
	__atomic_store_n(&j->nown, j->nown + 1, __ATOMIC_RELEASE);
}

static void patch_free(struct patch *p)
{
	while (p->followed)
		patch_child_close(p->followed);
	owner_destroy(p); /* it needs the journal */
	if (p->journal)
		(void)munmap(p->journal, p->journal_size);
	if (p->journal_fd >= 0)
		(void)close(p->journal_fd);
	if (p->region_fd >= 0)
		(void)close(p->region_fd);
	if (p->data_fd >= 0)
		(void)close(p->data_fd);
	relays_deinit(p);
	if (p->mem_fd >= 0)
		(void)close(p->mem_fd);
	free(p);
}

struct err *patch_open(pid_t pid, const struct patch_opts *o, struct patch **ret)
{
	struct err *e = refuse_early(pid, o->gate);
	struct patch *p;

	if (e)
		return e;
	p = xcalloc(1, sizeof(*p));
	*p = (struct patch){.pid = pid,
			    .gate = o->gate,
			    .keeper = o->keeper,
			    .busy_ns = o->busy_ns ? o->busy_ns : PATCH_BUSY_NS,
			    .write_ns = o->write_ns,
			    .mem_fd = process_memory_open(pid),
			    .region_fd = -1,
			    .data_fd = -1,
			    .relays_fd = -1,
			    .journal_fd = -1};
	if (p->mem_fd < 0)
		e = err_sys(errno, "cannot open the memory of process %d", (int)pid);
	if (!e)
		e = journal_create(p, o->windows);
	if (!e && o->wants_owner)
		owner_create(p);
	if (!e)
		e = region_enter(p, o);
	if (!e) {
		e = region_code_write(p, 0, arch_patch->call_code, arch_patch->call_size);
		if (!e)
			e = threads_ask(p, o);
		if (!e && p->keeper) {
			e = keeper_patched(p->keeper, p->journal->id, p->mem_fd, p->journal_fd,
					   p->region_fd);
			p->is_kept = !e;
		}
		if (e)
			err_destroy(region_leave(p)); /* nothing leads into what stays */
	}
	if (e)
		patch_free(p);
	else
		*ret = p;
	return e;
}

void patch_close(struct patch *p)
{
	struct patch_left left;

	patch_leave(p, &left);
	err_destroy(left.kept);
}

void patch_leave(struct patch *p, struct patch_left *ret)
{
	static const struct region_head none;
	struct err *e;

	*ret = (struct patch_left){0};
	if (!p)
		return;
	err_destroy(patch_switch(p, false)); /* fails if the process has ended */
	e = patch_take_back_all(p);
	if (!e) {
		if (p->is_kept)
			err_destroy(keeper_unpatched(p->keeper, p->journal->id));
		(void)!pwrite(p->region_fd, &none, sizeof(none), 0);
		/* pages that nobody reads any more; a stub that still runs gets a new one */
		(void)fallocate(p->data_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
				(off_t)p->data_size);
		ret->kept = region_leave(p);
	} else {
		/* the keeper tries once more when we end, and then patch_leftovers() */
		ret->kept = region_stays(p, e);
	}
	_Static_assert(PATCH_LEFT_MAX == WINDOWS_LEFT_MAX, "the same");
	ret->nwindows = patch_is_gone(p) ? 0 : patch_count(p);
	ret->nchildren = p->left.n;
	memcpy(ret->children, p->left.pids, sizeof(ret->children));
	patch_free(p);
}

pid_t patch_pid(const struct patch *p)
{
	return p->pid;
}

bool patch_is_gone(const struct patch *p)
{
	return !windows_is_there(p->journal, p->mem_fd);
}

uint32_t patch_count(const struct patch *p)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->journal->nrows; i++)
		n += p->journal->rows[i].is_used;
	return n;
}

uint32_t patch_room(const struct patch *p)
{
	return p->journal->nrows - patch_count(p);
}

const struct patch_stops *patch_stops(const struct patch *p)
{
	return &p->stops;
}

void stop_count(struct patch *p, uint64_t ns)
{
	p->stops.n += ns > 0;
	p->stops.total_ns += ns;
	p->stops.longest_ns = MAX(p->stops.longest_ns, ns);
}

/* ---- memory ---------------------------------------------------------------------------------- */

taddr patch_code_addr(const struct patch *p)
{
	return p->journal->region + p->head_size + CALL_ROOM;
}

uint64_t patch_code_size(const struct patch *p)
{
	return p->code_size - CALL_ROOM;
}

taddr patch_data_addr(const struct patch *p)
{
	return p->data;
}

uint64_t patch_data_size(const struct patch *p)
{
	return p->data_size;
}

static bool memory_write(int fd, uint64_t at, const uint8_t *from, size_t size)
{
	ssize_t n = 1;

	for (; size && n > 0; size -= (size_t)MAX(n, (ssize_t)0)) {
		n = sys_pwrite(fd, from, size, at);
		if (n > 0) {
			from += n;
			at += (uint64_t)n;
		}
	}
	return !size;
}

struct err *region_write_err(const struct patch *p, int sys)
{
	return err_hint(err_code(err_sys(sys, "cannot write code to process %d", (int)p->pid),
				 EDT_NOTSUP),
			"-x inproc=off; perhaps the kernel forbids it (proc_mem.force_override)");
}

/* The memory of a process that has ended takes nothing: then it needs nothing either. */
struct err *region_code_write(struct patch *p, uint64_t off, const void *from, size_t size)
{
	bool is_written =
		memory_write(p->mem_fd, p->journal->region + p->head_size + off, from, size);
	int sys;

	for (uint32_t i = 0; i < p->nmirrors && is_written; i++)
		is_written =
			memory_write(p->mem_fd, p->mirrors[i] + p->head_size + off, from, size);
	sys = errno;
	p->code_end = MAX(p->code_end, off + size);
	if (is_written || !windows_is_there(p->journal, p->mem_fd))
		return NULL;
	return region_write_err(p, sys);
}

struct err *patch_code_write(struct patch *p, uint64_t off, const void *from, size_t size)
{
	assert(off <= patch_code_size(p) && size <= patch_code_size(p) - off);
	return region_code_write(p, CALL_ROOM + off, from, size);
}

struct err *patch_data_write(struct patch *p, uint64_t off, const void *from, size_t size)
{
	assert(off <= p->data_size && size <= p->data_size - off);
	if (memory_write(p->data_fd, off, from, size))
		return NULL;
	return err_sys(errno, "cannot write to the data of process %d", (int)p->pid);
}

bool patch_data_read(const struct patch *p, uint64_t off, void *to, size_t size)
{
	uint64_t at = off;
	uint8_t *bytes = to;
	ssize_t n = 1;

	assert(off <= p->data_size && size <= p->data_size - off);
	for (; size && n > 0; size -= (size_t)MAX(n, (ssize_t)0)) {
		n = sys_pread(p->data_fd, bytes, size, at);
		if (n > 0) {
			bytes += n;
			at += (uint64_t)n;
		}
	}
	memset(bytes, 0, size);
	return !size;
}

int patch_data_fd(const struct patch *p)
{
	return p->data_fd;
}

taddr patch_switch_addr(const struct patch *p)
{
	return p->journal->region + p->journal->region_size;
}

struct err *patch_switch_write(const struct patch *p, pid_t pid, int mem_fd, bool is_on)
{
	uint8_t byte = is_on;

	if (!windows_is_there(p->journal, mem_fd))
		return NULL; /* it has ended, or executed a program */
	if (sys_pwrite(mem_fd, &byte, 1, patch_switch_addr(p)) != 1)
		return err_sys(errno, "cannot switch the windows of process %d", (int)pid);
	mirrors_switch(p, mem_fd, is_on);
	return NULL;
}

struct err *patch_switch(struct patch *p, bool is_on)
{
	struct err *e;

	p->is_on = is_on;
	if (!is_on)
		owner_switch(p); /* first: the owner looks at nothing else */
	e = patch_switch_write(p, p->pid, p->mem_fd, is_on);
	if (is_on && !e)
		owner_switch(p);
	for (const struct patch_child *c = p->followed; c; c = c->next)
		err_destroy(patch_child_switch(c, is_on)); /* it has none any more */
	return e;
}

bool patch_rseq_offset(const struct patch *p, int64_t *ret)
{
	if (p->has_rseq)
		*ret = p->rseq_offset;
	return p->has_rseq;
}

struct err *patch_child(struct patch *p, pid_t child, bool is_on)
{
	CLEANUP(fd) int mem_fd = process_memory_open(child);

	if (mem_fd < 0)
		return errno == ENOENT || errno == ESRCH
			       ? NULL
			       : err_sys(errno, "cannot open the memory of process %d", (int)child);
	if (is_on)
		return patch_switch_write(p, child, mem_fd, true);
	return windows_take_out(p->journal, child, mem_fd, false, NULL);
}
