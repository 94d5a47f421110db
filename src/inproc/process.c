/* SPDX-License-Identifier: MIT */
/* The process: the region in it, its code and its data, and the windows. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "arch/arch.h"
#include "dtrace.h"
#include "inproc/impl.h"
#include "target/halt.h"

/* Room for code, beside what sites need: functions of clauses, constants. */
#define CODE_ROOM	(1u << 20)
#define CODE_PER_CLAUSE (16u << 10)
#define CODE_PER_SITE	384u /* a stub, and a row of the constants */
#define CODE_ALIGN	64u

struct inproc *inproc_create(const struct inproc_opts *opts)
{
	struct inproc *p = xcalloc(1, sizeof(*p));

	p->opts = *opts;
	return p;
}

void inproc_leave(struct inproc *p)
{
	if (!p)
		return;
	patch_close(p->patch);
	p->patch = NULL;
}

bool inproc_is_out(const struct inproc *p)
{
	return !p->patch || patch_is_gone(p->patch) || patch_count(p->patch) == 0;
}

void inproc_destroy(struct inproc *p)
{
	if (!p)
		return;
	inproc_leave(p);
	ndata_destroy(p->data);
	blob_plan_destroy(p->plan);
	inproc_files_destroy(p);
	free(p);
}

void inproc_debug(const struct inproc *p, const char *what, const struct err *e)
{
	struct strbuf text = {0};

	if (!p->opts.debug)
		return;
	strbuf_addf(&text, "inproc: %s%s%s", what, e ? ": " : "", e ? err_text(e) : "");
	p->opts.debug(p->opts.ctx, strbuf_text(&text));
	strbuf_deinit(&text);
}

/* ---- threads --------------------------------------------------------------------------------- */

#define BLOCK_MAX 4096u /* bytes of a thread block that are searched for the thread's id */

/* Keeps the offsets at which the block of this thread has the thread's id, as in all before. */
static bool tid_offsets_keep(pid_t pid, const struct halt_thread *t, bool *is_one)
{
	struct arch_regs regs;
	uint32_t words[BLOCK_MAX / 4];
	struct iovec to = {words, sizeof(words)}, from = {.iov_len = sizeof(words)};
	bool is_some = false;

	if (!t->is_stopped || !arch.regs_read(t->tid, &regs) || !regs.thread_pointer)
		return false;
	from.iov_base = (void *)(uintptr_t)regs.thread_pointer; /* an address of the process */
	if (process_vm_readv(pid, &to, 1, &from, 1, 0) != (ssize_t)sizeof(words))
		return false;
	for (uint32_t i = 0; i < BLOCK_MAX / 4; i++) {
		is_one[i] &= words[i] == (uint32_t)t->tid;
		is_some |= is_one[i];
	}
	return is_some;
}

/*
 * Finds where the thread block has the thread's id: at one offset in all threads. Where a single
 * thread has it more than once, the C library's own place is meant if it is among them.
 */
static bool tid_offset_find(pid_t pid, int32_t *ret)
{
	static const uint32_t usual = 0x2d0; /* glibc: struct pthread.tid, from 2.3 to 2.41 */
	bool is_one[BLOCK_MAX / 4], is_known;
	uint32_t n = 0;
	struct halt h = {0};
	struct err *e = halt_process(pid, &h);

	if (e) {
		err_destroy(e); /* clauses that need the id are uprobes then */
		return false;
	}
	for (uint32_t i = 0; i < ARRAY_LEN(is_one); i++)
		is_one[i] = true;
	is_known = h.threads.len > 0;
	for (uint32_t i = 0; i < h.threads.len && is_known; i++)
		is_known = tid_offsets_keep(pid, &h.threads.data[i], is_one);
	halt_release(&h);
	for (uint32_t i = 0; i < ARRAY_LEN(is_one); i++) {
		n += is_one[i];
		if (is_one[i])
			*ret = (int32_t)(4 * i);
	}
	if (n > 1 && is_one[usual / 4]) {
		*ret = (int32_t)usual;
		n = 1;
	}
	return is_known && n == 1;
}

/* ---- code ------------------------------------------------------------------------------------ */

static uint64_t code_next(const struct inproc *p)
{
	return (p->code_used + CODE_ALIGN - 1) / CODE_ALIGN * CODE_ALIGN;
}

