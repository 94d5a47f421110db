/* SPDX-License-Identifier: MIT */
/*
 * Children of fork() whose probes fire: each gets a data part of its own.
 *
 * A child has the windows, the stubs and the code at the addresses of its parent, all of it private
 * memory. The data part it shares with its parent, and its switch is off. Held before it executes
 * anything, it maps another file over the data part; then its switch can be turned on. The head
 * stays as it is: by it the child is found when windows are taken back.
 */
#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "arch/arch.h"
#include "arch/patch.h"
#include "dtrace.h"
#include "kernel/sys.h"
#include "patch/patch_impl.h"
#include "target/remote.h"
#include "target/seize.h"

/* Of the windows in so many bytes of code, one is looked at where not all are. */
#define SAMPLE_BYTES 65536u

struct following {
	struct patch_child *child;
	const struct patch_child_opts *o;
	struct seized held;
	struct remote remote;
	struct err *e;
};

static struct err *windows_differ(pid_t pid)
{
	return err_code(err_new("process %d does not have all jumps of its parent", (int)pid),
			EDT_NOTSUP);
}

static bool row_stands(const struct window_row *r, int mem_fd)
{
	size_t size = r->pad ? arch_patch->short_size : arch_patch->jump_size;
	uint8_t jump[WINDOWS_JUMP], now[WINDOWS_JUMP];

	return windows_jump_make(r, jump) &&
	       sys_pread(mem_fd, now, size, r->addr) == (ssize_t)size &&
	       memcmp(now, jump, size) == 0;
}

/*
 * A child of a process whose windows were taken out has none. Windows that were written since the
 * child was born it has not either, so that all have to be looked at when there are such.
 */
static struct err *windows_check(const struct following *t)
{
	const struct windows_journal *j = t->child->patch->journal;
	taddr last = 0;
	bool is_first = true;

	for (uint32_t i = 0; i < j->nrows; i++) {
		const struct window_row *r = &j->rows[i];

		if (!r->is_used ||
		    (!t->o->all && !is_first && r->addr / SAMPLE_BYTES == last / SAMPLE_BYTES))
			continue;
		if (!row_stands(r, t->child->mem_fd))
			return windows_differ(t->child->pid);
		last = r->addr;
		is_first = false;
	}
	return NULL;
}

/* The C library has the kernel write the id of a child before it runs; fork() by itself has not. */
static bool tid_is_known(const struct following *t)
{
	struct arch_regs regs;
	uint32_t tid;

	return arch.regs_read(t->remote.tid, &regs) && regs.thread_pointer &&
	       sys_pread(t->child->mem_fd, &tid, sizeof(tid),
			 regs.thread_pointer + (uint64_t)(int64_t)t->o->tid_off) == sizeof(tid) &&
	       tid == (uint32_t)t->remote.tid;
}

/* A child that was just born has one thread. */
static struct err *thread_check(struct following *t)
{
	const struct windows_journal *j = t->child->patch->journal;
	pid_t pid = t->child->pid, tid;
	struct err *e;

	if (!t->held.n || !windows_is_there(j, t->child->mem_fd))
		return refuse_gone(pid);
	tid = t->remote.tid = t->held.threads[0].tid;
	e = refuse_thread(pid, tid);
	if (!e && j->suspends && !seize_suspend(tid))
		e = refuse_hold(pid, true, tid, errno);
	if (!e && !j->suspends && seccomp_is_on(tid))
		e = refuse_hold(pid, false, tid, EPERM);
	if (!e && t->held.n > 1) /* it was not attended to in time */
		e = err_code(err_new("process %d has several threads already", (int)pid),
			     EDT_NOTSUP);
	if (!e && t->o->has_tid && !tid_is_known(t))
		e = err_code(err_new("process %d has another id in its thread block", (int)pid),
			     EDT_NOTSUP);
	return e;
}

/* Memory is of a file without a name, which nobody else has mapped. */
static struct err *data_renew(struct following *t)
{
	struct patch_child *c = t->child;
	const struct patch *p = c->patch;
	const uint64_t args[6] = {p->data,
				  p->data_size,
				  PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE,
				  ~0ull,
				  0};
	struct stat parents, own;
	struct err *e;
	int64_t value;