uint64_t inproc_place_next(const struct inproc *p)
{
	return patch_code_addr(p->patch) + code_next(p);
}

struct err *inproc_place(struct inproc *p, const void *code, size_t size, uint64_t *ret)
{
	uint64_t at = code_next(p);

	if (size > patch_code_size(p->patch) - MIN(at, patch_code_size(p->patch)))
		return err_hint(err_code(err_new("the code of the clauses is too large for "
						 "process %d",
						 (int)p->opts.pid),
					 EDT_NOTSUP),
				"-x inproc=off");
	p->code_used = at + size;
	*ret = patch_code_addr(p->patch) + at;
	return patch_code_write(p->patch, at, code, size);
}

/* ---- entering -------------------------------------------------------------------------------- */

/* Finds the range of code that the region must reach. */
static void span_find(const struct inproc *p, taddr *lo, taddr *hi)
{
	*lo = UINT64_MAX;
	*hi = 0;
	for (uint32_t i = 0; i < p->files.len; i++) {
		taddr from, to;

		if (p->files.data[i]->is_far || !inproc_file_span(p->files.data[i], &from, &to))
			continue;
		*lo = MIN(*lo, from);
		*hi = MAX(*hi, to);
	}
}

static bool is_thread_alive(void *ctx, uint32_t tid)
{
	const struct inproc *p = ctx;

	return syscall(SYS_tgkill, p->opts.pid, (pid_t)tid, 0) == 0 || errno != ESRCH;
}

/* Fills the data part: through a file of ours, of which only what was written is copied. */
static struct err *data_fill(struct inproc *p, const struct layout *l)
{
	const struct ndata_hooks hooks = {.is_alive = is_thread_alive, .ctx = p};
	size_t size = p->plan->size;
	uint64_t data_off;
	int data_fd = patch_data_fd(p->patch, &data_off);
	int fd = memfd_create("fathom", MFD_CLOEXEC);
	uint8_t *map = MAP_FAILED;
	struct err *e = NULL;
	off_t at = 0;

	if (fd >= 0 && ftruncate(fd, (off_t)size) == 0)
		map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		e = err_sys(errno, "no memory for the data of process %d", (int)p->opts.pid);
	if (!e)
		e = ndata_create(p->plan, l, map, data_fd, data_off, &hooks, &p->data);
	while (!e && (at = lseek(fd, at, SEEK_DATA)) >= 0) {
		off_t end = lseek(fd, at, SEEK_HOLE);

		if (end <= at)
			break;
		e = patch_data_write(p->patch, (uint64_t)at, map + at, (size_t)(end - at));
		at = end;
	}
	if (map != MAP_FAILED)
		(void)munmap(map, size);
	if (fd >= 0)
		(void)close(fd);
	return e;
}

struct err *inproc_enter(struct inproc *p, const struct layout *l, uint32_t nsites,
			 struct keeper *keeper)
{
	struct ndata_opts data = {.layout = l, .ncpus = l->opts.ncpus, .bufsize = p->opts.bufsize};
	struct patch_opts opts = {.windows = nsites, .gate = p->opts.gate, .keeper = keeper};
	const char *why;
	struct err *e;

	if (!ndata_clock_usable(&why))
		return err_code(err_new("time cannot be read in process %d: %s", (int)p->opts.pid,
					why),
				EDT_NOTSUP);
	e = blob_plan_create(&data, &p->plan);
	if (e)
		return e;
	span_find(p, &opts.near_lo, &opts.near_hi);
	opts.data_size = p->plan->size;
	opts.code_size = blob_code_size + CODE_ROOM + (uint64_t)l->nclauses * CODE_PER_CLAUSE +
			 (uint64_t)nsites * CODE_PER_SITE;
	p->layout = l;
	p->has_tid = tid_offset_find(p->opts.pid, &p->tid_off);
	e = patch_open(p->opts.pid, &opts, &p->patch);
	if (!e)
		e = data_fill(p, l);
	if (!e)
		e = inproc_place(p, blob_code, blob_code_size, &p->blob);
	if (!e)
		return NULL;
	patch_close(p->patch);
	p->patch = NULL;
	return e;
}