	if (!remote_call(&t->remote, SYS_mmap, args, &value))
		value = -(errno ? errno : EIO);
	if (t->remote.is_dispatched)
		return refuse_dispatch(c->pid);
	if (value != (int64_t)p->data)
		return refuse_call(c->pid, "mmap", value < 0 ? (int)-value : EEXIST);
	e = region_file_open(c->pid, t->remote.tid, p->data, p->data_size, &c->data_fd);
	if (e)
		return e;
	if (fstat(p->data_fd, &parents) == 0 && fstat(c->data_fd, &own) == 0 &&
	    (own.st_dev != parents.st_dev || own.st_ino != parents.st_ino))
		return NULL;
	return err_code(err_new("process %d has mapped no data part of its own", (int)c->pid),
			EDT_NOTSUP);
}

static void following_run(void *ctx)
{
	struct following *t = ctx;
	pid_t pid = t->child->pid;

	switch (seize_process(pid, &t->held)) {
	case SEIZE_DONE:
		t->e = thread_check(t);
		if (!t->e)
			t->e = windows_check(t);
		if (!t->e)
			t->e = data_renew(t);
		break;
	case SEIZE_GONE: t->e = refuse_gone(pid); break;
	case SEIZE_BUSY: t->e = refuse_busy(pid, t->held.tid); break;
	case SEIZE_REFUSED:
	case SEIZE_MANY: t->e = refuse_hold(pid, false, t->held.tid, t->held.sys); break;
	}
	seize_release(&t->held);
}

struct err *patch_child_open(struct patch *p, pid_t pid, const struct patch_child_opts *o,
			     struct patch_child **ret)
{
	struct patch_child *c = xcalloc(1, sizeof(*c));
	struct following t = {.child = c, .o = o};
	struct err *e = NULL;

	*c = (struct patch_child){.patch = p,
				  .pid = pid,
				  .mem_fd = process_memory_open(pid),
				  .data_fd = -1};
	if (p->nmirrors)
		e = err_code(
			err_new("process %d has code that its parent has mapped more than once",
				(int)pid),
			EDT_NOTSUP);
	else if (p->is_left)
		e = err_code(
			err_new("a thread of process %d is still in a call that it was to make",
				(int)p->pid),
			EDT_NOTSUP);
	else if (c->mem_fd < 0)
		e = err_sys(errno, "cannot open the memory of process %d", (int)pid);
	t.remote = (struct remote){.mem_fd = c->mem_fd,
				   .code = p->journal->call,
				   .frame = p->journal->frame,
				   .buf = xmalloc(ARCH_FRAME_MAX)};
	if (!e)
		e = worker_run(following_run, &t);
	free(t.remote.buf);
	if (!e)
		e = t.e;
	c->next = p->followed;
	p->followed = c;
	p->journal->nfollowed++;
	if (e)
		patch_child_close(c);
	else
		*ret = c;
	return e;
}

void patch_child_close(struct patch_child *c)
{
	struct patch_child **at;

	if (!c)
		return;
	for (at = &c->patch->followed; *at != c; at = &(*at)->next)
		;
	*at = c->next;
	c->patch->journal->nfollowed--;
	if (c->data_fd >= 0)
		(void)close(c->data_fd);
	if (c->mem_fd >= 0)
		(void)close(c->mem_fd);
	free(c);
}

int patch_child_take_data(struct patch_child *c)
{
	int fd = c->data_fd;

	c->data_fd = -1;
	return fd;
}

struct err *patch_child_write(const struct patch_child *c, taddr addr, const void *from,
			      size_t size)
{
	assert(addr >= patch_code_addr(c->patch) &&
	       addr + size <= patch_code_addr(c->patch) + patch_code_size(c->patch));
	if (sys_pwrite(c->mem_fd, from, size, addr) == (ssize_t)size ||
	    !windows_is_there(c->patch->journal, c->mem_fd))
		return NULL; /* or it has ended */
	return err_sys(errno, "cannot write code to process %d", (int)c->pid);
}

struct err *patch_child_switch(const struct patch_child *c, bool is_on)
{
	return patch_switch_write(c->patch, c->pid, c->mem_fd, is_on);
}

bool patch_is_in(const struct patch *p, pid_t pid)
{
	CLEANUP(fd) int mem_fd = process_memory_open(pid);

	return mem_fd >= 0 && windows_is_there(p->journal, mem_fd);
}

bool patch_child_is_there(const struct patch_child *c)
{
	return windows_is_there(c->patch->journal, c->mem_fd);
}

bool patch_child_stands(const struct patch_child *c)
{
	const struct windows_journal *j = c->patch->journal;

	for (uint32_t i = 0; i < j->nrows; i++)
		if (j->rows[i].is_used && !row_stands(&j->rows[i], c->mem_fd))
			return false;
	return true;
}
